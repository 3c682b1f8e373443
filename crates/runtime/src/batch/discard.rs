//! Discard of batch calls whose results are no longer wanted, such as after an abandoned stream.
//!
//! INVARIANT: a discard never drops a call whose effect may have happened; it ends and its result
//! stands.

use std::sync::Arc;

use haft_ledger::{Draft, Wait};
use haft_model::{Actor, BatchDiscarded, Code, ContextModified, Event, Fact, InvocationId, Stop};

use super::BatchNews;
use super::scheduler::{BatchScheduler, Caught};
use crate::Runtime;
use crate::recorder::unrecorded;

/// Handle of a running batch, for a caller that does not poll its results. Cheap to clone.
#[derive(Clone)]
pub struct BatchHandle<'r> {
    runtime: &'r Runtime,
    batch: Arc<str>,
    pub(super) scheduler: Arc<BatchScheduler>,
    ids: Arc<[InvocationId]>,
    actor: Option<Arc<Actor>>,
}

/// State of a call right after its discard. The result is authoritative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discarding {
    /// It had not started, and does not start.
    Dropped,
    /// It ran and its cancellation was requested; if it ends before that takes effect, its result
    /// stands.
    Told,
    /// Its result stands, for this reason.
    Kept(String),
}

impl<'r> BatchHandle<'r> {
    pub(super) fn new(
        runtime: &'r Runtime,
        batch: String,
        scheduler: Arc<BatchScheduler>,
        ids: Arc<[InvocationId]>,
        actor: Option<Arc<Actor>>,
    ) -> BatchHandle<'r> {
        BatchHandle { runtime, batch: batch.into(), scheduler, ids, actor }
    }

    /// The id of the batch in the ledger.
    pub fn id(&self) -> &str {
        &self.batch
    }

    /// Invocation ids of its calls, in request order.
    pub fn calls(&self) -> &[InvocationId] {
        &self.ids
    }

    /// Marks the result as delivered to the caller.
    pub(super) fn hand_over(&self, news: &BatchNews) {
        if let BatchNews::Result { envelope, .. } = news {
            self.runtime.mark_delivered(&envelope.invocation_id);
        }
    }

    /// Discards calls by index. A call that has not started does not start, and a running one is
    /// cancelled. A call whose effect may have happened ends, its result stands, and the ledger
    /// records the discard. Fails on an index out of range.
    pub async fn discard(&self, calls: &[usize], reason: &str) -> Result<Vec<Discarding>, Stop> {
        let unknown = calls.iter().find(|index| **index >= self.ids.len());
        if let Some(index) = unknown {
            let words = format!("batch `{}` has no call {index}", self.batch);
            return Err(Stop::new(Code::InputValue, words).help("calls are counted from 0"));
        }
        let mut answers = Vec::with_capacity(calls.len());
        for index in calls {
            answers.push(self.discard_one(*index, reason).await?);
        }
        Ok(answers)
    }

    async fn discard_one(&self, index: usize, reason: &str) -> Result<Discarding, Stop> {
        match self.scheduler.discard(index, reason) {
            Some(Caught::Waiting) => Ok(Discarding::Dropped),
            Some(Caught::Running) => Ok(Discarding::Told),
            Some(Caught::Submitted) => Ok(Discarding::Kept(SUBMITTED.to_owned())),
            Some(Caught::Asking) if self.withdraw(index, reason).await? => Ok(Discarding::Dropped),
            Some(Caught::Asking | Caught::Over) | None => self.keep(index, reason).await,
        }
    }

    /// Withdraws a call from the approval inbox; `false` where another process holds it.
    async fn withdraw(&self, index: usize, reason: &str) -> Result<bool, Stop> {
        let Some(id) = self.ids.get(index) else { return Ok(false) };
        let discarded = self.discarded(reason, None);
        let ended = self.runtime.end_waiting_with(id, |context| {
            context.recorder.note(Event::BatchDiscarded(discarded));
            Some(superseded(reason))
        });
        ended.await
    }

    /// Records the discard of a call that has ended; its result stands.
    async fn keep(&self, index: usize, reason: &str) -> Result<Discarding, Stop> {
        let kept = "it had ended".to_owned();
        self.append(index, Event::BatchDiscarded(self.discarded(reason, Some(kept.clone()))))
            .await?;
        Ok(Discarding::Kept(kept))
    }

    fn discarded(&self, reason: &str, kept: Option<String>) -> BatchDiscarded {
        BatchDiscarded { batch: self.batch.to_string(), reason: reason.to_owned(), kept }
    }

    /// Records an event of a call that has ended.
    pub(super) async fn append(&self, index: usize, event: Event) -> Result<(), Stop> {
        self.write(self.ids.get(index).cloned(), event).await
    }

    /// Records that deferred context modifiers apply now.
    pub(super) async fn apply(&self, index: usize, deferred: ContextModified) -> Result<(), Stop> {
        self.append(index, Event::ContextModified(Box::new(deferred))).await
    }

    pub(super) async fn write(
        &self,
        about: Option<InvocationId>,
        event: Event,
    ) -> Result<(), Stop> {
        let fact = Fact { at: self.runtime.clock.now(), phases: Vec::new(), event };
        let draft = Draft {
            invocation: about,
            actor: self.actor.as_deref().cloned(),
            facts: vec![fact],
            ..Draft::default()
        };
        self.runtime.store.append(draft, Wait::Queue).await.map(|_| ()).map_err(unrecorded)
    }
}

/// Reason for keeping a discarded call that was submitted.
pub(super) const SUBMITTED: &str = "its effect may have happened";

/// The refusal of a discarded call.
pub(super) fn superseded(reason: &str) -> Stop {
    Stop::new(Code::CanceledDiscarded, format!("the call was discarded: {reason}"))
}
