//! What the writing thread is asked to do, and how whoever asked is told.

use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use haft_model::{Digest, DualTime, InvocationId};
use tokio::sync::oneshot;

use crate::chain::Loose;
use crate::projections::Changes;
use crate::{Disclosure, Draft, Error, Fence, Guard, LeaseClaim, Receipt};

/// Where an answer goes. Nobody may be listening any more, which is fine.
pub(crate) type ReplySender<T> = oneshot::Sender<Result<T, Error>>;

/// One thing to do inside a transaction.
#[derive(Debug)]
pub(crate) enum Task {
    Append(Box<Ready>, Option<ReplySender<Receipt>>),
    /// A draft that nobody waits for, and of which nothing was made yet.
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
    /// Writes something small, to find out whether that works.
    Probe(ReplySender<()>),
}

/// What came of a task, provided that the transaction is kept.
#[derive(Debug)]
pub(crate) enum TaskOutcome {
    Appended(Result<Receipt, Error>),
    Leased(Option<Fence>),
    Forgot(bool),
    Renewed(bool),
    Nothing,
}

/// A draft of which everything was made that needs no knowledge of the store.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) invocation: Option<InvocationId>,
    pub(crate) guards: Vec<Guard>,
    pub(crate) claim: Option<LeaseClaim>,
    pub(crate) release: Option<Fence>,
    pub(crate) loose: Loose,
    pub(crate) changes: Changes,
    /// What lies in the row.
    pub(crate) packed: Option<Vec<u8>>,
    /// What lies in files: the digest, and whether it is sealed.
    pub(crate) files: Vec<(Digest, bool)>,
    /// Whether it may still be taken back.
    pub(crate) deadline: Option<Arc<Deadline>>,
}

/// Who was first at the deadline of an entry: the thread that writes, or the caller who gave up.
#[derive(Debug, Default)]
pub(crate) struct Deadline(AtomicU8);

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const WITHDRAWN: u8 = 2;

impl Deadline {
    /// Takes the entry back, unless it is being written.
    pub(crate) fn withdraw(&self) -> bool {
        self.0.compare_exchange(WAITING, WITHDRAWN, AcqRel, Acquire).is_ok()
    }

    /// Begins to write the entry, unless it was taken back. An entry may be begun again.
    fn begin(&self) -> bool {
        !matches!(self.0.compare_exchange(WAITING, BEGUN, AcqRel, Acquire), Err(WITHDRAWN))
    }
}

impl Ready {
    /// A draft without its guards and payloads.
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

    /// Whether it is still wanted; from then on it cannot be taken back.
    pub(crate) fn begins(&self) -> bool {
        self.deadline.as_ref().is_none_or(|deadline| deadline.begin())
    }
}

impl Task {
    /// Whether somebody wants to be sure of everything before it.
    pub(crate) fn is_flush(&self) -> bool {
        matches!(self, Task::Flush(_))
    }

    /// Whether nobody would hear that it was lost.
    pub(crate) fn is_unheard(&self) -> bool {
        match self {
            Task::Queued(_) | Task::Append(_, None) => true,
            // Nobody took it back who stopped waiting for it.
            Task::Append(ready, Some(answer)) => ready.deadline.is_none() && answer.is_closed(),
            Task::Lease { .. }
            | Task::Renew { .. }
            | Task::Release { .. }
            | Task::Forget { .. }
            | Task::Flush(_)
            | Task::Probe(_) => false,
        }
    }

    /// Tells that it is done.
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
            // Whoever gets no answer learns that the store is closed.
            (_, _) => {}
        }
    }

    /// Tells that nothing of it was kept.
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
