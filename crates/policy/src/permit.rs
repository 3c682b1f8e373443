//! Permits: capability that proves that one exact plan may run. INVARIANT: only this file makes
//! them.

use haft_model::{Decision, Digest, InvocationId, Plan, QuestionId, Timestamp, Verdict};

/// Capability to run one exact plan of one call.
///
/// Other code can neither construct a permit nor copy it:
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

/// Who granted a permit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authority {
    /// The rules, without an approver.
    Rules,
    /// Approvers, by answering this question.
    People(QuestionId),
}

impl Permit {
    /// The permit of an allowing decision; `None` for any other.
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

    /// Returns true if the permit is for this plan of this call and has not expired.
    pub fn covers(&self, plan: &Plan, invocation: &InvocationId, now: Timestamp) -> bool {
        self.plan == plan.digest && self.invocation == *invocation && now <= self.until
    }

    /// Invocation that may run.
    pub fn invocation(&self) -> &InvocationId {
        &self.invocation
    }

    /// Digest of the plan that may run.
    pub fn plan(&self) -> &Digest {
        &self.plan
    }

    /// Who granted the permit.
    pub fn granted_by(&self) -> &Authority {
        &self.granted_by
    }

    /// Expiry of the permit.
    pub fn until(&self) -> Timestamp {
        self.until
    }

    /// The permit of an approved question. Only [`crate::settle`] calls it.
    pub(crate) fn of_answers(plan: &Plan, question: &haft_model::Question) -> Permit {
        Permit {
            plan: plan.digest.clone(),
            invocation: question.bound.invocation.clone(),
            granted_by: Authority::People(question.id.clone()),
            until: question.expires_at,
        }
    }
}
