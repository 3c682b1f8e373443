//! Calls that nobody wants any more, as when the stream that asked for them was given up.

use std::sync::Arc;

use haft_ledger::{Draft, Wait};
use haft_model::{Actor, BatchDiscarded, Code, ContextModified, Event, Fact, InvocationId, Stop};

use super::BatchNews;
use super::course::{Caught, Course};
use crate::Runtime;
use crate::recorder::unrecorded;

/// A batch under way, for whoever does not wait for its results. Cheap to clone.
#[derive(Clone)]
pub struct BatchHandle<'r> {
    runtime: &'r Runtime,
    batch: Arc<str>,
    pub(super) course: Arc<Course>,
    ids: Arc<[InvocationId]>,
    actor: Option<Arc<Actor>>,
}

/// What is known of a call right after it was discarded. Its result has the last word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discarding {
    /// It had not begun, and does not begin.
    Dropped,
    /// It ran and was told to stop; where it does not, its result stands.
    Told,
    /// Its result stands, for this reason.
    Kept(String),
}

impl<'r> BatchHandle<'r> {
    pub(super) fn new(
        runtime: &'r Runtime,
        batch: String,
        course: Arc<Course>,
        ids: Arc<[InvocationId]>,
        actor: Option<Arc<Actor>>,
    ) -> BatchHandle<'r> {
        BatchHandle { runtime, batch: batch.into(), course, ids, actor }
    }

    /// What the batch is called in records.
    pub fn id(&self) -> &str {
        &self.batch
    }

    /// The ids of its calls, in the order of the request.
    pub fn calls(&self) -> &[InvocationId] {
        &self.ids
    }

    /// Whoever takes a result has it.
    pub(super) fn hand_over(&self, news: &BatchNews) {
        if let BatchNews::Result { envelope, .. } = news {
            self.runtime.hand_over(&envelope.invocation_id);
        }
    }

    /// Says that nobody wants some calls any more, by their indexes. Whatever has not begun does not
    /// begin, and what runs is told to stop. A call whose effect may have happened is never dropped:
    /// it ends, its result stands, and the record says that nobody wanted it.
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
        match self.course.discard(index, reason) {
            Some(Caught::Waiting) => Ok(Discarding::Dropped),
            Some(Caught::Running) => Ok(Discarding::Told),
            Some(Caught::Submitted) => Ok(Discarding::Kept(SUBMITTED.to_owned())),
            Some(Caught::Asking) if self.withdraw(index, reason).await? => Ok(Discarding::Dropped),
            Some(Caught::Asking | Caught::Over) | None => self.keep(index, reason).await,
        }
    }

    /// Takes a call back that was left in the inbox, unless somebody has it by now.
    async fn withdraw(&self, index: usize, reason: &str) -> Result<bool, Stop> {
        let Some(id) = self.ids.get(index) else { return Ok(false) };
        let discarded = self.discarded(reason, None);
        let ended = self.runtime.end_waiting_with(id, |walk| {
            walk.journal.note(Event::BatchDiscarded(discarded));
            Some(superseded(reason))
        });
        ended.await
    }

    /// What has ended stays as it is, and the record says that nobody wanted it.
    async fn keep(&self, index: usize, reason: &str) -> Result<Discarding, Stop> {
        let kept = "it had ended".to_owned();
        self.append(index, Event::BatchDiscarded(self.discarded(reason, Some(kept.clone()))))
            .await?;
        Ok(Discarding::Kept(kept))
    }

    fn discarded(&self, reason: &str, kept: Option<String>) -> BatchDiscarded {
        BatchDiscarded { batch: self.batch.to_string(), reason: reason.to_owned(), kept }
    }

    /// Puts something on record about a call that is over.
    pub(super) async fn append(&self, index: usize, event: Event) -> Result<(), Stop> {
        self.write(self.ids.get(index).cloned(), event).await
    }

    /// Puts on record that deferred modifiers count now.
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

/// Why a call is kept whose effect may have begun.
pub(super) const SUBMITTED: &str = "its effect may have happened";

/// The refusal of a call that nobody wants any more.
pub(super) fn superseded(reason: &str) -> Stop {
    Stop::new(Code::CanceledDiscarded, format!("nobody wants it any more: {reason}"))
}
