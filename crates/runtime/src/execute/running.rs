//! Timeout and cancellation of one attempt: tells the driver to stop at its deadline and drops it
//! after the grace period, keeping what is known of the effect.

use std::sync::Arc;
use std::time::Duration;

use haft_driver::{
    Allowance, BoxFuture, Caller, Cancel, Clearance, DriverMessage, Failure, Listener, Output,
};
use haft_model::{AbortReason, CancelFact, Code, DriverId, EffectState, InterruptBehavior, Stop};
use tokio::time::Instant;

use super::form::OpenForms;
use crate::catch_panic::CatchPanic;
use crate::permit::PermittedCall;
use crate::runtime::called_off;
use crate::wait::QUIET;
use crate::{CallOptions, Reply, SharedTimer};

/// State of one running attempt.
pub(super) struct Running<'m> {
    pub(super) permitted: &'m PermittedCall,
    pub(super) options: &'m CallOptions<'m>,
    pub(super) driver: DriverId,
    pub(super) timer: AttemptTimer,
    pub(super) cancellation: AttemptCancellation,
    pub(super) effect: AttemptEffect,
    /// Graceful shutdown of the runtime.
    pub(super) closing: &'m Cancel,
    /// The caller's channel for elicitation and progress, if it has one.
    pub(super) caller: Option<Arc<dyn Caller>>,
    /// Whether people fill in forms through the inbox.
    pub(super) people: bool,
    /// Elicitation forms of the backend.
    pub(super) asked: OpenForms<'m>,
}

/// Times of an attempt.
pub(super) struct AttemptTimer {
    pub(super) began: Instant,
    pub(super) deadline: Instant,
    /// Time until the deadline; it is paused while a form is open.
    pub(super) left: Allowance,
    /// When the grace period of a cancelled driver ends.
    give_up: Instant,
    /// When the call is shown in the ledger next and its lease renewed.
    heartbeat: Instant,
    pulse: SharedTimer,
}

/// Who may cancel an attempt, and whether one of them did.
pub(super) struct AttemptCancellation {
    /// Tells the driver to stop.
    pub(super) signal: Cancel,
    /// Cancellation by anything but the caller: a recorded request, a sibling's failure, a discard
    /// or shutdown.
    by_runtime: Cancel,
    /// Cancellation by the caller.
    by_caller: Cancel,
    /// Whether cancellation was requested.
    pub(super) requested: bool,
    /// Whether the contract lets a running call be cancelled.
    pub(super) supported: bool,
    /// Why the driver was told to stop.
    pub(super) reason: Option<AbortReason>,
}

/// What is recorded of an attempt's effect.
pub(super) struct AttemptEffect {
    pub(super) mutates: bool,
    pub(super) state: EffectState,
    /// Clearance to send what is recorded as submitted; it expires shortly before the lease, or
    /// `final_after` past the submission if that is earlier.
    pub(super) clearance: Option<Clearance>,
}

/// Next event of a running attempt.
pub(super) enum AttemptEvent {
    Done(Result<Result<Output, Failure>, String>),
    Said(DriverMessage),
    Prompted(Option<Reply>),
    Wished,
    /// Shutdown while a form is open, which cannot be awaited any more.
    Closing,
    Quiet,
    OutOfTime,
}

