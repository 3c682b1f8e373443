//! Execution (phases 8 and 9): waits for a slot in the queue and runs the driver.
//!
//! INVARIANT: no driver runs without a permit for the plan, and no write is sent before its
//! submission is durable in the ledger.

mod attempts;
mod fallback;
mod form;
mod inquiry;
mod reporting;
mod running;
mod schedule;
mod submission;

pub(crate) use attempts::{Became, still_possible};

use haft_catalog::Circuit;
use haft_driver::{Allowance, Attempt, Clearance, DriverMessage, Failure, Link, Output};
use haft_model::{
    AbortReason, AttemptEnded, CallPhase, CancelFact, CancelNote, EffectState, Event, PhaseOutcome,
    Progress, Secret, SecretUse, Started, Stop,
};

use tokio::time::Instant;

use crate::CallOptions;
use crate::authorize;
use crate::background;
use crate::catch_panic::{CatchPanic, caught};
use crate::context::CallContext;
use crate::permit::PermittedCall;
use crate::pipeline::{Halt, Reached, StoppedCall};
use crate::quota::QuotaReservation;
use crate::validate;
use running::{AttemptEvent, Running};

/// A call that its driver carried out.
pub struct ExecutedCall {
    pub(crate) reached: Reached,
    pub(crate) output: Output,
}

impl ExecutedCall {
    /// A submitted call of a dead process that its backend reports as committed.
    pub(crate) fn of_record(reached: Reached, output: Output) -> ExecutedCall {
        ExecutedCall { reached, output }
    }
}

impl PermittedCall {
    /// Waits for the call's turn and runs it by one driver after another.
    pub async fn execute(
        self,
        context: &mut CallContext<'_>,
        options: &CallOptions<'_>,
    ) -> Result<ExecutedCall, StoppedCall> {
        let reached = self.planned().reached();
        if background::takes_long(&self.planned().entry) {
            let nothing = context.unsent(&reached, EffectState::None);
            Box::pin(context.let_go(&reached, options, nothing)).await;
        }
        let scheduled = context.await_turn(self, options).await;
        let (permitted, _turn) = scheduled.map_err(|halt| reached.stopped(halt))?;
        let workload = validate::Workload::of_value(&permitted.planned().plan.input);
        if let Err(stop) = workload.run(|| context.verify_input_unchanged(&permitted)) {
            context.recorder.phase(CallPhase::Execute, PhaseOutcome::Failed);
            return Err(permitted.planned().reached().stopped(stop));
        }
        let (permitted, outcome) = context.try_drivers(permitted, options).await;
        let outcome = context.recorder.phase_of(CallPhase::Execute, outcome);
        let reached = permitted.planned().reached();
        match outcome {
            Ok(output) => Ok(ExecutedCall { reached, output }),
            Err(failure) => Err(reached.stopped(Halt::Stopped(Box::new(failure)))),
        }
    }
}

