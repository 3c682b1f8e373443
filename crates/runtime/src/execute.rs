//! Phases 8 and 9: a turn in the queue, and the one room that acts.

use std::time::{Duration, Instant};

use haft_catalog::Sender;
use haft_driver::{Attempt, Cancel, Failure, Link, Output, Said};
use haft_model::{
    AbortReason, AttemptEnded, CallPhase, CancelFact, CancelNote, Code, Content, Digest,
    EffectState, Event, PhaseOutcome, Progress, Queued, Reported, Started, Status, Stop, Submitted,
};
use tokio::sync::mpsc;

use crate::Manner;
use crate::gate::Cleared;
use crate::queue::{self, Slot};
use crate::runtime::called_off;
use crate::walk::{Halt, Walk};

/// How long a driver may go on before what it did so far is shown to others.
const QUIET: Duration = Duration::from_millis(100);

impl Walk<'_> {
    pub(crate) async fn carry_out(
        &mut self,
        cleared: Cleared,
        manner: &Manner<'_>,
    ) -> Result<Output, Halt> {
        let slot = self.schedule(&cleared, manner).await;
        let _slot = self.journal.phase_of(CallPhase::Schedule, slot)?;
        let ready = self.still_the_same(&cleared);
        if let Err(stop) = ready {
            self.journal.phase(CallPhase::Execute, PhaseOutcome::Failed);
            return Err(stop.into());
        }
        let outcome = self.execute(&cleared, manner).await;
        let ended = match &outcome {
            Ok(_) => PhaseOutcome::Ok,
            Err(_) => PhaseOutcome::Failed,
        };
        self.journal.phase(CallPhase::Execute, ended);
        outcome.map_err(|failure| Halt::Stopped(Box::new(failure)))
    }

    async fn schedule(&mut self, cleared: &Cleared, manner: &Manner<'_>) -> Result<Slot, Stop> {
        let locks = queue::locks(&cleared.understood, cleared.understood.facts)?;
        if self.journal.may_note(Status::Queued) {
            self.journal.note(Event::Queued(Queued {
                locks: locks.iter().cloned().collect(),
                is_concurrency_safe: cleared.understood.facts.is_concurrency_safe,
                max_parallel: self.runtime.queue.max_parallel(),
            }));
        }
        tokio::select! {
            biased;
            slot = self.runtime.queue.enter(&locks) => slot,
            () = manner.cancel.cancelled() => Err(called_off("while it waited for its turn")),
        }
    }

    /// The last look before the world changes: the permit holds, and what runs is what was frozen.
    fn still_the_same(&self, cleared: &Cleared) -> Result<(), Stop> {
        let plan = &cleared.understood.plan;
        if !cleared.permit.covers(plan, self.journal.id(), self.journal.now()) {
            return Err(Stop::new(
                Code::ApprovalExpired,
                "the permission ran out while the call waited for its turn",
            ));
        }
        if Digest::of_bytes(&haft_model::canonical(&plan.input)) != cleared.call_input.digest {
            return Err(Stop::new(Code::InputMutation, "the input changed after it was judged"));
        }
        let again = cleared.understood.entry.parse(plan.input.clone(), Sender::Host)?;
        match again == plan.input {
            true => Ok(()),
            false => Err(Stop::new(Code::InputMutation, "the input changed after it was judged")),
        }
    }

    async fn execute(&mut self, cleared: &Cleared, manner: &Manner<'_>) -> Result<Output, Failure> {
        let plan = &cleared.understood.plan;
        let mutates = plan.effects.may_mutate();
        let reports = mutates && cleared.understood.driver.reports_submission(plan);
        let refused = |stop: Stop| {
            let effect = if mutates { EffectState::NotSubmitted } else { EffectState::None };
            Failure::new(stop, effect)
        };
        if mutates {
            let until = self.runtime.lease_end();
            self.journal.claim(&self.runtime.options.node, until).await.map_err(refused)?;
        }
        self.journal.note(Event::Started(Started {
            attempt: self.attempt,
            driver: plan.route.driver.clone(),
            call_input: cleared.call_input.digest.clone(),
            fence: self.journal.fence().map_or(0, |fence| fence.0),
        }));
        if mutates {
            if !reports {
                self.journal.note(Event::Submitted(Submitted { attempt: self.attempt }));
            }
            // INVARIANT: decision, binding and "submitted" are on the disk before the effect.
            self.journal.save().await.map_err(refused)?;
        }
        self.executed = true;
        let effect = match (mutates, reports) {
            (false, _) => EffectState::None,
            (true, true) => EffectState::NotSubmitted,
            (true, false) => EffectState::Submitted,
        };
        let mut running = Running { effect, ..Running::new(cleared, manner, mutates) };
        let outcome = self.run(&mut running, cleared).await;
        self.runtime.running().remove(self.journal.id());
        self.attempt_ended(outcome, &running)
    }

    async fn run(&mut self, running: &mut Running, cleared: &Cleared) -> Result<Output, Failure> {
        let (link, mut said) = Link::new();
        let plan = &cleared.understood.plan;
        let attempt =
            Attempt::new(&cleared.permit, plan, 1, running.deadline, running.cancel.clone(), link);
        let attempt = attempt.map_err(|stop| Failure::new(stop, EffectState::NotSubmitted))?;
        self.runtime.running().insert(self.journal.id().clone(), running.wish.clone());
        let mut work = cleared.understood.driver.run(attempt);
        loop {
            let news = running.next(&mut said, &mut work).await;
            match news {
                News::Done(outcome) => return outcome,
                News::Said(said) => self.heard_from(running, said).await,
                News::Wished => self.wish(running, AbortReason::UserInterruption),
                News::Quiet => self.look_around(running).await,
                News::OutOfTime if running.stopping.is_none() => {
                    running.stop(AbortReason::Timeout, self.runtime.options.grace);
                }
                News::OutOfTime => return Err(running.given_up()),
            }
        }
    }

    /// What a driver says while it works.
    async fn heard_from(&mut self, running: &mut Running, said: Said) {
        match said {
            Said::Progress(progress) => self.progressed(running, progress, None).await,
            Said::Partial(content) => self.partial(running, content).await,
            Said::CancelHeard => {
                let reason = running.stopping.unwrap_or(AbortReason::UserInterruption);
                let note = CancelNote { fact: CancelFact::Acknowledged, reason };
                self.progressed(running, Progress::default(), Some(note)).await;
            }
            Said::Submit(reply) => {
                let recorded = match running.effect {
                    EffectState::NotSubmitted => {
                        self.journal.note(Event::Submitted(Submitted { attempt: self.attempt }));
                        self.journal.save().await
                    }
                    _ => Ok(()),
                };
                if recorded.is_ok() && running.effect == EffectState::NotSubmitted {
                    running.effect = EffectState::Submitted;
                }
                let _ = reply.send(recorded);
            }
        }
    }

    async fn progressed(
        &mut self,
        running: &Running,
        progress: Progress,
        cancel: Option<CancelNote>,
    ) {
        let progress = Progress {
            percent: progress.percent.map(|percent| percent.clamp(0.0, 100.0)),
            message: progress.message.map(|message| self.redactor.text(&message).0),
            ..progress
        };
        let elapsed_ms = running.began.elapsed().as_millis() as u64;
        let reported = self.journal.report(|sequence| Reported {
            sequence,
            status: "running".into(),
            elapsed_ms,
            progress,
            cancel,
        });
        self.journal.note(Event::Progressed(Box::new(reported)));
        // Progress that nobody can be told of is not worth failing a call for.
        let _ = self.journal.post().await;
    }

    async fn partial(&mut self, running: &Running, mut content: Vec<Content>) {
        self.redactor.content(&mut content);
        let elapsed_ms = running.began.elapsed().as_millis() as u64;
        let text = crate::render::plain(&content);
        let reported = self.journal.report(|sequence| Reported {
            sequence,
            status: "partial_result".into(),
            elapsed_ms,
            progress: Progress { message: Some(text), ..Progress::default() },
            cancel: None,
        });
        self.journal.note(Event::PartialResult(Box::new(reported)));
        let _ = self.journal.post().await;
    }

    /// Somebody wants the call called off: the contract says whether it can be.
    fn wish(&mut self, running: &mut Running, reason: AbortReason) {
        running.wished = true;
        self.note_cancel(running, CancelFact::Requested, reason);
        if running.cancelable {
            running.stop(reason, self.runtime.options.grace);
        } else {
            self.note_cancel(running, CancelFact::Unsupported, reason);
        }
    }

    fn note_cancel(&mut self, running: &Running, fact: CancelFact, reason: AbortReason) {
        let elapsed_ms = running.began.elapsed().as_millis() as u64;
        let reported = self.journal.report(|sequence| Reported {
            sequence,
            status: "running".into(),
            elapsed_ms,
            progress: Progress::default(),
            cancel: Some(CancelNote { fact, reason }),
        });
        self.journal.note(Event::Progressed(Box::new(reported)));
    }

    /// A call that takes its time is shown to others, keeps its lease, and hears whoever wants it to
    /// stop.
    async fn look_around(&mut self, running: &mut Running) {
        let _ = self.journal.post().await;
        let _ = self.journal.prolong(&self.runtime.options).await;
        if !running.wished {
            let id = self.journal.id().clone();
            if let Ok(true) = self.runtime.cancel_requested(&id).await {
                self.wish(running, AbortReason::UserInterruption);
            }
        }
    }

    /// What an attempt leaves behind, with what is known of its effect.
    fn attempt_ended(
        &mut self,
        outcome: Result<Output, Failure>,
        running: &Running,
    ) -> Result<Output, Failure> {
        let outcome = match outcome {
            Ok(output) => {
                let effect =
                    if running.mutates { committed(output.effect) } else { EffectState::None };
                Ok(Output { effect, ..output })
            }
            Err(failure) => {
                let effect = running.effect_after(failure.effect);
                Err(Failure { effect, ..failure })
            }
        };
        if let (Some(reason), Some(fact)) = (running.stopping, running.cancel_outcome(&outcome)) {
            self.note_cancel(running, fact, reason);
        }
        let (effect, code, native) = match &outcome {
            Ok(output) => (output.effect, None, output.native.clone()),
            Err(failure) => (failure.effect, Some(failure.stop.code), failure.native.clone()),
        };
        self.journal.note(Event::AttemptEnded(Box::new(AttemptEnded {
            attempt: self.attempt,
            effect,
            code,
            native,
        })));
        outcome
    }
}

