//! Batch membership of a call: dependencies, turns, discards and failures of siblings.

use std::sync::Arc;

use haft_driver::Failure;
use haft_model::{
    AbortReason, BatchDiscarded, Call, CauseDetail, Code, ContextModified, Envelope, Event,
    InvocationId, Reported, ResultStatus, SchedulerPolicy, Stop,
};
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use super::BatchTurn;
use super::discard::{SUBMITTED, superseded};
use super::scheduler::{BatchScheduler, Fate};
use crate::context::CallContext;
use crate::pipeline::{CallOutcome, Halt, StoppedCall};
use crate::plan::BoundPlan;
use crate::queue::{Slot, SlotRequest};
use crate::runtime::called_off;
use crate::{CallOptions, Runtime};

/// Membership of one call in its batch. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Membership {
    scheduler: Arc<BatchScheduler>,
    index: usize,
    pub(super) priority: i32,
    names: Arc<[String]>,
    policy: Arc<SchedulerPolicy>,
    /// Whether at most one call of the batch runs at a time.
    pub(crate) alone: bool,
}

/// Context modifiers deferred to the end of the batch.
pub(crate) struct DeferredModifiers {
    pub(crate) fact: ContextModified,
    pub(crate) modifiers: Vec<Value>,
}

/// A turn in the batch, if the call belongs to one, and a slot in the queue. The slot is released
/// first.
pub(crate) struct Turns {
    _slot: Option<Slot>,
    _places: Vec<OwnedSemaphorePermit>,
    _turn: Option<BatchTurn>,
}

impl Turns {
    /// The turn of a nested call, which runs under the slot and locks of its parent.
    pub(crate) fn of_another() -> Turns {
        Turns { _slot: None, _places: Vec::new(), _turn: None }
    }
}

/// Reports the end of a call to its siblings on drop, so that a dropped future counts too.
struct Leaving {
    membership: Membership,
    fate: Fate,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.membership.scheduler.over(self.membership.index, self.fate);
    }
}

impl Membership {
    /// One membership for each call, in request order.
    pub(super) fn all(
        scheduler: &Arc<BatchScheduler>,
        names: Arc<[String]>,
        policy: Arc<SchedulerPolicy>,
        alone: bool,
    ) -> impl Iterator<Item = Membership> + use<> {
        let scheduler = scheduler.clone();
        (0..names.len()).map(move |index| Membership {
            scheduler: scheduler.clone(),
            index,
            priority: 0,
            names: names.clone(),
            policy: policy.clone(),
            alone,
        })
    }

    /// Takes the call out of the scheduling order while it waits for an equal call elsewhere, or
    /// puts it back.
    pub(crate) fn stand_aside(&self, aside: bool) {
        self.scheduler.stand_aside(self.index, aside);
    }

    /// Observes an event that is recorded for the call.
    pub(crate) fn noted(&self, event: &Event) {
        self.scheduler.noted(self.index, event);
    }

    /// Queues progress reports for the result stream.
    pub(crate) fn tell(&self, reports: Vec<Reported>) {
        self.scheduler.told(self.index, reports);
    }

    /// Whether the result of the call would be yielded at once.
    pub(crate) fn is_its_turn(&self) -> bool {
        self.scheduler.is_its_turn(self.index)
    }

    /// Defers context modifiers to the end of the batch.
    pub(crate) fn defer(&self, deferred: DeferredModifiers) {
        self.scheduler.defer(self.index, deferred);
    }

    /// The refusal of a call that a sibling's failure cancelled.
    fn taken_along(&self) -> Option<Stop> {
        let by = self.scheduler.taken_by(self.index)?;
        let name = self.names.get(by).map_or("", String::as_str);
        let words = format!("call `{name}` of the batch did not succeed and took this one along");
        Some(Stop::new(Code::CanceledSibling, words).because(CauseDetail::Sibling(by)))
    }
}

impl Runtime {
    /// Runs one call of a batch.
    pub(super) async fn run_member(
        &self,
        call: Call,
        id: InvocationId,
        options: CallOptions<'_>,
        membership: Membership,
    ) -> Envelope {
        let mut leaving = Leaving { membership: membership.clone(), fate: Fate::Badly };
        let mut context = CallContext::begin(self, &call, id);
        let call = Arc::new(call);
        membership.scheduler.listens(membership.index, context.in_flight.wish.clone());
        context.recorder.join(membership.clone());
        context.request.scheduler_policy = Some(membership.policy.clone());
        let outcome = context.run(call.clone(), &options).await;
        let outcome = match membership.scheduler.discarded(membership.index) {
            Some(reason) => context.discarded(outcome, &call, reason),
            None if options.cancel.is_cancelled() => outcome,
            None => taken_along(outcome, &membership),
        };
        let envelope = context.finish(outcome).await;
        leaving.fate = match envelope.status {
            ResultStatus::Pending => Fate::Waits,
            _ if envelope.is_error => Fate::Badly,
            _ => Fate::Well,
        };
        envelope
    }
}

