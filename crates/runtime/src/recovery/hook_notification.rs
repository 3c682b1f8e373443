//! Hook notification in recovery: hooks that were not notified of a decision before the crash are
//! notified before the call runs.

use haft_model::{Call, Decided, Event, Fact, HookPoint, Status};

use super::RecoveryResult;
use super::history::CallHistory;
use crate::CallOptions;
use crate::approval::PermittedCall;
use crate::pipeline::{CallPipeline, Halt};
use crate::plan::BoundPlan;

impl CallHistory {
    /// The allowing decision, if no hook is on record as notified of it.
    pub(super) fn undelivered_decision(&self) -> Option<&Decided> {
        let decided = self.allowed()?;
        let mut since = self.facts.iter().rev().take_while(|fact| !allows(fact));
        let told = since.any(|fact| match &fact.event {
            Event::PreHookCompleted(run) => run.point == HookPoint::PermissionDecision,
            _ => false,
        });
        (!told).then_some(decided)
    }

    /// The same, unless the approvers' answers lead to a new decision, which notifies the hooks
    /// itself.
    pub(super) fn undelivered_decision_for(&self, pipeline: &CallPipeline<'_>) -> Option<&Decided> {
        self.undelivered_decision().filter(|_| !pipeline.recorder.may_note(Status::Approved))
    }
}

/// Returns true for a decision that allows the call.
fn allows(fact: &Fact) -> bool {
    matches!(&fact.event, Event::PermissionDecided(decided) if decided.call_input.is_some())
}

impl CallPipeline<'_> {
    /// Notifies the hooks of the allowing decision, then runs the call.
    pub(super) async fn told_and_run(
        &mut self,
        undelivered_decision: Option<&Decided>,
        call: &Call,
        permitted: PermittedCall,
    ) -> RecoveryResult {
        self.tell_of(undelivered_decision, &permitted.planned).await?;
        self.execute_permitted(call, permitted, &CallOptions::default()).await
    }

    /// Notifies the hooks of a decision; a hook that denies stops the call.
    async fn tell_of(
        &mut self,
        decided: Option<&Decided>,
        planned: &BoundPlan,
    ) -> Result<(), Halt> {
        let Some(decided) = decided else { return Ok(()) };
        let point = HookPoint::PermissionDecision;
        match self.notify_hooks(point, planned, &decided.decision).await.no {
            Some(no) => Err(no.into()),
            None => Ok(()),
        }
    }
}
