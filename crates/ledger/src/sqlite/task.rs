//! Writer tasks: what callers ask of the writer thread, and how it replies.

use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use haft_model::{Digest, DualTime, InvocationId};
use tokio::sync::oneshot;

use crate::chain::Loose;
use crate::projections::Changes;
use crate::{Disclosure, Draft, Error, Fence, Guard, LeaseClaim, Receipt};

/// Where a reply goes. The caller may have stopped waiting, which is fine.
pub(crate) type ReplySender<T> = oneshot::Sender<Result<T, Error>>;

/// One task inside a transaction.
#[derive(Debug)]
pub(crate) enum Task {
    Append(Box<Ready>, Option<ReplySender<Receipt>>),
    /// An unprepared draft without a waiting caller.
    Queued(Box<Draft>),
    Lease {
        id: InvocationId,
        owner: String,
        times: [DualTime; 2],
        answer: ReplySender<Option<Fence>>,
    },
    Renew {
        id: InvocationId,
        fence: Fence,
        until: DualTime,
        answer: ReplySender<bool>,
    },
    Release {
        leases: Vec<(InvocationId, Fence, Disclosure)>,
        answer: ReplySender<()>,
    },
    Forget {
        id: InvocationId,
        digest: Digest,
        loose: Box<Loose>,
        answer: ReplySender<bool>,
    },
    Flush(ReplySender<()>),
    /// Writes a probe row, to find out whether the store can be written.
    Probe(ReplySender<()>),
}

/// Outcome of a task, provided that the transaction commits.
#[derive(Debug)]
pub(crate) enum TaskOutcome {
    Appended(Result<Receipt, Error>),
    Leased(Option<Fence>),
    Forgot(bool),
    Renewed(bool),
    Nothing,
}

/// A draft with everything prepared that does not depend on the store's state.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) invocation: Option<InvocationId>,
    pub(crate) guards: Vec<Guard>,
    pub(crate) claim: Option<LeaseClaim>,
    pub(crate) release: Option<Fence>,
    pub(crate) loose: Loose,
    pub(crate) changes: Changes,
    /// Inline payloads.
    pub(crate) packed: Option<Vec<u8>>,
    /// Payload files: the digest, and whether it is sealed.
    pub(crate) files: Vec<(Digest, bool)>,
    /// Decides whether the caller may still withdraw it.
    pub(crate) deadline: Option<Arc<Deadline>>,
}

/// Race at an entry's deadline: either the writer begins it, or the caller withdraws it.
#[derive(Debug, Default)]
pub(crate) struct Deadline(AtomicU8);

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const WITHDRAWN: u8 = 2;

impl Deadline {
    /// Withdraws the entry, unless the writer has begun it.
    pub(crate) fn withdraw(&self) -> bool {
        self.0.compare_exchange(WAITING, WITHDRAWN, AcqRel, Acquire).is_ok()
    }

    /// Begins to write the entry, unless it was withdrawn. An entry may be begun again.
    fn begin(&self) -> bool {
        !matches!(self.0.compare_exchange(WAITING, BEGUN, AcqRel, Acquire), Err(WITHDRAWN))
    }
}

impl Ready {
    /// Prepares a draft, without its guards and payloads.
    pub(crate) fn new(draft: &mut Draft) -> Result<Ready, Error> {
        Ok(Ready {
            loose: Loose::of(draft)?,
            changes: Changes::of(draft.invocation.as_ref(), &draft.facts),
            invocation: draft.invocation.clone(),
            guards: Vec::new(),
            claim: draft.claim.take(),
            release: draft.release,
            packed: None,
            files: Vec::new(),
            deadline: None,
        })
    }

    /// Whether it was not withdrawn; from then on it cannot be.
    pub(crate) fn begins(&self) -> bool {
        self.deadline.as_ref().is_none_or(|deadline| deadline.begin())
    }
}

impl Task {
    /// Whether a caller waits for everything before it to be durable.
    pub(crate) fn is_flush(&self) -> bool {
        matches!(self, Task::Flush(_))
    }

    /// Whether no caller would learn that it was lost.
    pub(crate) fn is_unheard(&self) -> bool {
        match self {
            Task::Queued(_) | Task::Append(_, None) => true,
            // The caller stopped waiting without withdrawing it.
            Task::Append(ready, Some(answer)) => ready.deadline.is_none() && answer.is_closed(),
            Task::Lease { .. }
            | Task::Renew { .. }
            | Task::Release { .. }
            | Task::Forget { .. }
            | Task::Flush(_)
            | Task::Probe(_) => false,
        }
    }

    /// Replies that it is done.
    pub(crate) fn finish(self, done: TaskOutcome) {
        match (self, done) {
            (Task::Append(_, Some(answer)), TaskOutcome::Appended(receipt)) => {
                drop(answer.send(receipt))
            }
            (Task::Lease { answer, .. }, TaskOutcome::Leased(fence)) => {
                drop(answer.send(Ok(fence)))
            }
            (Task::Forget { answer, .. }, TaskOutcome::Forgot(gone)) => drop(answer.send(Ok(gone))),
            (Task::Renew { answer, .. }, TaskOutcome::Renewed(held)) => drop(answer.send(Ok(held))),
            (
                Task::Release { answer, .. } | Task::Flush(answer) | Task::Probe(answer),
                TaskOutcome::Nothing,
            ) => drop(answer.send(Ok(()))),
            // A dropped sender tells the caller that the store is closed.
            (_, _) => {}
        }
    }

    /// Replies that nothing of it was stored.
    pub(crate) fn fail(self, cause: &str) {
        let fault = Error::Unwritable { cause: cause.to_owned() };
        match self {
            Task::Append(_, answer) => {
                if let Some(answer) = answer {
                    drop(answer.send(Err(fault)));
                }
            }
            Task::Queued(_) => {}
            Task::Lease { answer, .. } => drop(answer.send(Err(fault))),
            Task::Forget { answer, .. } | Task::Renew { answer, .. } => {
                drop(answer.send(Err(fault)));
            }
            Task::Release { answer, .. } | Task::Flush(answer) | Task::Probe(answer) => {
                drop(answer.send(Err(fault)));
            }
        }
    }
}
