//! Permit of a call: a decision becomes a permit here and nowhere else, for a first run, for another
//! driver and for a recovered call alike.
//!
//! INVARIANT: a permit covers exactly the plan and the input that were authorized.

use haft_model::{Code, Decision, Opinion, PayloadRef, Stop};
use haft_policy::Permit;

use crate::context::CallContext;
use crate::plan::PlannedCall;
use crate::quota;
use crate::runtime::later;

/// A call with its permit, and exactly the plan that the permit covers.
pub struct PermittedCall {
    planned: PlannedCall,
    permit: Permit,
    call_input: PayloadRef,
    opinions: Option<Vec<Opinion>>,
    let_through: Vec<String>,
}

impl PermittedCall {
    pub(crate) fn planned(&self) -> &PlannedCall {
        &self.planned
    }

    pub(crate) fn permit(&self) -> &Permit {
        &self.permit
    }

    /// The frozen input.
    pub(crate) fn call_input(&self) -> &PayloadRef {
        &self.call_input
    }

    /// Hook opinions behind an allow by policy; `None` where approvers allowed the call.
    pub(crate) fn opinions(&self) -> Option<&[Opinion]> {
        self.opinions.as_deref()
    }

    /// Policies with a budget that allowed the call without an approver; the call counts against
    /// them.
    pub(crate) fn let_through(&self) -> &[String] {
        &self.let_through
    }

    /// Gives the permit up, so that the plan is authorized again.
    pub(crate) fn into_planned(self) -> PlannedCall {
        self.planned
    }
}

impl CallContext<'_> {
    /// The permit of a plan that policy allows; `opinions` are those of the hooks behind it.
    pub(crate) fn permit(
        &mut self,
        planned: PlannedCall,
        decision: &Decision,
        opinions: Vec<Opinion>,
    ) -> Result<PermittedCall, Stop> {
        let until = later(self.recorder.now(), self.runtime.options.permit);
        let permit = Permit::of_decision(decision, &planned.plan, self.recorder.id(), until);
        let permit = permit.ok_or_else(|| Stop::new(Code::Internal, "an allow gave no permit"))?;
        let let_through = quota::let_through(&self.world, decision);
        Ok(PermittedCall { let_through, ..self.freeze(planned, permit, Some(opinions)) })
    }

    /// The call whose permit approvers gave.
    pub(crate) fn permit_by_people(
        &mut self,
        planned: PlannedCall,
        permit: Permit,
    ) -> PermittedCall {
        self.freeze(planned, permit, None)
    }

    fn freeze(
        &mut self,
        planned: PlannedCall,
        permit: Permit,
        opinions: Option<Vec<Opinion>>,
    ) -> PermittedCall {
        let call_input = self.keep_input(&planned.plan.input);
        PermittedCall { planned, permit, call_input, opinions, let_through: Vec::new() }
    }
}
