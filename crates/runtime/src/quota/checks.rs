//! Quota checks of a call: before approval, when it has its slot, and before a retry.

use haft_ledger::Use;
use haft_model::{Charge, Code, Status, Stop, Verdict};
use haft_policy::Authority;

use super::cap::{Cap, Origin, What};
use super::gather::{self, budgets, policy_limits, rates};
use super::places::{AwaitedSlots, PlaceOf};
use crate::CallOptions;
use crate::context::CallContext;
use crate::permit::PermittedCall;
use crate::pipeline::Halt;
use crate::plan::{BoundPlan, PlannedCall};

/// Reason why a call with a slot may not run under its permit.
pub(crate) enum Lapse {
    /// The permit does not cover the plan or has expired.
    Permission,
    /// The budget of the policy that allowed it is used up meanwhile.
    Budget,
}

impl<'r> CallContext<'r> {
    /// Refuses a call that exceeds a quota already, before an approver is asked.
    pub(crate) async fn within_limits(&self, planned: &BoundPlan) -> Result<(), Stop> {
        let BoundPlan { entry, plan, .. } = planned;
        self.runtime.quotas.room(&self.world, entry, plan, self.recorder.now()).await
    }

    /// Adds the retry-after time to a `RateLimited` refusal.
    pub(crate) async fn with_wait(&self, stop: Stop, planned: &BoundPlan) -> Stop {
        if stop.code != Code::RateLimited {
            return stop;
        }
        let BoundPlan { entry, plan, .. } = planned;
        self.runtime.quotas.with_wait(stop, &self.world, entry, plan, self.recorder.now()).await
    }

    /// Returns what keeps a call with a slot from running; `None` reserves its share of every
    /// quota.
    pub(crate) async fn lapse(&mut self, permitted: &PermittedCall) -> Result<Option<Lapse>, Stop> {
        let plan = &permitted.planned().plan;
        if !permitted.permit().covers(plan, self.recorder.id(), self.recorder.now()) {
            return Ok(Some(Lapse::Permission));
        }
        let used = self.used_by(permitted, self.attempts.number);
        let caps = self.caps(permitted, &used);
        if caps.is_empty() {
            return Ok(None);
        }
        match self.runtime.quotas.reserve(&caps, &used).await? {
            Ok(reserved) => {
                self.attempts.reservation = Some(reserved);
                Ok(None)
            }
            Err((Cap { origin: Origin::Budget(_), .. }, _)) => Ok(Some(Lapse::Budget)),
            Err((cap, short)) => Err(cap.refusal(short)),
        }
    }

    /// Returns true if the quotas on attempts have room for a retry, and reserves it.
    pub(crate) async fn another_fits(&mut self, permitted: &PermittedCall) -> bool {
        let used = self.used_by(permitted, self.attempts.number + 1);
        let mut caps = self.caps(permitted, &used);
        caps.retain(|cap| cap.counted.what == What::Attempts);
        if caps.is_empty() {
            return true;
        }
        match self.runtime.quotas.reserve(&caps, &used).await {
            Ok(Ok(reserved)) => {
                self.attempts.reservation = Some(reserved);
                true
            }
            Ok(Err(_)) | Err(_) => false,
        }
    }

    /// Cost record of a call that is about to run.
    pub(crate) fn charge(&self, permitted: &PermittedCall) -> Charge {
        self.used_by(permitted, self.attempts.number).charge
    }

    fn used_by(&self, permitted: &PermittedCall, attempt: u32) -> Use {
        let BoundPlan { entry, plan, .. } = &**permitted.planned();
        let mut used = gather::used(entry, plan, self.recorder.now());
        used.invocation = self.recorder.id().clone();
        used.attempt = attempt;
        // A call that an approver allowed does not use the policy's own budget.
        if *permitted.permit().granted_by() == Authority::Rules {
            used.charge.policies.extend_from_slice(permitted.let_through());
        }
        used
    }

    fn caps(&self, permitted: &PermittedCall, used: &Use) -> Vec<Cap> {
        let mut caps = rates(&self.world, &permitted.planned().entry, used);
        caps.extend(policy_limits(&self.world, used));
        if !used.charge.policies.is_empty() {
            caps.extend(budgets(&self.world, &used.tenant));
        }
        caps.retain(|cap| cap.counted.amount(used).is_some());
        caps
    }

    /// Concurrency limits that apply to the call, from its contract and haft.toml.
    pub(crate) fn places(&self, planned: &BoundPlan) -> AwaitedSlots {
        let BoundPlan { entry, plan, .. } = planned;
        let own = entry.contract.tool.extras.concurrency.max_parallel;
        let own = own.map(|most| (PlaceOf::Tool(plan.tool.to_string()), most));
        let driver = plan.route.driver.as_str();
        let caps = self.world.at_once.iter().enumerate();
        let theirs =
            caps.filter(|(_, (glob, _))| glob.matches(driver)).map(|(index, (glob, most))| {
                (PlaceOf::Drivers(index, glob.source().to_owned()), *most)
            });
        self.runtime.quotas.places.of(own.into_iter().chain(theirs).collect())
    }

    /// Reauthorizes a call whose policy budget was used up while it waited.
    pub(crate) async fn judge_again(
        &mut self,
        planned: PlannedCall,
        options: &CallOptions<'_>,
    ) -> Result<PermittedCall, Halt> {
        let world = self.world.clone();
        let decision = self.judged(&world, &planned, &[]).await?;
        match decision.verdict {
            Verdict::Allow => self.allowed(planned, decision).await,
            Verdict::Deny => Err(self.denied(&planned, decision).await.into()),
            Verdict::Ask if self.recorder.may_note(Status::AwaitingApproval) => {
                self.ask(planned, Vec::new(), decision, options).await
            }
            Verdict::Ask => Err(Stop::new(Code::ApprovalRequired, decision.reason()).into()),
        }
    }
}
