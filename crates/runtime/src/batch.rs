//! Batch execution: runs concurrency-safe calls in parallel and yields results in the batch's
//! order.
//!
//! INVARIANT: a valid batch yields exactly one envelope for each call.

mod discard;
mod document;
mod duplicates;
mod membership;
mod order;
mod planning;
mod result_stream;
mod scheduler;
mod task_set;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::pin::Pin;

use haft_model::{
    BatchOrdering, BatchPlace, Call, ContextPolicy, Envelope, InterruptBehavior, OnFailure, Stop,
    YieldPolicy,
};

use crate::{CallOptions, Runtime};
pub use discard::{BatchHandle, Discarding};
pub use document::{BatchDocument, WrittenCall};
pub(crate) use membership::{DeferredModifiers, Membership, Turns};
use planning::Plan;
pub use result_stream::{BatchNews, ResultStream};
use scheduler::BatchTurn;
pub(crate) use task_set::TaskSet;

/// Calls that one request submits together.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The calls, in request order.
    pub calls: Vec<BatchCall>,
    /// Ordering of results, and whether calls run serially.
    pub ordering: BatchOrdering,
    /// When progress and results are yielded; `None` takes the default of `ordering`.
    pub yields: Option<YieldPolicy>,
    /// What the caller's cancellation does to calls that run.
    pub interrupt: InterruptBehavior,
    /// What a failure does to the other calls; `None` ignores it where all calls are reads, and
    /// cancels the dependent calls otherwise.
    pub on_failure: Option<OnFailure>,
    /// Whether context modifiers apply at once, at the end of the batch, or never.
    pub context: ContextPolicy,
}

/// One call of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchCall {
    /// The call itself.
    pub call: Call,
    /// Id that other calls of the batch use in `depends_on`; unique within the batch.
    pub id: Option<String>,
    /// Ids or indexes (from 0) of calls that have to end before this one begins.
    pub depends_on: Vec<String>,
    /// Priority among the actor's queued calls; the higher one gets a free slot first.
    pub priority: i32,
}

impl Batch {
    /// A batch with default policies: ordered results, and calls that finish when the caller
    /// interrupts.
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
    /// Runs a batch. The stream yields as many results as there are calls; an invalid batch is
    /// refused before any call begins.
    pub fn batch<'r>(
        &'r self,
        mut batch: Batch,
        options: CallOptions<'r>,
    ) -> Result<ResultStream<'r>, Stop> {
        let keyed = |member: BatchCall| BatchCall {
            call: self.keyed(member.call, options.surface.as_slice()),
            ..member
        };
        batch.calls = batch.calls.into_iter().map(keyed).collect();
        let Plan { name, policy, scheduler, ids, names, after, alone, fact } =
            planning::plan(self, &batch)?;
        let twins = duplicates::twins(&batch.calls);
        let actor = batch.calls.first().map(|member| member.call.actor.clone());
        let memberships = Membership::all(&scheduler, names, policy.clone(), alone);
        let members = batch.calls.into_iter().zip(memberships).zip(after).enumerate();
        let works = members.map(|(index, ((member, mut membership), after))| {
            let id = ids.get(index).cloned().unwrap_or_else(crate::pipeline::new_id);
            let mut call = member.call;
            call.batch = Some(BatchPlace {
                id: name.clone(),
                index: index as u64,
                depends_on: after.iter().filter_map(|index| ids.get(*index).cloned()).collect(),
                twin: twins.get(index).copied().unwrap_or(0),
                policy: Some(policy.clone()),
            });
            membership.priority = member.priority;
            let options = CallOptions { cancel: scheduler.caller(index), ..options.clone() };
            let work = self.run_member(call, id, options, membership);
            Box::pin(work) as Pin<Box<dyn Future<Output = Envelope> + Send + 'r>>
        });
        let task_set = TaskSet::new(works);
        let handle = BatchHandle::new(self, name, scheduler, ids, actor);
        Ok(ResultStream::new(handle, task_set, policy, options.cancel, fact))
    }

    /// Runs a batch and collects every result in request order. Deferred context modifiers are not
    /// among them: take those from [`ResultStream::context_modifiers`].
    pub async fn batch_all(
        &self,
        batch: Batch,
        options: CallOptions<'_>,
    ) -> Result<Vec<Envelope>, Stop> {
        let mut released = self.batch(batch, options)?;
        let mut all = BTreeMap::new();
        while let Some((index, envelope)) = released.next().await {
            all.insert(index, envelope);
        }
        Ok(all.into_values().collect())
    }
}
