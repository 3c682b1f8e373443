//! The ports: what a driver is, what a hook is, and what passes through.
//!
//! Owns the shapes of an attempt, an output, a failure and a hook's answer.
//! Must never know which drivers there are, nor who calls them. Start with [`Driver`].

mod allowance;
mod attempt;
mod backend;
mod caller;
mod clearance;
pub mod conformance;
mod hook;
mod line;
mod link;
mod output;
mod vault;

use std::future::Future;
use std::pin::Pin;

use haft_model::{Plan, Stop, ToolKey};
use serde_json::Value;

pub use allowance::Allowance;
pub use attempt::Attempt;
pub use backend::{Backend, BackendNews, BackendRequest, UPSTREAM_REQUEST};
pub use caller::{Abilities, Caller, Inquiry, InquiryKind, Remark};
pub use clearance::Clearance;
pub use haft_policy::{
    BackendTargets, CommandLine, PathTarget, ProgramFile, TargetGuard, TargetKinds, Targets,
    path_texts,
};
pub use hook::{Hook, HookAnswer, HookInput};
pub use line::Listener;
pub use link::{DriverMessage, Link};
pub use output::{ExactNumber, Failure, Output};
pub use tokio_util::sync::CancellationToken as Cancel;
pub use vault::{OpenedSecret, Safe, SecretRequest, Vault, Withheld};

/// Work that is under way.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One way of carrying out permitted calls: a function, a process, a request.
///
/// `run` has to end soon after `attempt.cancel` fires or `attempt.deadline` passes, and nothing it
/// started may outlive it. One that asks through its link goes by `attempt.time` instead, which stands
/// still while people answer.
pub trait Driver: Send + Sync {
    /// Refuses values that can never be right, before anything happens. No IO here.
    fn preflight(&self, plan: &Plan) -> Result<(), Stop> {
        let _ = plan;
        Ok(())
    }

    /// What `run` will touch for exactly this plan, of the kinds that rules compare: worked out by the
    /// code that will touch it, and told before the call is judged. It may look at files; it changes
    /// nothing and waits for nothing else.
    ///
    /// A driver that tells nothing is opaque: rules are held against the fields of the input alone.
    fn targets(&self, plan: &Plan, kinds: TargetKinds) -> Targets {
        let _ = (plan, kinds);
        Targets::default()
    }

    /// Whether `run` itself says, through [`Link::submit`], when its effect begins. One that does not
    /// is taken to have submitted when it started.
    fn reports_submission(&self, plan: &Plan) -> bool {
        let _ = plan;
        false
    }

    /// What stands behind it beside tools, where there is such a thing.
    fn backend(&self) -> Option<&dyn Backend> {
        None
    }

    /// Whether what stands behind it was started and has not answered yet. Asked often, so that it must
    /// cost nothing.
    fn is_connecting(&self) -> bool {
        false
    }

    /// The host that a call goes to, where its input chooses it: each has a circuit breaker of its own.
    /// The input is named as the backend names its fields.
    fn destination(&self, tool: &ToolKey, input: &Value) -> Option<String> {
        let _ = (tool, input);
        None
    }

    /// Carries one attempt out.
    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>>;
}
