//! Crash recovery: takes over open calls whose lease expired and resumes, refuses or resolves each.
//!
//! A call that waits for an approver keeps waiting, an unsent one is refused or runs again, and the
//! backend is asked for the outcome of a submitted one.

mod effect;
mod history;
mod hook_notification;
mod questions;

use std::sync::Arc;

use haft_catalog::Sender;
use haft_driver::BoxFuture;
use haft_ledger::{Disclosure, Fence, QuestionRecord, RunFilter};
use haft_model::{
    Audience, Call, CallPhase, Code, Digest, DualTime, Envelope, Event, InvocationId, PhaseLine,
    PhaseOutcome, QuestionState, Status, Stop, TakenOver, Trace, Verdict, utc_day,
};
use haft_policy::recorded_opinions;
use serde_json::Value;
use tokio::time::Instant;

use crate::approval::Ending;
use crate::batch::TaskSet;
use crate::context::{CallContext, CallRequest};
use crate::idempotency::Origin;
use crate::in_flight::InFlightCall;
use crate::permit::PermittedCall;
use crate::pipeline::{CallOutcome, Halt, Reached, StoppedCall};
use crate::plan::PlannedCall;
use crate::pre_hooks::ReviewedPlan;
use crate::recorder::{Recorder, RecorderStart, TakenUp, unrecorded};
use crate::runtime::called_off;
use crate::validate;
use crate::{CallOptions, Patience, Runtime, Unsent};
pub(crate) use history::CallHistory;

/// Open calls per page of the ledger, and calls that are recovered in parallel.
const PAGE: usize = 1000;
const AT_ONCE: usize = 64;

/// Result of taking a call over.
#[derive(Debug)]
pub enum RecoveryOutcome {
    /// The call is over; this is its result.
    Finished(Box<Envelope>),
    /// The call waits for an approver.
    StillWaiting,
    /// Another process holds the lease.
    Elsewhere,
}

/// Whether a client waits for the recovered call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attendance {
    Yes,
    No,
}

/// A call whose lease this process holds.
pub(crate) struct ClaimedCall<'r> {
    fence: Fence,
    leased: DualTime,
    in_flight: InFlightCall<'r>,
}

impl Runtime {
    /// Takes a call over unless a live process holds its lease. Waits until the lease of a dead
    /// process expires.
    pub async fn take_over(&self, id: &InvocationId) -> Result<RecoveryOutcome, Stop> {
        let patience = Instant::now() + self.options.lease + self.options.look * 2;
        loop {
            if let Some(claimed) = self.claim(id).await? {
                return self.resume(id, claimed, Attendance::Yes).await;
            }
            let moved = !self.status_of(id).await?.is_some_and(Status::waits_for_people);
            if moved || Instant::now() > patience {
                return Ok(RecoveryOutcome::Elsewhere);
            }
            tokio::time::sleep(self.options.look).await;
        }
    }