/// The failure of a call that was cancelled.
fn cancelled(outcome: &mut CallOutcome) -> Option<&mut Failure> {
    match outcome {
        Err(StoppedCall { halt: Halt::Stopped(failure), .. })
            if failure.stop.code == Code::CanceledCaller =>
        {
            Some(failure)
        }
        Ok(_) | Err(_) => None,
    }
}

/// Replaces the code of a cancellation that a sibling's failure caused.
fn taken_along(mut outcome: CallOutcome, membership: &Membership) -> CallOutcome {
    if let Some(failure) = cancelled(&mut outcome)
        && let Some(stop) = membership.taken_along()
    {
        failure.stop = stop;
    }
    outcome
}

impl<'r> CallContext<'r> {
    /// Applies a discard: a call that was stopped reports it; otherwise its outcome stands and the
    /// ledger records why.
    fn discarded(&mut self, mut outcome: CallOutcome, call: &Call, reason: String) -> CallOutcome {
        let kept = match cancelled(&mut outcome) {
            Some(failure) if failure.effect.may_have_happened() => Some(SUBMITTED),
            Some(failure) => {
                failure.stop = superseded(&reason);
                None
            }
            None => Some("it ended before it could be stopped"),
        };
        let batch = call.batch.as_ref().map(|place| place.id.clone()).unwrap_or_default();
        let kept = kept.map(str::to_owned);
        self.recorder.note(Event::BatchDiscarded(BatchDiscarded { batch, reason, kept }));
        outcome
    }

    /// Waits for the dependencies of the call.
    pub(crate) async fn wait_for_siblings(
        &mut self,
        options: &CallOptions<'_>,
    ) -> Result<(), Halt> {
        let Some(membership) = self.recorder.membership().cloned() else { return Ok(()) };
        let begins = membership.scheduler.begin(membership.index);
        match self.in_sight(options, begins).await.map(|()| membership.taken_along()) {
            Some(None) => Ok(()),
            Some(Some(stop)) => Err(stop.into()),
            None => Err(called_off("while it waited for other calls of its batch").into()),
        }
    }

    /// Waits for a turn: in the batch first, so that the call holds no slot while it waits for
    /// siblings.
    pub(crate) fn turn<'l>(
        &self,
        planned: &BoundPlan,
        locks: &'l std::collections::BTreeSet<String>,
        safe: bool,
    ) -> impl Future<Output = Result<Turns, Stop>> + use<'r, 'l> {
        let membership = self.recorder.membership().cloned();
        let queue = &self.runtime.queue;
        let actor = self.recorder.actor().clone();
        let places = self.places(planned);
        async move {
            let priority = membership.as_ref().map_or(0, |membership| membership.priority);
            let turn = match &membership {
                Some(membership) => {
                    Some(membership.scheduler.clone().enter(membership.index, safe).await)
                }
                None => None,
            };
            // Quota slots come before the queue, where the call would hold a slot that others could
            // use.
            let places = places.taken().await?;
            let slot = queue.enter(SlotRequest { locks, shared: safe, actor, priority }).await?;
            if membership.is_some_and(|membership| !membership.scheduler.clear(membership.index)) {
                return Err(called_off("before it could begin"));
            }
            Ok(Turns { _slot: Some(slot), _places: places, _turn: turn })
        }
    }

    /// The abort reason of a call whose cancellation was requested.
    pub(crate) fn whose_wish(&self) -> AbortReason {
        let usual = match self.runtime.shutdown.is_cancelled() {
            true => AbortReason::RuntimeShutdown,
            false => AbortReason::UserInterruption,
        };
        let Some(membership) = self.recorder.membership() else { return usual };
        if membership.scheduler.discarded(membership.index).is_some() {
            return AbortReason::Fallback;
        }
        match membership.scheduler.taken_by(membership.index) {
            Some(_) => AbortReason::SiblingError,
            None => usual,
        }
    }
}
