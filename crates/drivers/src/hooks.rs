//! Workspace hooks: programs and webhooks that the workspace asks about calls.

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

/// How much longer the runtime waits than the hook's timeout, so that ours is reported.
const GRACE: Duration = Duration::from_secs(4);

/// Decides whether a hook concerns a call.
pub type Concern = Arc<dyn Fn(&Plan) -> bool + Send + Sync>;

/// The settings of a hook: when it is asked, and what its answer counts for.
#[derive(Clone)]
pub struct Post {
    /// Its name in records.
    pub name: String,
    /// The point of the pipeline at which it is asked.
    pub point: HookPoint,
    /// The calls that it is asked about.
    pub concerns: Concern,
    /// Timeout of one question.
    pub timeout: Duration,
    /// Whether its `allow` counts; its `deny` always does.
    pub may_allow: bool,
}

impl Post {
    /// How long the runtime waits; the hook itself reports the timeout earlier.
    fn patience(&self) -> Duration {
        self.timeout + GRACE
    }

    /// Weighs an answer. An `allow` without `may_allow` becomes no opinion, with a note.
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

/// Implements the part of the `Hook` port that the settings answer.
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

        /// A call whose result a workspace hook could not judge counts as failed.
        fn required(&self) -> bool {
            true
        }

        fn patience(&self) -> std::time::Duration {
            self.post.patience()
        }
    };
}
use posted;
