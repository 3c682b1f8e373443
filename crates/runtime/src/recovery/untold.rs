//! Hooks that are told of decisions: whoever was not told before a process died is told after it.

use haft_model::{Call, Decided, Event, Fact, HookPoint, Status};

use super::RecoveryResult;
use super::past::Past;
use crate::CallOptions;
use crate::approval::PermittedCall;
use crate::pipeline::{CallPipeline, Halt};
use crate::plan::BoundPlan;

impl Past {
    /// The decision that let it run, where nobody is on record as told of it.
    pub(super) fn untold(&self) -> Option<&Decided> {
        let decided = self.allowed()?;
        let mut since = self.facts.iter().rev().take_while(|fact| !allows(fact));
        let told = since.any(|fact| match &fact.event {
            Event::PreHookCompleted(run) => run.point == HookPoint::PermissionDecision,
            _ => false,
        });
        (!told).then_some(decided)
    }

    /// The same where the answers of people do not make a decision anew, of which all are told.
    pub(super) fn untold_by(&self, walk: &CallPipeline<'_>) -> Option<&Decided> {
        self.untold().filter(|_| !walk.journal.may_note(Status::Approved))
    }
}

/// Whether a fact is a decision that lets a call run.
fn allows(fact: &Fact) -> bool {
    matches!(&fact.event, Event::PermissionDecided(decided) if decided.call_input.is_some())
}

impl CallPipeline<'_> {
    /// Carries a call out, once everybody was told of the decision that lets it run.
    pub(super) async fn told_and_run(
        &mut self,
        untold: Option<&Decided>,
        call: &Call,
        cleared: PermittedCall,
    ) -> RecoveryResult {
        self.tell_of(untold, &cleared.understood).await?;
        self.carry_out(call, cleared, &CallOptions::default()).await
    }

    /// Tells of a decision whoever wants to know, before anything runs. One who says no is heard.
    async fn tell_of(
        &mut self,
        decided: Option<&Decided>,
        understood: &BoundPlan,
    ) -> Result<(), Halt> {
        let Some(decided) = decided else { return Ok(()) };
        let point = HookPoint::PermissionDecision;
        match self.hear_about(point, understood, &decided.decision).await.no {
            Some(no) => Err(no.into()),
            None => Ok(()),
        }
    }
}