/// An effect that took place, whatever a driver that speaks of reads calls it.
fn committed(said: EffectState) -> EffectState {
    match said {
        EffectState::None | EffectState::Submitted => EffectState::Committed,
        other => other,
    }
}

/// One attempt under way.
struct Running {
    began: Instant,
    deadline: Instant,
    give_up: Instant,
    /// Fires when the driver is to stop.
    cancel: Cancel,
    /// Fires when somebody wishes it.
    wish: Cancel,
    /// The caller's own wish.
    caller: Cancel,
    wished: bool,
    cancelable: bool,
    mutates: bool,
    stopping: Option<AbortReason>,
    effect: EffectState,
    quiet: Duration,
}

/// What a running attempt brings next.
enum News {
    Done(Result<Output, Failure>),
    Said(Said),
    Wished,
    Quiet,
    OutOfTime,
}

impl Running {
    fn new(cleared: &Cleared, manner: &Manner<'_>, mutates: bool) -> Running {
        let began = Instant::now();
        let deadline = began + Duration::from_millis(cleared.understood.plan.limits.timeout_ms);
        let extras = &cleared.understood.entry.contract.tool.extras;
        let cancelable = match extras.supports_cancel {
            Some(stated) => stated && extras.interrupt.as_deref() != Some("block"),
            None => extras.interrupt.as_deref() == Some("cancel"),
        };
        Running {
            began,
            deadline,
            give_up: deadline,
            cancel: Cancel::new(),
            wish: Cancel::new(),
            caller: manner.cancel.clone(),
            wished: false,
            cancelable,
            mutates,
            stopping: None,
            effect: EffectState::None,
            quiet: QUIET,
        }
    }

