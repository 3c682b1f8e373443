//! Hook notification in recovery: hooks that were not notified of a decision before the crash are
//! notified before the call runs.

use haft_model::{Call, Decided, Event, Fact, HookPoint, Status};

use super::RecoveryResult;
use super::past::Past;
use crate::CallOptions;
use crate::approval::PermittedCall;
use crate::pipeline::{CallPipeline, Halt};
use crate::plan::BoundPlan;

impl Past {
    /// The allowing decision, if no hook is on record as notified of it.
    pub(super) fn untold(&self) -> Option<&Decided> {
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
    pub(super) fn untold_by(&self, walk: &CallPipeline<'_>) -> Option<&Decided> {
        self.untold().filter(|_| !walk.recorder.may_note(Status::Approved))
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
        untold: Option<&Decided>,
        call: &Call,
        cleared: PermittedCall,
    ) -> RecoveryResult {
        self.tell_of(untold, &cleared.understood).await?;
        self.execute_permitted(call, cleared, &CallOptions::default()).await
    }

    /// Notifies the hooks of a decision; a hook that denies stops the call.
    async fn tell_of(
        &mut self,
        decided: Option<&Decided>,
        understood: &BoundPlan,
    ) -> Result<(), Halt> {
        let Some(decided) = decided else { return Ok(()) };
        let point = HookPoint::PermissionDecision;
        match self.notify_hooks(point, understood, &decided.decision).await.no {
            Some(no) => Err(no.into()),
            None => Ok(()),
        }
    }
}
