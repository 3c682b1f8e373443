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
    Audience, Call, Code, Digest, DualTime, Envelope, Event, InvocationId, PhaseLine,
    QuestionState, Status, Stop, TakenOver, Trace, Verdict, utc_day,
};
use haft_policy::{Permit, recorded_opinions};
use serde_json::Value;
use tokio::time::Instant;

use crate::approval::{Ending, PermittedCall};
use crate::batch::TaskSet;
use crate::in_flight::InFlightCall;
use crate::pipeline::{CallPipeline, Halt};
use crate::plan::BoundPlan;
use crate::quota;
use crate::recorder::{Recorder, RecorderStart, TakenUp, unrecorded};
use crate::runtime::{called_off, later};
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
        reason: impl FnOnce(&mut CallPipeline<'_>) -> Option<Stop>,
    ) -> Result<bool, Stop> {
        let Some(claimed) = self.claim(id).await? else { return Ok(false) };
        let history = self.history(id).await?;
        let mut pipeline = self.restart_pipeline(id, claimed, &history).await?;
        let stop = match pipeline.last_question(id).await? {
            Some(record) => pipeline.withdrawn(&record.question),
            None => called_off("while a person was asked"),
        };
        let stop = reason(&mut pipeline).unwrap_or(stop);
        pipeline.finish(Err(Halt::from(stop))).await;
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
        let mut pipeline = self.restart_pipeline(id, claimed, &history).await?;
        pipeline.unattended = attended == Attendance::No;
        let outcome = match history.submitted() {
            true => pipeline.look_up_effect(&history, id).await,
            false => match pipeline.resume_stages(&history, id).await {
                Ok(Some(output)) => output,
                Ok(None) => {
                    pipeline.recorder.release().await;
                    return Ok(RecoveryOutcome::StillWaiting);
                }
                Err(stop) => Err(Halt::from(stop)),
            },
        };
        if let Err(Halt::Pending(_)) = &outcome {
            pipeline.finish(outcome).await;
            return Ok(RecoveryOutcome::StillWaiting);
        }
        Ok(RecoveryOutcome::Finished(Box::new(pipeline.finish(outcome).await)))
    }

    /// Rebuilds the pipeline of a call at its last recorded state.
    async fn restart_pipeline<'r>(
        &'r self,
        id: &InvocationId,
        claimed: ClaimedCall<'r>,
        history: &CallHistory,
    ) -> Result<CallPipeline<'r>, Stop> {
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
        let mut pipeline = CallPipeline::with(self, recorder, in_flight, &history.start.requested);
        pipeline.trace = Trace::of_call(id, &history.start.native);
        pipeline.audience = Audience::of_call(&history.start.channel, &history.start.actor);
        pipeline.executed = history.submitted();
        pipeline.attempt = history.attempts() + 1;
        pipeline.entry = pipeline.world.snapshot.find(&history.start.requested).cloned();
        pipeline.intent = history.intent();
        let carrying = pipeline.intent.as_ref().map(|intent| self.single_flight.take(intent, id));
        pipeline.flight = carrying.and_then(Result::ok);
        pipeline.scheduler_policy =
            history.start.batch.as_ref().and_then(|place| place.policy.clone());
        if let Some(original) = &history.start.compensates {
            pipeline.discretion.unknown = true;
            pipeline.undo_on(&history.start.actor, original).await?;
        }
        let sent = self.value(id, &history.start.model_input.digest).await?;
        pipeline.redactor.learn(&sent);
        pipeline.recorder.note(Event::TakenOver(TakenOver {
            fence: fence.0,
            reason: "no process held its lease".to_owned(),
        }));
        pipeline.close_forms(id).await?;
        Ok(pipeline)
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

type RecoveryResult = Result<haft_driver::Output, Halt>;

