//! Driver and hook ports: the traits that the runtime calls, and the types that cross them.
//!
//! Owns the shapes of an attempt, an output, a failure and a hook's answer. Must never know which
//! drivers there are, nor who calls them. Start with [`Driver`].

mod allowance;
mod attempt;
mod backend;
mod caller;
mod clearance;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod expected_output;
mod hook;
mod line;
mod link;
mod output;
mod vault;

use std::future::Future;
use std::pin::Pin;

use haft_model::{Plan, Stop, ToolKey};
use serde_json::Value;

pub use allowance::{Allowance, Pause};
pub use attempt::Attempt;
pub use backend::{Backend, BackendNews, BackendRequest, UPSTREAM_REQUEST};
pub use caller::{Abilities, Caller, Inquiry, InquiryKind, Remark};
pub use clearance::Clearance;
pub use expected_output::differs;
pub use haft_policy::{
    BackendTargets, CommandLine, PathTarget, ProgramFile, TargetGuard, TargetKinds, Targets,
    WritablePath, path_texts,
};
pub use hook::{Hook, HookAnswer, HookInput};
pub use line::Listener;
pub use link::{DriverMessage, Link};
pub use output::{ExactNumber, Failure, Output, ValueSource};
pub use tokio_util::sync::CancellationToken as Cancel;
pub use vault::{OpenedSecret, Safe, SecretRequest, Vault, Withheld};

/// Boxed future, for trait methods.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Runs permitted calls: as a function, a process or a request.
///
/// `run` has to end soon after `attempt.cancel` fires or `attempt.deadline` passes, and nothing it
/// started may outlive it. A driver that asks through its link uses `attempt.time` instead, which
/// pauses while people answer.
pub trait Driver: Send + Sync {
    /// Preflight: refuses values that can never be valid, before anything happens. No I/O.
    fn preflight(&self, plan: &Plan) -> Result<(), Stop> {
        let _ = plan;
        Ok(())
    }

    /// Targets that `run` will touch for exactly this plan, of the kinds that rules compare. The
    /// same code computes and uses them; the runtime reads them before authorization. It may read
    /// files; it changes nothing and waits for nothing else.
    ///
    /// A driver without targets is opaque: rules check only the fields of the input.
    fn targets(&self, plan: &Plan, kinds: TargetKinds) -> Targets {
        let _ = (plan, kinds);
        Targets::default()
    }

    /// Returns true if `run` reports its submission through [`Link::submit`]. Otherwise its start
    /// counts as the submission.
    fn reports_submission(&self, plan: &Plan) -> bool {
        let _ = plan;
        false
    }

    /// Backend capabilities beside tools; `None` for none.
    fn backend(&self) -> Option<&dyn Backend> {
        None
    }

    /// Returns true while the backend was started and has not answered. Polled often, so it must be
    /// cheap.
    fn is_connecting(&self) -> bool {
        false
    }

    /// Host that a call goes to, where the input chooses it: each host has its own circuit breaker.
    /// The input has the backend's field names.
    fn destination(&self, tool: &ToolKey, input: &Value) -> Option<String> {
        let _ = (tool, input);
        None
    }

    /// Runs one attempt.
    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>>;
}