    /// Recovers every open call without a live lease, and records finished compensations on their
    /// originals. Calls that wait for an approver keep waiting.
    pub async fn recover(&self) -> Result<Vec<Envelope>, Stop> {
        let mut filter = RunFilter { open: true, most: PAGE, ..RunFilter::default() };
        // First: a call that this run leaves unknown was looked up just now.
        let (mut settled, mut failed) = (Vec::new(), self.retry_lookups().await.err());
        loop {
            let page = self.store.runs(&filter).await.map_err(unrecorded)?;
            for some in page.chunks(AT_ONCE) {
                let works = some.iter().map(|run| -> BoxFuture<'_, _> {
                    Box::pin(self.recovered(&run.invocation_id))
                });
                for finished in TaskSet::new(works).all().await {
                    match finished {
                        Ok(finished) => settled.extend(finished),
                        // One failed recovery does not keep the others from running.
                        Err(stop) => failed = failed.or(Some(stop)),
                    }
                }
            }
            match page.last().filter(|_| page.len() == PAGE) {
                Some(last) => filter.before = Some(last.invocation_id.clone()),
                None => break,
            }
        }
        self.record_compensations().await?;
        failed.map_or(Ok(settled), Err)
    }

    /// Recovers one open call, if no process holds its lease and it does not wait for an approver.
    async fn recovered(&self, id: &InvocationId) -> Result<Option<Envelope>, Stop> {
        let Some(claimed) = self.claim(id).await? else { return Ok(None) };
        match self.resume(id, claimed, Attendance::No).await? {
            RecoveryOutcome::Finished(envelope) => Ok(Some(*envelope)),
            RecoveryOutcome::StillWaiting | RecoveryOutcome::Elsewhere => Ok(None),
        }
    }

    /// Ends a call that waits for an approver, if no other process holds its lease.
    pub(crate) async fn end_waiting(&self, id: &InvocationId) -> Result<bool, Stop> {
        self.end_waiting_with(id, |_| None).await
    }

    /// The same, with a reason of the caller's; `None` falls back to the usual one.
    pub(crate) async fn end_waiting_with(
        &self,
        id: &InvocationId,
        reason: impl FnOnce(&mut CallContext<'_>) -> Option<Stop>,
    ) -> Result<bool, Stop> {
        let Some(claimed) = self.claim(id).await? else { return Ok(false) };
        let history = self.history(id).await?;
        let (mut context, reached) = self.restart(id, claimed, &history).await?;
        let stop = match context.last_question(id).await? {
            Some(record) => context.withdrawn(&record.question),
            None => called_off("while a person was asked"),
        };
        let stop = reason(&mut context).unwrap_or(stop);
        context.finish(Err(reached.stopped(stop))).await;
        Ok(true)
    }

    /// Claims the lease of an open call; `None` if a live process, or this one, has the call.
    pub(crate) async fn claim(&self, id: &InvocationId) -> Result<Option<ClaimedCall<'_>>, Stop> {
        let Some(in_flight) = self.enlist(id) else { return Ok(None) };
        let node = &self.options.node;
        let leased = self.clock.time();
        let until = leased.later(self.options.lease);
        let fence = self.store.lease(id, node, leased.clone(), until).await;
        let fence = fence.map_err(unrecorded)?;
        // The lease may be free because the call has just ended.
        match (fence, self.status_of(id).await?) {
            (Some(fence), Some(status)) if !status.is_terminal() => {
                Ok(Some(ClaimedCall { fence, leased, in_flight }))
            }
            (Some(fence), _) => {
                self.store.release(id, fence, Disclosure::Outcome).await.map_err(unrecorded)?;
                Ok(None)
            }
            (None, _) => Ok(None),
        }
    }

    async fn status_of(&self, id: &InvocationId) -> Result<Option<Status>, Stop> {
        let filter = RunFilter { id: Some(id.clone()), ..RunFilter::default() };
        let runs = self.store.runs(&filter).await.map_err(unrecorded)?;
        Ok(runs.first().map(|run| run.status))
    }

    pub(crate) async fn resume(
        &self,
        id: &InvocationId,
        claimed: ClaimedCall<'_>,
        attended: Attendance,
    ) -> Result<RecoveryOutcome, Stop> {
        let history = self.history(id).await?;
        let (mut context, reached) = self.restart(id, claimed, &history).await?;
        context.request.unattended = attended == Attendance::No;
        let outcome = match history.submitted() {
            true => context.look_up_effect(&history, &reached, id).await,
            false => match context.resume_stages(&history, &reached, id).await {
                Ok(Some(outcome)) => outcome,
                Ok(None) => {
                    context.recorder.release().await;
                    return Ok(RecoveryOutcome::StillWaiting);
                }
                Err(stop) => Err(reached.stopped(stop)),
            },
        };
        let waits = matches!(&outcome, Err(StoppedCall { halt: Halt::Pending(_), .. }));
        let envelope = context.finish(outcome).await;
        Ok(match waits {
            true => RecoveryOutcome::StillWaiting,
            false => RecoveryOutcome::Finished(Box::new(envelope)),
        })
    }

    /// Rebuilds the context of a call at its last recorded state, and how far the call came.
    async fn restart<'r>(
        &'r self,
        id: &InvocationId,
        claimed: ClaimedCall<'r>,
        history: &CallHistory,
    ) -> Result<(CallContext<'r>, Reached), Stop> {
        let ClaimedCall { fence, leased, in_flight } = claimed;
        let began = history.facts.first().map_or_else(|| self.clock.now(), |fact| fact.at);
        let age = self.clock.now().as_microsecond().saturating_sub(began.as_microsecond());
        let phases = history.facts.iter().flat_map(|fact| &fact.phases);
        let opening = RecorderStart {
            id: id.clone(),
            actor: Arc::new(history.start.actor.clone()),
            taken_up: Some(TakenUp {
                subject: history.subject(),
                fence,
                leased,
                status: history.status(),
                progress: history.progress(),
                age: u64::try_from(age).unwrap_or_default(),
                phases: phases.map(|line: &PhaseLine| line.phase).collect(),
            }),
        };
        let recorder = Recorder::open(self.clock.clone(), self.store.clone(), opening);
        let start = &history.start;
        let request = CallRequest {
            tool: start.requested.clone(),
            audience: Audience::of_call(&start.channel, &start.actor),
            trace: Trace::of_call(id, &start.native),
            scheduler_policy: start.batch.as_ref().and_then(|place| place.policy.clone()),
            ..CallRequest::default()
        };
        let mut context = CallContext::with(self, recorder, in_flight, request);
        context.attempts.executed = history.submitted();
        context.attempts.number = history.attempts() + 1;
        let reached = Reached {
            entry: context.world.snapshot.find(&start.requested).cloned(),
            intent: history.intent().map(Arc::new),
            plan: None,
        };
        let flight = reached.intent.as_ref().map(|intent| self.single_flight.take(intent, id));
        context.waiters.flight = flight.and_then(Result::ok);
        if let Some(original) = &start.compensates {
            context.privacy.discretion.unknown = true;
            context.undo_on(&start.actor, original).await?;
        }
        let sent = self.value(id, &start.model_input.digest).await?;
        context.privacy.redactor.learn(&sent);
        context.recorder.note(Event::TakenOver(TakenOver {
            fence: fence.0,
            reason: "no process held its lease".to_owned(),
        }));
        context.close_forms(id).await?;
        Ok((context, reached))
    }

    /// Payload of this call, as JSON.
    async fn value(&self, id: &InvocationId, digest: &Digest) -> Result<Value, Stop> {
        let gone = || {
            Stop::new(Code::Internal, format!("`{digest}` of `{id}` is gone, so it cannot go on"))
        };
        let bytes = self.store.payload(id, digest).await.map_err(unrecorded)?.ok_or_else(gone)?;
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }
}

