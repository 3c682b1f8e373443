//! Timeout and cancellation of one attempt: tells the driver to stop at its deadline and drops it
//! after the grace period, keeping what is known of the effect.

use std::sync::Arc;
use std::time::Duration;

use haft_driver::{
    Allowance, BoxFuture, Caller, Cancel, Clearance, DriverMessage, Failure, Listener, Output,
};
use haft_model::{AbortReason, CancelFact, Code, DriverId, EffectState, Stop};
use tokio::time::Instant;

use super::form::OpenForms;
use crate::approval::PermittedCall;
use crate::catch_panic::CatchPanic;
use crate::runtime::called_off;
use crate::wait::QUIET;
use crate::{CallOptions, Reply, SharedTimer};

/// One attempt under way.
pub(super) struct Running<'m> {
    pub(super) cleared: &'m PermittedCall,
    pub(super) manner: &'m CallOptions<'m>,
    pub(super) driver: DriverId,
    pub(super) began: Instant,
    pub(super) deadline: Instant,
    /// Until the deadline, and longer where people are asked meanwhile.
    pub(super) time: Allowance,
    /// When a driver that was told to stop is stopped.
    give_up: Instant,
    /// Fires when the driver is to stop.
    pub(super) cancel: Cancel,
    /// Fires when somebody wishes it.
    wish: Cancel,
    /// The caller's own wish.
    caller_wish: Cancel,
    /// Fires when Haft is about to stop.
    pub(super) closing: &'m Cancel,
    /// Whoever called, where they can be turned to.
    pub(super) caller: Option<Arc<dyn Caller>>,
    /// Whether people fill in forms in the caller's place.
    pub(super) people: bool,
    /// What people are asked on behalf of the backend.
    pub(super) asked: OpenForms<'m>,
    pub(super) wished: bool,
    pub(super) cancelable: bool,
    pub(super) mutates: bool,
    pub(super) stopping: Option<AbortReason>,
    pub(super) effect: EffectState,
    /// Leave to send what is on record as submitted.
    pub(super) clearance: Option<Clearance>,
    look_at: Instant,
    pulse: SharedTimer,
}

/// What a running attempt brings next.
pub(super) enum AttemptEvent {
    Done(Result<Result<Output, Failure>, String>),
    Said(DriverMessage),
    Prompted(Option<Reply>),
    Wished,
    /// Haft is about to stop, and a person is asked who cannot be waited for.
    Closing,
    Quiet,
    OutOfTime,
}