impl<'m> Running<'m> {
    pub(super) fn new(
        permitted: &'m PermittedCall,
        options: &'m CallOptions<'m>,
        by_runtime: Cancel,
        closing: &'m Cancel,
        deadline: Instant,
        pulse: SharedTimer,
    ) -> Running<'m> {
        let began = Instant::now();
        let extras = &permitted.planned().entry.contract.tool.extras;
        let cancelable = match extras.supports_cancel {
            Some(stated) => stated && extras.interrupt != Some(InterruptBehavior::Block),
            None => extras.interrupt == Some(InterruptBehavior::Cancel),
        };
        Running {
            driver: permitted.planned().plan.route.driver.clone(),
            permitted,
            options,
            timer: AttemptTimer {
                began,
                deadline,
                left: Allowance::until(deadline.into_std()),
                give_up: deadline,
                heartbeat: began + QUIET,
                pulse,
            },
            cancellation: AttemptCancellation {
                signal: Cancel::new(),
                by_runtime,
                by_caller: options.cancel.clone(),
                requested: false,
                supported: cancelable,
                reason: None,
            },
            effect: AttemptEffect { mutates: false, state: EffectState::None, clearance: None },
            closing,
            caller: options.caller.clone(),
            people: false,
            asked: OpenForms::default(),
        }
    }

    pub(super) async fn next(
        &mut self,
        said: &mut Listener,
        work: &mut CatchPanic<BoxFuture<'_, Result<Output, Failure>>>,
    ) -> AttemptEvent {
        let AttemptTimer { left, give_up, heartbeat, pulse, .. } = &mut self.timer;
        let AttemptCancellation { by_runtime, by_caller, requested, reason, .. } =
            &self.cancellation;
        tokio::select! {
            biased;
            outcome = work => AttemptEvent::Done(outcome),
            // Polled after the work, so that its messages are handled in the same poll.
            said = said.next() => AttemptEvent::Said(said),
            () = by_caller.cancelled(), if !requested => AttemptEvent::Wished,
            () = by_runtime.cancelled(), if !requested => AttemptEvent::Wished,
            () = self.closing.cancelled(), if self.asked.waits() => AttemptEvent::Closing,
            reply = self.asked.prompted() => AttemptEvent::Prompted(reply),
            () = left.over(), if reason.is_none() => AttemptEvent::OutOfTime,
            () = tokio::time::sleep_until(*give_up), if reason.is_some() => AttemptEvent::OutOfTime,
            () = pulse.past(*heartbeat) => {
                *heartbeat = Instant::now() + QUIET;
                AttemptEvent::Quiet
            }
        }
    }

    /// Cancels the driver, with a grace period.
    pub(super) fn stop(&mut self, reason: AbortReason, grace: Duration) {
        self.cancellation.reason = Some(reason);
        self.timer.give_up = Instant::now() + grace;
        self.cancellation.signal.cancel();
    }

    /// The failure of a driver that outlived its grace period.
    pub(super) fn given_up(&self) -> Failure {
        let effect = self.last_known();
        let stop = match self.cancellation.reason {
            Some(AbortReason::Timeout) | None => late(effect, effect),
            Some(_) => called_off("and stopped by force, since it did not stop by itself"),
        };
        Failure::new(stop, effect)
    }

    /// The failure of a driver that panicked.
    pub(super) fn broke(&self, fault: &str) -> Failure {
        let stop = Stop::new(Code::ExecutionFailed, format!("the driver broke: {fault}"))
            .help("report it to the author of the driver");
        Failure::new(stop, self.last_known())
    }

    /// The effect state of a driver that no longer reports: submitted becomes unknown.
    fn last_known(&self) -> EffectState {
        match self.effect.state {
            EffectState::Submitted => EffectState::Unknown,
            other => other,
        }
    }

    /// The outcome of the attempt; its effect is never less than what is recorded or what the
    /// driver reports.
    pub(super) fn settled(&self, outcome: Result<Output, Failure>) -> Result<Output, Failure> {
        match outcome {
            Ok(output) => Ok(Output { effect: self.effect_of(output.effect), ..output }),
            Err(failure) => {
                let effect = self.effect_after(failure.effect);
                let timed_out = self.cancellation.reason == Some(AbortReason::Timeout);
                let stop = match failure.stop.code {
                    // The driver stopped on cancellation, which was caused by the timeout.
                    Code::CanceledCaller if timed_out => late(effect, failure.effect),
                    _ => failure.stop,
                };
                Err(Failure { effect, stop, ..failure })
            }
        }
    }

    fn effect_of(&self, said: EffectState) -> EffectState {
        match (self.effect.state, said) {
            _ if !self.effect.mutates => EffectState::None,
            (EffectState::NotSubmitted, EffectState::None | EffectState::NotSubmitted) => {
                EffectState::NotSubmitted
            }
            (_, EffectState::None | EffectState::Submitted) => EffectState::Committed,
            (_, EffectState::NotSubmitted) => EffectState::NotCommitted,
            (_, other) => other,
        }
    }

    fn effect_after(&self, said: EffectState) -> EffectState {
        match (self.effect.state, said) {
            _ if !self.effect.mutates => EffectState::None,
            (EffectState::NotSubmitted, said) if !said.may_have_happened() => {
                EffectState::NotSubmitted
            }
            (_, EffectState::NotSubmitted | EffectState::NotCommitted) => EffectState::NotCommitted,
            (_, EffectState::Committed | EffectState::PartiallyCommitted) => said,
            (_, _) => EffectState::Unknown,
        }
    }

    /// Outcome of a cancellation; `None` where a timeout caused it.
    pub(super) fn cancel_outcome(&self, outcome: &Result<Output, Failure>) -> Option<CancelFact> {
        if self.cancellation.reason == Some(AbortReason::Timeout) {
            return None;
        }
        match outcome {
            Ok(_) => Some(CancelFact::Failed),
            Err(failure) if failure.stop.code == Code::CanceledCaller => Some(CancelFact::Canceled),
            Err(_) => Some(CancelFact::Failed),
        }
    }
}

/// The timeout of an attempt. A read has no effect state, so only its driver can report that
/// nothing was sent.
fn late(effect: EffectState, said: EffectState) -> Stop {
    match effect {
        EffectState::None if said != EffectState::NotSubmitted => Stop::new(
            Code::TimeoutUnknownCommit,
            "time ran out before the answer was there; it only reads, so nothing has changed",
        ),
        EffectState::None | EffectState::NotSubmitted => {
            Stop::new(Code::TimeoutBeforeSubmit, "time ran out before anything was sent")
        }
        // Recorded as submitted; only the driver can report that nothing was sent.
        EffectState::NotCommitted if said == EffectState::NotSubmitted => {
            Stop::new(Code::TimeoutBeforeSubmit, "time ran out before anything was sent")
        }
        EffectState::NotCommitted => Stop::new(
            Code::TimeoutUnknownCommit,
            "time ran out after it was sent, and it did not take effect",
        ),
        _ => Stop::new(
            Code::TimeoutUnknownCommit,
            "time ran out after it was sent; its effect is unknown",
        ),
    }
}