impl CallContext<'_> {
    /// Resumes from the approval question that the call waits for; `None` while it is open.
    async fn resume_stages(
        &mut self,
        history: &CallHistory,
        reached: &Reached,
        id: &InvocationId,
    ) -> Result<Option<CallOutcome>, Stop> {
        let died = || {
            Stop::new(Code::Internal, "the process died before anything was sent")
                .help("call it again")
        };
        let Some(record) = self.last_question(id).await? else {
            return match self.still_allowed(history, reached, id).await? {
                Some(permitted) => {
                    let decided = history.undelivered_decision();
                    Ok(Some(self.tell_and_run(decided, permitted).await))
                }
                None => Err(died()),
            };
        };
        match self.restore_plan(history, reached, id, history.judged()).await {
            Ok(planned) => Ok(self.answered_since(history, reached, planned, record).await),
            Err(stop) => {
                self.close(&record.question, QuestionState::Withdrawn, "it cannot run any more");
                Err(stop)
            }
        }
    }

    /// Reauthorizes a call that was allowed but not sent when its process died. It runs only if the
    /// workspace sets `Unsent::Run`, input, driver and effects are unchanged, and the rules still
    /// allow it.
    async fn still_allowed(
        &mut self,
        history: &CallHistory,
        reached: &Reached,
        id: &InvocationId,
    ) -> Result<Option<PermittedCall>, Stop> {
        let (Unsent::Run, Some(decided)) = (self.runtime.options.unsent, history.allowed()) else {
            return Ok(None);
        };
        self.still_in_time().await?;
        let planned = self.restore_plan(history, reached, id, history.ran()).await?;
        let call_input = self.keep_input(&planned.plan.input);
        let frozen = decided.call_input.as_ref().map(|kept| &kept.digest);
        let same = frozen == Some(&call_input.digest) && history.by(&planned);
        let world = self.world.clone();
        let hooks = world.hooks.iter().map(|hook| (hook.name(), hook.trusted()));
        let opinions = recorded_opinions(&decided.decision, hooks);
        let decision = self.judged(&world, &planned, &opinions).await?;
        if !same || decision.verdict != Verdict::Allow {
            return Ok(None);
        }
        self.permit(planned, &decision, opinions).map(Some)
    }

    /// Rebuilds the planned call, with the input that was judged or that ran, against today's
    /// catalog. Its record stands for its deduplication.
    async fn restore_plan(
        &mut self,
        history: &CallHistory,
        reached: &Reached,
        id: &InvocationId,
        input: Option<Digest>,
    ) -> Result<PlannedCall, Stop> {
        let call = self.call_again(history, id).await?;
        let input = input.ok_or_else(|| Stop::new(Code::Internal, "nothing was judged"))?;
        let input = self.runtime.value(id, &input).await?;
        self.privacy.redactor.learn(&input);
        let now = self.recorder.now();
        let entry = self.world.snapshot.select(&history.start.requested, utc_day(now))?.clone();
        let input = validate::parse(&entry, input, Sender::Host)?;
        let states = self.world.states_for_use(&entry, &call.actor, now).await;
        let origin = Origin::of_record(call, reached.intent.clone(), states);
        self.plan_input(&origin, &entry, input.into())
    }

    /// Applies the answers that approvers gave since; `None` while the question is open.
    async fn answered_since(
        &mut self,
        history: &CallHistory,
        reached: &Reached,
        planned: PlannedCall,
        record: QuestionRecord,
    ) -> Option<CallOutcome> {
        let decided = history.undelivered_decision_for(self);
        match self.ended(&planned, &record.question, &record).await {
            Ok(None) => None,
            Ok(Some(Ending::Permitted(permitted))) => {
                self.recorder.phase(CallPhase::Permission, PhaseOutcome::Ok);
                Some(self.tell_and_run(decided, *permitted).await)
            }
            Ok(Some(Ending::AskAgain(planned))) => {
                let options = CallOptions { patience: Patience::Leave, ..CallOptions::default() };
                let reviewed = ReviewedPlan::of_record(*planned, Vec::new());
                Some(match reviewed.authorize(self, &options).await {
                    Ok(permitted) => permitted.execute(self, &options).await,
                    Err(stopped) => Err(stopped),
                })
            }
            Err(halt) => Some(Err(reached.stopped(halt))),
        }
    }

    async fn call_again(&self, history: &CallHistory, id: &InvocationId) -> Result<Call, Stop> {
        let start = &history.start;
        let mut call = Call::new(start.actor.clone(), start.requested.clone(), Value::Null);
        if let Some(context) = &start.context {
            call.context = self.runtime.value(id, &context.digest).await?;
        }
        call.pinned = start.pinned.clone();
        call.region = start.region.clone();
        call.native = start.native.clone();
        call.key = start.key.clone();
        call.parent = start.parent.clone();
        call.batch = start.batch.clone();
        call.compensates = start.compensates.clone();
        Ok(call)
    }
}