impl CallPipeline<'_> {
    /// Resumes from the approval question that the call waits for; `None` while it is open.
    async fn resume_stages(
        &mut self,
        history: &CallHistory,
        id: &InvocationId,
    ) -> Result<Option<RecoveryResult>, Stop> {
        let died = || {
            Stop::new(Code::Internal, "the process died before anything was sent")
                .help("call it again")
        };
        let Some(record) = self.last_question(id).await? else {
            return match self.still_allowed(history, id).await? {
                Some((call, permitted)) => Ok(Some(
                    self.told_and_run(history.undelivered_decision(), &call, permitted).await,
                )),
                None => Err(died()),
            };
        };
        match self.restore_plan(history, id, history.judged()).await {
            Ok((call, planned)) => self.answered_since(history, call, planned, record).await,
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
        id: &InvocationId,
    ) -> Result<Option<(Call, PermittedCall)>, Stop> {
        let (Unsent::Run, Some(decided)) = (self.runtime.options.unsent, history.allowed()) else {
            return Ok(None);
        };
        self.still_in_time().await?;
        let (call, planned) = self.restore_plan(history, id, history.ran()).await?;
        let call_input = self.keep(&planned.plan.input);
        let frozen = decided.call_input.as_ref().map(|kept| &kept.digest);
        let same = frozen == Some(&call_input.digest) && history.by(&planned);
        let world = self.world.clone();
        let hooks = world.hooks.iter().map(|hook| (hook.name(), hook.trusted()));
        let heard = recorded_opinions(&decided.decision, hooks);
        let decision = self.judged(&world, &planned, &heard).await?;
        if !same || decision.verdict != Verdict::Allow {
            return Ok(None);
        }
        let until = later(self.recorder.now(), self.runtime.options.permit);
        let permit = Permit::of_decision(&decision, &planned.plan, self.recorder.id(), until);
        let let_through = quota::let_through(&world, &decision);
        let heard = Some(heard);
        self.plan = Some(planned.plan.clone());
        Ok(permit.map(|permit| {
            (call, PermittedCall { planned, permit, call_input, heard, let_through })
        }))
    }

    /// Rebuilds the call and its plan, with the input that was judged or that ran, against today's
    /// catalog.
    async fn restore_plan(
        &mut self,
        history: &CallHistory,
        id: &InvocationId,
        input: Option<Digest>,
    ) -> Result<(Call, BoundPlan), Stop> {
        let call = self.call_again(history, id).await?;
        let input = input.ok_or_else(|| Stop::new(Code::Internal, "nothing was judged"))?;
        let input = self.runtime.value(id, &input).await?;
        self.redactor.learn(&input);
        let today = utc_day(self.recorder.now());
        let entry = self.world.snapshot.select(&history.start.requested, today)?.clone();
        let input = validate::parse(&entry, input, Sender::Host)?;
        self.load_driver_states(&call, &entry).await;
        let planned = self.bind(&call, &entry, input)?;
        Ok((call, planned))
    }

    /// Applies the answers that approvers gave since.
    async fn answered_since(
        &mut self,
        history: &CallHistory,
        call: Call,
        planned: BoundPlan,
        record: QuestionRecord,
    ) -> Result<Option<RecoveryResult>, Stop> {
        let undelivered_decision = history.undelivered_decision_for(self);
        let question = record.question.clone();
        match self.ended(&call, &planned, &question, &record).await {
            Ok(None) => Ok(None),
            Ok(Some(Ending::Permitted(permitted))) => {
                self.plan = Some(permitted.planned.plan.clone());
                let phase = haft_model::CallPhase::Permission;
                self.recorder.phase(phase, haft_model::PhaseOutcome::Ok);
                Ok(Some(self.told_and_run(undelivered_decision, &call, *permitted).await))
            }
            Ok(Some(Ending::AskAgain(planned))) => {
                let heard =
                    crate::pre_hooks::HookedPlan { planned: *planned, opinions: Vec::new() };
                let options = CallOptions { patience: Patience::Leave, ..CallOptions::default() };
                match self.authorize(&call, heard, &options).await {
                    Ok(permitted) => {
                        Ok(Some(self.execute_permitted(&call, permitted, &options).await))
                    }
                    Err(halt) => Ok(Some(Err(halt))),
                }
            }
            Err(halt) => Ok(Some(Err(halt))),
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