impl<'m> Running<'m> {
    pub(super) fn new(
        cleared: &'m PermittedCall,
        manner: &'m CallOptions<'m>,
        wish: Cancel,
        closing: &'m Cancel,
        deadline: Instant,
        pulse: SharedTimer,
    ) -> Running<'m> {
        let began = Instant::now();
        let extras = &cleared.understood.entry.contract.tool.extras;
        let cancelable = match extras.supports_cancel {
            Some(stated) => stated && extras.interrupt.as_deref() != Some("block"),
            None => extras.interrupt.as_deref() == Some("cancel"),
        };
        Running {
            driver: cleared.understood.plan.route.driver.clone(),
            cleared,
            manner,
            began,
            deadline,
            time: Allowance::until(deadline.into_std()),
            give_up: deadline,
            cancel: Cancel::new(),
            wish,
            caller_wish: manner.cancel.clone(),
            closing,
            caller: manner.caller.clone(),
            people: false,
            asked: OpenForms::default(),
            wished: false,
            cancelable,
            mutates: false,
            stopping: None,
            effect: EffectState::None,
            clearance: None,
            look_at: began + QUIET,
            pulse,
        }
    }

    pub(super) async fn next(
        &mut self,
        said: &mut Listener,
        work: &mut CatchPanic<BoxFuture<'_, Result<Output, Failure>>>,
    ) -> AttemptEvent {
        tokio::select! {
            biased;
            outcome = work => AttemptEvent::Done(outcome),
            // Behind the work, so that what it says is heard in the same breath.
            said = said.next() => AttemptEvent::Said(said),
            () = self.caller_wish.cancelled(), if !self.wished => AttemptEvent::Wished,
            () = self.wish.cancelled(), if !self.wished => AttemptEvent::Wished,
            () = self.closing.cancelled(), if self.asked.waits() => AttemptEvent::Closing,
            reply = self.asked.prompted() => AttemptEvent::Prompted(reply),
            () = self.time.over(), if self.stopping.is_none() => AttemptEvent::OutOfTime,
            () = tokio::time::sleep_until(self.give_up), if self.stopping.is_some() => {
                AttemptEvent::OutOfTime
            }
            () = self.pulse.past(self.look_at) => {
                self.look_at = Instant::now() + QUIET;
                AttemptEvent::Quiet
            }
        }
    }

    /// Tells the driver to stop, and gives it a while.
    pub(super) fn stop(&mut self, reason: AbortReason, grace: Duration) {
        self.stopping = Some(reason);
        self.give_up = Instant::now() + grace;
        self.cancel.cancel();
    }

    /// The failure of a driver that did not stop when it had to.
    pub(super) fn given_up(&self) -> Failure {
        let effect = self.last_known();
        let stop = match self.stopping {
            Some(AbortReason::Timeout) | None => late(effect, effect),
            Some(_) => called_off("and stopped by force, since it did not stop by itself"),
        };
        Failure::new(stop, effect)
    }

    /// The failure of a driver that panicked.
    pub(super) fn broke(&self, fault: &str) -> Failure {
        let stop = Stop::new(Code::ExecutionFailed, format!("the driver broke: {fault}"))
            .help("whoever wrote the driver has to mend it");
        Failure::new(stop, self.last_known())
    }

    /// What is known of the effect of a driver that says nothing more.
    fn last_known(&self) -> EffectState {
        match self.effect {
            EffectState::Submitted => EffectState::Unknown,
            other => other,
        }
    }

    /// What came of the attempt: never less of an effect than is on record, nor than the driver says.
    pub(super) fn settled(&self, outcome: Result<Output, Failure>) -> Result<Output, Failure> {
        match outcome {
            Ok(output) => Ok(Output { effect: self.effect_of(output.effect), ..output }),
            Err(failure) => {
                let effect = self.effect_after(failure.effect);
                let timed_out = self.stopping == Some(AbortReason::Timeout);
                let stop = match failure.stop.code {
                    // It stopped because it was told to, and it was told to because time ran out.
                    Code::CanceledCaller if timed_out => late(effect, failure.effect),
                    _ => failure.stop,
                };
                Err(Failure { effect, stop, ..failure })
            }
        }
    }

    fn effect_of(&self, said: EffectState) -> EffectState {
        match (self.effect, said) {
            _ if !self.mutates => EffectState::None,
            (EffectState::NotSubmitted, EffectState::None | EffectState::NotSubmitted) => {
                EffectState::NotSubmitted
            }
            (_, EffectState::None | EffectState::Submitted) => EffectState::Committed,
            (_, EffectState::NotSubmitted) => EffectState::NotCommitted,
            (_, other) => other,
        }
    }

    fn effect_after(&self, said: EffectState) -> EffectState {
        match (self.effect, said) {
            _ if !self.mutates => EffectState::None,
            (EffectState::NotSubmitted, said) if !said.may_have_happened() => {
                EffectState::NotSubmitted
            }
            (_, EffectState::NotSubmitted | EffectState::NotCommitted) => EffectState::NotCommitted,
            (_, EffectState::Committed | EffectState::PartiallyCommitted) => said,
            (_, _) => EffectState::Unknown,
        }
    }

    /// What became of a wish to stop.
    pub(super) fn cancel_outcome(&self, outcome: &Result<Output, Failure>) -> Option<CancelFact> {
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

/// The failure of an attempt whose time ran out. A read has no effect to know of, so that only its driver
/// can say that nothing was sent.
fn late(effect: EffectState, said: EffectState) -> Stop {
    match effect {
        EffectState::None if said != EffectState::NotSubmitted => Stop::new(
            Code::TimeoutUnknownCommit,
            "time ran out before the answer was there; it only reads, so nothing has changed",
        ),
        EffectState::None | EffectState::NotSubmitted => {
            Stop::new(Code::TimeoutBeforeSubmit, "time ran out before anything was sent")
        }
        // On record as submitted; only its driver can say that nothing was sent.
        EffectState::NotCommitted if said == EffectState::NotSubmitted => {
            Stop::new(Code::TimeoutBeforeSubmit, "time ran out before anything was sent")
        }
        EffectState::NotCommitted => Stop::new(
            Code::TimeoutUnknownCommit,
            "time ran out after it was sent, and it did not take effect",
        ),
        _ => Stop::new(
            Code::TimeoutUnknownCommit,
            "time ran out after the effect had begun; nobody knows what became of it",
        ),
    }
}
