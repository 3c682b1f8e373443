//! How a caller waits: for people, and for the end.

use std::sync::Arc;

use haft_driver::{BoxFuture, Caller, Cancel};
use haft_model::{Envelope, Question, Tier};

use crate::Reply;

/// How one call is made, beyond what it says.
#[derive(Clone, Default)]
pub struct CallOptions<'m> {
    /// What happens while a question is open.
    pub patience: Patience,
    /// Somebody who can be asked right here, beside the inbox.
    pub prompt: Option<&'m dyn Prompt>,
    /// Hears of a question that is left to the inbox.
    pub tell: Option<&'m (dyn Fn(&Question) + Send + Sync)>,
    /// How a caller who does not wait is told that the call goes on without them: their process has to
    /// live on, since a driver is under way. None where it does not; nobody is asked in the middle of
    /// a call then.
    pub leave: Option<Leave>,
    /// What becomes of the caller of a call that takes long. Whoever goes on is told by `leave`.
    pub background: Background,
    /// Whoever called, where drivers can turn to them while they run.
    pub caller: Option<Arc<dyn Caller>>,
    /// Fires when the caller wants the call called off.
    pub cancel: Cancel,
    /// When the caller is taken to have the answer.
    pub receipt: Receipt,
    /// The turn, task or session that it is made in: `session:s-1`. Where none is named, what its
    /// actor loaded is loaded.
    pub surface: Option<String>,
    /// The most that the tool may do.
    pub tier: Option<Tier>,
}

/// Hands a pending envelope to a caller while the call goes on.
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

/// What becomes of the caller of a call that takes long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    /// It waits for the end.
    #[default]
    Wait,
    /// It goes on, and comes back for the answer.
    Leave,
    /// It waits as well and has no other choice: contracts that want a caller who comes back are not
    /// for it.
    Unknown,
}

/// When a caller is taken to have the answer. An equal call before that is the same one sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Receipt {
    /// When it is given the envelope.
    #[default]
    Given,
    /// When it says so with [`crate::Runtime::handed_over`].
    Acknowledged,
}

/// Somebody at hand who can be asked: a person at a terminal, a form in a client.
pub trait Prompt: Send + Sync {
    /// Asks; no reply means that the inbox has to do, or that the answer is on record already.
    ///
    /// The future is dropped when somebody else answers first or the call is called off.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Option<Reply>>;
}
