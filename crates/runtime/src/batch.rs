//! Several calls at once: side by side where that is safe, answered in the order of the request.

mod course;
mod crew;
mod discard;
mod document;
mod order;
mod planned;
mod released;
mod seat;
#[cfg(test)]
mod tests;
mod twins;

use std::collections::BTreeMap;
use std::pin::Pin;

use haft_model::{
    BatchOrdering, BatchPlace, Call, ContextPolicy, Envelope, InterruptBehavior, OnFailure, Stop,
    YieldPolicy,
};

use crate::{CallOptions, Runtime};
use course::BatchTurn;
pub(crate) use crew::Crew;
pub use discard::{BatchHandle, Discarding};
pub use document::{BatchDocument, WrittenCall};
use planned::Plan;
pub use released::{BatchNews, ResultStream};
pub(crate) use seat::{DeferredModifiers, Seat, Turns};

/// Several calls that were asked for together.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The calls, in the order of the request.
    pub calls: Vec<BatchCall>,
    /// How results are ordered.
    pub ordering: BatchOrdering,
    /// What is handed over at once; unsaid, progress is, and results are where no order is kept.
    pub yields: Option<YieldPolicy>,
    /// What the caller's wish to stop does to calls that run.
    pub interrupt: InterruptBehavior,
    /// What a failure does to the others; unsaid, nothing where all are reads, and otherwise those
    /// that depend on it are not made.
    pub on_failure: Option<OnFailure>,
    /// What becomes of context modifiers.
    pub context: ContextPolicy,
}

/// One call of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchCall {
    /// The call.
    pub call: Call,
    /// What the others of the batch know it by.
    pub id: Option<String>,
    /// Ids or indexes of calls that have to end before this one begins.
    pub depends_on: Vec<String>,
    /// Which of an actor's calls has a scarce place first; higher is sooner.
    pub priority: i32,
}

impl Batch {
    /// A batch with the usual settings.
    pub fn new(calls: impl IntoIterator<Item = impl Into<BatchCall>>) -> Batch {
        Batch {
            calls: calls.into_iter().map(Into::into).collect(),
            ordering: BatchOrdering::PreserveTerminalOrder,
            yields: None,
            interrupt: InterruptBehavior::Block,
            on_failure: None,
            context: ContextPolicy::AllowSerialOnly,
        }
    }
}

impl From<Call> for BatchCall {
    fn from(call: Call) -> BatchCall {
        BatchCall { call, id: None, depends_on: Vec::new(), priority: 0 }
    }
}

impl Runtime {
    /// Takes several calls through the rooms. As many results come out as calls went in, unless the
    /// batch itself makes no sense, which is found before anything begins.
    pub fn batch<'r>(
        &'r self,
        batch: Batch,
        manner: CallOptions<'r>,
    ) -> Result<ResultStream<'r>, Stop> {
        let Plan { name, policy, course, ids, names, after, alone, fact } =
            planned::plan(self, &batch)?;
        let twins = twins::twins(&batch.calls);
        let actor = batch.calls.first().map(|member| member.call.actor.clone());
        let seats = Seat::all(&course, names, policy.clone(), alone);
        let members = batch.calls.into_iter().zip(seats).zip(after).enumerate();
        let works = members.map(|(index, ((member, mut seat), after))| {
            let id = ids.get(index).cloned().unwrap_or_else(crate::pipeline::new_id);
            let mut call = member.call;
            call.batch = Some(BatchPlace {
                id: name.clone(),
                index: index as u64,
                depends_on: after.iter().filter_map(|index| ids.get(*index).cloned()).collect(),
                twin: twins.get(index).copied().unwrap_or(0),
                policy: Some(policy.clone()),
            });
            seat.priority = member.priority;
            let manner = CallOptions { cancel: course.caller(index), ..manner.clone() };
            let work = self.seated(call, id, manner, seat);
            Box::pin(work) as Pin<Box<dyn Future<Output = Envelope> + Send + 'r>>
        });
        let crew = Crew::new(works);
        let handle = BatchHandle::new(self, name, course, ids, actor);
        Ok(ResultStream::new(handle, crew, policy, manner.cancel, fact))
    }

    /// The same, with every result in the order of the request. Context modifiers that wait for the
    /// end of the batch are not among them: whoever wants those takes them from [`Released`].
    pub async fn batch_all(
        &self,
        batch: Batch,
        manner: CallOptions<'_>,
    ) -> Result<Vec<Envelope>, Stop> {
        let mut released = self.batch(batch, manner)?;
        let mut all = BTreeMap::new();
        while let Some((index, envelope)) = released.next().await {
            all.insert(index, envelope);
        }
        Ok(all.into_values().collect())
    }
}
