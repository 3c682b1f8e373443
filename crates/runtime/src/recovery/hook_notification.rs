//! Hook notification in recovery: hooks that were not notified of a decision before the crash are
//! notified before the call runs.

use haft_model::{Decided, Event, Fact, HookPoint, Status};

use super::history::CallHistory;
use crate::CallOptions;
use crate::context::CallContext;
use crate::permit::PermittedCall;
use crate::pipeline::CallOutcome;

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
    pub(super) fn undelivered_decision_for(&self, context: &CallContext<'_>) -> Option<&Decided> {
        self.undelivered_decision().filter(|_| !context.recorder.may_note(Status::Approved))
    }
}

/// Returns true for a decision that allows the call.
fn allows(fact: &Fact) -> bool {
    matches!(&fact.event, Event::PermissionDecided(decided) if decided.call_input.is_some())
}

impl CallContext<'_> {
    /// Notifies the hooks of the allowing decision, then runs the call. A hook that denies stops
    /// it.
    pub(super) async fn tell_and_run(
        &mut self,
        undelivered: Option<&Decided>,
        permitted: PermittedCall,
    ) -> CallOutcome {
        if let Some(decided) = undelivered {
            let point = HookPoint::PermissionDecision;
            let told = self.notify_hooks(point, permitted.planned(), &decided.decision).await;
            if let Some(no) = told.no {
                return Err(permitted.planned().reached().stopped(no));
            }
        }
        permitted.execute(self, &CallOptions::default()).await
    }
}
