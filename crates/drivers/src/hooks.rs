//! Hooks that a workspace names: programs and addresses that are asked about calls.

mod http;
mod program;
#[cfg(test)]
mod tests;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use haft_driver::HookAnswer;
use haft_model::{HookPoint, Plan, Says};

pub use http::HttpHook;
pub use program::ProgramHook;

/// What our own deadline may take to be heard of, before whoever waits gives up.
const GRACE: Duration = Duration::from_secs(4);

/// Whether a hook is about a call.
pub type Concern = Arc<dyn Fn(&Plan) -> bool + Send + Sync>;

/// Where a hook stands, and what its word is worth.
#[derive(Clone)]
pub struct Post {
    /// What it is called in records.
    pub name: String,
    /// When it is asked.
    pub point: HookPoint,
    /// About which calls.
    pub concerns: Concern,
    /// How long it may take.
    pub timeout: Duration,
    /// Whether its yes counts; its no always does.
    pub may_allow: bool,
}

impl Post {
    /// How long the runtime waits: we are the ones who say that time ran out.
    fn patience(&self) -> Duration {
        self.timeout + GRACE
    }

    /// What an answer is worth. A yes of somebody who may not give one is no opinion, and says so.
    fn weighed(&self, answer: HookAnswer) -> HookAnswer {
        let opinion = answer.opinion.map(|(says, reason)| match says {
            Says::Allow if !self.may_allow => {
                (Says::Passthrough, format!("its yes does not count without `may_allow`: {reason}"))
            }
            Says::Allow | Says::Passthrough | Says::Ask | Says::Deny => (says, reason),
        });
        HookAnswer { opinion, ..answer }
    }

    fn late(&self) -> String {
        format!("it took longer than {} ms", self.timeout.as_millis())
    }
}

/// Writes the part of the port that a post answers for.
macro_rules! posted {
    () => {
        fn name(&self) -> &str {
            &self.post.name
        }

        fn point(&self) -> haft_model::HookPoint {
            self.post.point
        }

        fn concerns(&self, plan: &haft_model::Plan) -> bool {
            (self.post.concerns)(plan)
        }

        fn trusted(&self) -> bool {
            self.post.may_allow
        }

        /// What the workspace wants to be heard has to be heard.
        fn required(&self) -> bool {
            true
        }

        fn patience(&self) -> std::time::Duration {
            self.post.patience()
        }
    };
}
use posted;