    async fn next(
        &mut self,
        said: &mut mpsc::Receiver<Said>,
        work: &mut haft_driver::BoxFuture<'_, Result<Output, Failure>>,
    ) -> News {
        tokio::select! {
            biased;
            Some(said) = said.recv() => News::Said(said),
            outcome = work => News::Done(outcome),
            () = self.caller.cancelled(), if !self.wished => News::Wished,
            () = self.wish.cancelled(), if !self.wished => News::Wished,
            () = tokio::time::sleep_until(self.give_up.into()) => News::OutOfTime,
            () = tokio::time::sleep(self.quiet) => News::Quiet,
        }
    }

    /// Tells the driver to stop, and gives it a while.
    fn stop(&mut self, reason: AbortReason, grace: Duration) {
        self.stopping = Some(reason);
        self.give_up = Instant::now() + grace;
        self.cancel.cancel();
    }

    /// The failure of a driver that did not stop when it had to.
    fn given_up(&self) -> Failure {
        let effect = match self.effect {
            EffectState::Submitted => EffectState::Unknown,
            other => other,
        };
        let submitted = effect.may_have_happened();
        let stop = match (self.stopping, submitted) {
            (Some(AbortReason::Timeout) | None, true) => Stop::new(
                Code::TimeoutUnknownCommit,
                "time ran out after the effect had begun; nobody knows what became of it",
            ),
            (Some(AbortReason::Timeout) | None, false) => {
                Stop::new(Code::TimeoutBeforeSubmit, "time ran out before anything was sent")
            }
            (Some(_), _) => called_off("and stopped by force, since it did not stop by itself"),
        };
        Failure::new(stop, effect)
    }

    /// What is known of the effect after a failure: never less than is on record.
    fn effect_after(&self, said: EffectState) -> EffectState {
        if !self.mutates {
            return EffectState::None;
        }
        match (self.effect, said) {
            (EffectState::NotSubmitted, _) => EffectState::NotSubmitted,
            (_, EffectState::NotSubmitted | EffectState::NotCommitted) => EffectState::NotCommitted,
            (_, EffectState::Committed | EffectState::PartiallyCommitted) => said,
            (_, _) => EffectState::Unknown,
        }
    }

    /// What became of a wish to stop.
    fn cancel_outcome(&self, outcome: &Result<Output, Failure>) -> Option<CancelFact> {
        if self.stopping == Some(AbortReason::Timeout) {
            return None;
        }
        match outcome {
            Ok(_) => Some(CancelFact::Failed),
            Err(failure) if failure.stop.code == Code::CanceledCaller => Some(CancelFact::Canceled),
            Err(_) => Some(CancelFact::Failed),
        }
    }
}
