//! Permits: proof that one exact plan may run. This file makes them, and nothing else does.

use haft_model::{Decision, Digest, InvocationId, Plan, QuestionId, Timestamp, Verdict};

/// Proof that one exact plan was allowed.
///
/// It cannot be written down by hand, copied or kept for another call:
///
/// ```compile_fail
/// let permit = haft_policy::Permit { plan: panic!(), invocation: panic!() };
/// ```
///
/// ```compile_fail
/// fn twice(permit: haft_policy::Permit) -> (haft_policy::Permit, haft_policy::Permit) {
///     (permit.clone(), permit)
/// }
/// ```
#[derive(Debug)]
pub struct Permit {
    plan: Digest,
    invocation: InvocationId,
    granted_by: Authority,
    until: Timestamp,
}

/// Who said yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authority {
    /// The rules.
    Rules,
    /// People, by answering a question.
    People(QuestionId),
}

impl Permit {
    /// The permit of a decision that allows; none for any other decision.
    pub fn of_decision(
        decision: &Decision,
        plan: &Plan,
        invocation: &InvocationId,
        until: Timestamp,
    ) -> Option<Permit> {
        (decision.verdict == Verdict::Allow).then(|| Permit {
            plan: plan.digest.clone(),
            invocation: invocation.clone(),
            granted_by: Authority::Rules,
            until,
        })
    }

    /// Whether it is for this plan of this call, and still holds.
    pub fn covers(&self, plan: &Plan, invocation: &InvocationId, now: Timestamp) -> bool {
        self.plan == plan.digest && self.invocation == *invocation && now <= self.until
    }

    /// Which call may run.
    pub fn invocation(&self) -> &InvocationId {
        &self.invocation
    }

    /// The digest of the plan that may run.
    pub fn plan(&self) -> &Digest {
        &self.plan
    }

    /// Who said yes.
    pub fn granted_by(&self) -> &Authority {
        &self.granted_by
    }

    /// How long it holds.
    pub fn until(&self) -> Timestamp {
        self.until
    }

    /// The permit that a question's answers amount to. Only [`crate::settle`] asks for it.
    pub(crate) fn of_answers(plan: &Plan, question: &haft_model::Question) -> Permit {
        Permit {
            plan: plan.digest.clone(),
            invocation: question.bound.invocation.clone(),
            granted_by: Authority::People(question.id.clone()),
            until: question.expires_at,
        }
    }
}