impl CallContext<'_> {
    /// Runs one attempt; its start and end are recorded.
    async fn execute(
        &mut self,
        permitted: &PermittedCall,
        options: &CallOptions<'_>,
        until: Instant,
    ) -> Result<Output, Failure> {
        let plan = &permitted.planned().plan;
        let mutates = plan.effects.may_mutate();
        let driver = &permitted.planned().driver;
        let runtime = self.runtime;
        let circuit = || Circuit {
            driver: plan.route.driver.clone(),
            tool: plan.tool.clone(),
            host: caught(|| driver.destination(&plan.tool, &plan.mapped())).ok().flatten(),
        };
        let trial = runtime.breakers.begin(circuit, self.recorder.now())?;
        let reports = mutates && caught(|| driver.reports_submission(plan)).unwrap_or(false);
        let refused = |stop: Stop| {
            let effect = if mutates { EffectState::NotSubmitted } else { EffectState::None };
            Failure::new(stop, effect)
        };
        if mutates {
            self.recorder.claim(&self.runtime.options);
            let _ = self.recorder.prolong(&self.runtime.options).await;
        }
        self.recorder.note(Event::Started(Started {
            attempt: self.attempts.number,
            driver: plan.route.driver.clone(),
            call_input: permitted.call_input().digest.clone(),
            fence: self.recorder.fence().map_or(0, |fence| fence.0),
            charge: self.charge(permitted),
        }));
        let mut submitted = None;
        if mutates {
            if !reports {
                submitted = Some(self.submitted(permitted));
            }
            // INVARIANT: decision, binding and "submitted" are on the disk before the effect.
            if let Err(stop) = self.recorder.save().await {
                // An attempt that did not begin is not recorded as begun, and counts against no
                // quota.
                let begun = |event: &_| matches!(event, Event::Started(_) | Event::Submitted(_));
                self.recorder.retract(begun);
                return Err(refused(stop));
            }
        }
        self.attempts.executed = true;
        self.attempts.reservation.take().into_iter().for_each(QuotaReservation::used);
        let effect = match (mutates, reports) {
            (false, _) => EffectState::None,
            (true, true) => EffectState::NotSubmitted,
            (true, false) => EffectState::Submitted,
        };
        let wish = self.in_flight.wish.clone();
        let (closing, pulse) = (&self.runtime.shutdown, self.runtime.timer.clone());
        let mut running = Running::new(permitted, options, wish, closing, until, pulse);
        (running.effect.mutates, running.effect.state) = (mutates, effect);
        running.effect.clearance =
            submitted.map(|at| self.recorder.clearance(&self.runtime.options, &at));
        running.people = self.people_fill_in(&running);
        if running.people || running.is_asked() {
            running.timer.left = Allowance::holdable(until.into_std());
        }
        let outcome = self.drive(&mut running, permitted).await;
        self.withdraw_forms(&mut running, "the attempt ended before it was answered");
        let outcome = outcome.map_err(|failure| running.why_unanswered(failure));
        let outcome = self.attempt_ended(outcome, &running);
        let turn = trial.ended(&outcome, circuit, self.recorder.now());
        if turn.is_some() {
            self.runtime.ring();
        }
        if let Some(lookout) = &self.world.lookout {
            turn.into_iter().for_each(|(circuit, rest)| lookout.rests(&circuit, rest));
            if let Err(failure) = &outcome {
                lookout.told(failure, plan);
            }
        }
        outcome
    }

    async fn drive(
        &mut self,
        running: &mut Running<'_>,
        permitted: &PermittedCall,
    ) -> Result<Output, Failure> {
        let (link, mut said) = Link::new();
        let plan = &permitted.planned().plan;
        let attempt = Attempt::new(
            permitted.permit(),
            plan,
            self.attempts.number,
            running.timer.deadline.into_std(),
            running.cancellation.signal.clone(),
            link,
        );
        let attempt = attempt.map_err(|stop| Failure::new(stop, EffectState::NotSubmitted))?;
        let attempt = attempt
            .known_by(running.effect.mutates.then(|| self.key(permitted.planned().origin())));
        let attempt = attempt.traced(self.request.trace.clone());
        let attempt = attempt.with(self.world.vault.clone()).asking(running.abilities());
        let attempt = attempt.timed(running.timer.left.clone());
        let attempt = attempt.guarded(authorize::guard(
            &self.world,
            permitted.planned(),
            self.recorder.now(),
        ));
        let driver = &permitted.planned().driver;
        // INVARIANT: nothing stands between this check and the driver. A process that was suspended
        // after it recorded the submission, and may have lost its lease, sends nothing.
        if let Some(Err(failure)) = running.effect.clearance.as_ref().map(Clearance::check) {
            running.effect.state = EffectState::NotSubmitted;
            return Err(failure);
        }
        let work = caught(|| driver.run(attempt)).map_err(|fault| running.broke(&fault))?;
        let mut work = CatchPanic(work);
        loop {
            let news = running.next(&mut said, &mut work).await;
            match news {
                AttemptEvent::Done(outcome) => {
                    // Messages that the driver sent right before it returned count too.
                    while let Some(said) = said.unheard() {
                        self.handle_message(running, said).await;
                    }
                    return outcome.unwrap_or_else(|fault| Err(running.broke(&fault)));
                }
                AttemptEvent::Said(said) => self.handle_message(running, said).await,
                AttemptEvent::Prompted(reply) => Box::pin(self.replied(running, reply)).await,
                AttemptEvent::Wished => self.request_cancel(running, self.whose_wish()),
                // An elicitation form cannot outlive the process, and the call's time stands still
                // while it is open.
                AttemptEvent::Closing => self.withdraw_forms(running, "haft is about to stop"),
                AttemptEvent::Quiet => self.heartbeat(running).await,
                AttemptEvent::OutOfTime if running.cancellation.reason.is_none() => {
                    running.stop(AbortReason::Timeout, self.runtime.options.grace);
                }
                AttemptEvent::OutOfTime => return Err(running.given_up()),
            }
        }
    }

    /// Handles a message of the running driver.
    async fn handle_message(&mut self, running: &mut Running<'_>, said: DriverMessage) {
        match said {
            DriverMessage::Progress(progress) => self.progressed(running, progress, None).await,
            DriverMessage::Partial(content) => self.partial(running, content).await,
            DriverMessage::CancelHeard => {
                let reason = running.cancellation.reason.unwrap_or(AbortReason::UserInterruption);
                let note = CancelNote { fact: CancelFact::Acknowledged, reason };
                self.progressed(running, Progress::default(), Some(note)).await;
            }
            DriverMessage::Submit(reply) => {
                let recorded = match running.effect.state {
                    EffectState::NotSubmitted => self.submit(running).await,
                    EffectState::Submitted => Box::pin(self.submit_again(running)).await,
                    _ => Ok(()),
                };
                let clearance = running.effect.clearance.clone().unwrap_or_default();
                let _ = reply.send(recorded.map(|()| clearance));
            }
            DriverMessage::Wanted { slug, outcome, reply } => {
                let recorded = self.record_secret_use(running, slug, outcome).await;
                let _ = reply.send(recorded);
            }
            DriverMessage::Hide(made) => self.privacy.redactor.hide(&made),
            // Boxed, so that rare messages do not enlarge the future of every call.
            DriverMessage::Ask { asked, reply } => {
                Box::pin(self.ask_caller(running, asked, reply)).await
            }
            DriverMessage::Remark(remark) => self.remark(running, remark),
            DriverMessage::Backgrounded => Box::pin(self.backgrounded(running)).await,
        }
    }

    /// Records the use of a secret before the driver receives it, and redacts it from then on.
    async fn record_secret_use(
        &mut self,
        running: &mut Running<'_>,
        slug: String,
        outcome: Result<Secret, Stop>,
    ) -> Result<(), Stop> {
        let driver = running.driver.clone();
        let code = outcome.as_ref().err().map(|stop| stop.code);
        let used = SecretUse { attempt: self.attempts.number, driver, slug, code };
        match &outcome {
            Ok(secret) => {
                self.privacy.redactor.hide(secret);
                self.recorder.note(Event::SecretOpened(used));
            }
            Err(_) => self.recorder.note(Event::SecretWithheld(used)),
        }
        match running.effect.mutates {
            true => self.recorder.save().await,
            false => Ok(()),
        }
    }

    /// Handles a cancellation request; the contract says whether the call can be cancelled.
    fn request_cancel(&mut self, running: &mut Running<'_>, reason: AbortReason) {
        running.cancellation.requested = true;
        self.withdraw_forms(running, "the call was called off");
        self.note_cancel(running, CancelFact::Requested, reason);
        if !running.cancellation.supported {
            self.note_cancel(running, CancelFact::Unsupported, reason);
        } else if running.cancellation.reason.is_none() {
            running.stop(reason, self.runtime.options.grace);
        }
    }

    /// Periodic work of a slow call: shows it in the ledger, renews its lease, checks its forms,
    /// and looks for a cancellation request.
    async fn heartbeat(&mut self, running: &mut Running<'_>) {
        let _ = self.recorder.show(&self.runtime.options).await;
        let _ = self.recorder.prolong(&self.runtime.options).await;
        if running.people {
            Box::pin(self.look_at_forms(running)).await;
        }
        if !running.cancellation.requested {
            let id = self.recorder.id().clone();
            if let Ok(true) = self.runtime.cancel_requested(&id).await {
                self.request_cancel(running, AbortReason::UserInterruption);
            }
        }
    }

    /// Records the end of an attempt, with its effect state.
    fn attempt_ended(
        &mut self,
        outcome: Result<Output, Failure>,
        running: &Running<'_>,
    ) -> Result<Output, Failure> {
        let outcome = running.settled(outcome);
        let effect = match &outcome {
            Ok(output) => output.effect,
            Err(failure) => failure.effect,
        };
        if running.effect.state == EffectState::NotSubmitted && effect.may_have_happened() {
            // The driver did not report its submission; the ledger records it all the same.
            self.submitted(running.permitted);
        }
        if let (Some(reason), Some(fact)) =
            (running.cancellation.reason, running.cancel_outcome(&outcome))
        {
            self.note_cancel(running, fact, reason);
        }
        let (code, mut native) = match &outcome {
            Ok(output) => (None, output.native.clone()),
            Err(failure) => (Some(failure.stop.code), failure.native.clone()),
        };
        for named in &mut native {
            self.privacy.redactor.everywhere(named);
        }
        native.extend(running.permitted.planned().entry.operation());
        self.recorder.note(Event::AttemptEnded(Box::new(AttemptEnded {
            attempt: self.attempts.number,
            effect,
            code,
            native,
        })));
        outcome
    }
}
