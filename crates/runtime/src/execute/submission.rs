//! Submission records of an attempt: written before each request that may act, with the deadline
//! until which the backend may still execute it.
//!
//! INVARIANT: the deadline on record is never earlier than the moment at which the last request of
//! the attempt can take effect. `absent` counts from there on.

use std::time::Duration;

use haft_model::{DualTime, EffectState, Event, Stop, Submitted, after};

use super::running::Running;
use crate::Runtime;
use crate::context::CallContext;
use crate::permit::PermittedCall;
use crate::plan::BoundPlan;

impl CallContext<'_> {
    /// Records the submission, and gives the driver a clearance to send.
    pub(super) async fn submit(&mut self, running: &mut Running<'_>) -> Result<(), Stop> {
        let at = self.submitted(running.permitted);
        #[cfg(feature = "sabotage")]
        if haft_ledger::sabotage::Mechanism::SubmittedFirst.is_off() {
            running.effect.state = EffectState::Submitted;
            running.effect.clearance = Some(self.recorder.clearance(&self.runtime.options, &at));
            return Ok(());
        }
        if let Err(stop) = self.recorder.save().await {
            self.recorder.retract(|event| matches!(event, Event::Submitted(_)));
            return Err(stop);
        }
        running.effect.state = EffectState::Submitted;
        running.effect.clearance = Some(self.recorder.clearance(&self.runtime.options, &at));
        Ok(())
    }

    /// Records another request of a submitted attempt. It renews the lease first: a process that
    /// lost its lease records nothing, and its driver sends nothing more.
    pub(super) async fn submit_again(&mut self, running: &mut Running<'_>) -> Result<(), Stop> {
        self.recorder.prolong(&self.runtime.options).await?;
        self.submit(running).await
    }

    /// Notes the submission with its deadline. Returns the moment of the submission.
    pub(super) fn submitted(&mut self, permitted: &PermittedCall) -> DualTime {
        let now = self.runtime.clock.time();
        let until = now.later(self.runtime.possible_for(permitted.planned()));
        self.note_submission(until);
        now
    }

    /// Moves the deadline of a submitted attempt by the time for which a form pauses the call.
    pub(super) fn extend_submission(&mut self, by: Duration) {
        if let Some(until) = &self.attempts.possible_until {
            self.note_submission(until.later(by));
        }
    }

    fn note_submission(&mut self, until: DualTime) {
        let until = match self.attempts.possible_until.take() {
            Some(before) => before.max(until),
            None => until,
        };
        let attempt = self.attempts.number;
        self.recorder.note(Event::Submitted(Submitted { attempt, until: Some(until.clone()) }));
        self.attempts.possible_until = Some(until);
    }
}

impl Runtime {
    /// How long after its submission a call may take effect: the timeout of an attempt, and a
    /// margin that is the larger of `options.final_after` and the contract's `final_after`.
    pub(crate) fn possible_for(&self, planned: &BoundPlan) -> Duration {
        let now = self.clock.now();
        let stated = planned.status.as_ref().and_then(|status| status.final_after);
        let stated = stated.and_then(|span| after(now, span));
        let stated = stated.map(|end| DualTime::from(end).remaining(&DualTime::from(now)));
        let margin = self.options.final_after.max(stated.unwrap_or_default());
        Duration::from_millis(planned.plan.limits.timeout_ms).saturating_add(margin)
    }
}
