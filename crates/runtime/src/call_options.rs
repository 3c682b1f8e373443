//! Call options: how a caller waits for approval, background work, cancellation and delivery.

use std::sync::Arc;

use haft_driver::{BoxFuture, Caller, Cancel};
use haft_model::{Envelope, Question, Tier};

use crate::Reply;

/// Options of one call, beyond its tool and input.
#[derive(Clone, Default)]
pub struct CallOptions<'m> {
    /// Whether the caller waits while a question is open.
    pub patience: Patience,
    /// An approver who can be prompted directly, beside the inbox.
    pub prompt: Option<&'m dyn Prompt>,
    /// Called with a question that is left to the inbox.
    pub tell: Option<&'m (dyn Fn(&Question) + Send + Sync)>,
    /// Releases a caller that does not wait, with a pending envelope; the process has to live on,
    /// since a driver runs. `None` where it cannot: then people fill in forms during the call only
    /// if the caller waits.
    pub leave: Option<Leave>,
    /// Whether the caller of a long-running call waits; a caller that leaves is released by
    /// `leave`.
    pub background: Background,
    /// The client's channel for elicitation, progress and remarks of a running driver.
    pub caller: Option<Arc<dyn Caller>>,
    /// Cancellation by the caller.
    pub cancel: Cancel,
    /// When the result counts as delivered.
    pub receipt: Receipt,
    /// The turn, task or session of the call, such as `session:s-1`. `None` uses the tools that the
    /// actor loaded.
    pub surface: Option<String>,
    /// The highest tier that the call may use; a tool of a higher tier is refused. `None` sets no
    /// limit.
    pub tier: Option<Tier>,
}

/// Hands a pending envelope to the caller while the call continues.
pub type Leave = Arc<dyn Fn(Envelope) + Send + Sync>;

/// What a caller does while a question is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Patience {
    /// Waits for the answer.
    #[default]
    Wait,
    /// Leaves with a pending envelope; the call stays open.
    Leave,
}

/// What the caller of a long-running call does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    /// It waits for the result.
    #[default]
    Wait,
    /// It leaves, and polls for the result.
    Leave,
    /// It waits, and cannot poll: contracts that require background calls refuse it.
    Unknown,
}

/// When a result counts as delivered. An equal call before that is a repeat of the same intent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Receipt {
    /// When the runtime returns the envelope.
    #[default]
    Given,
    /// When the caller acknowledges it with [`crate::Runtime::confirm_delivery`].
    Acknowledged,
}

/// An interactive approver: a person at a terminal, or a form in a client.
pub trait Prompt: Send + Sync {
    /// Asks the approver; `None` leaves the question to the inbox, or says that the answer is on
    /// record already.
    ///
    /// The future is dropped when the question is answered elsewhere first or the call is
    /// cancelled.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Reply>>;
}
