//! Where a call meets its limits: before people are asked, when it has its turn, and before another
//! attempt.

use haft_ledger::Use;
use haft_model::{Call, Charge, Code, Status, Stop, Verdict};
use haft_policy::Authority;

use super::cap::{Cap, Origin, What};
use super::gather::{self, budgets, policy_limits, rates};
use super::places::{AwaitedSlots, PlaceOf};
use crate::CallOptions;
use crate::approval::PermittedCall;
use crate::pipeline::{CallPipeline, Halt};
use crate::plan::BoundPlan;

/// Why a call that has its turn may not run as it is.
pub(crate) enum Lapse {
    /// Its permission ran out.
    Permission,
    /// A budget that it was let through by is used up meanwhile.
    Budget,
}

impl<'r> CallPipeline<'r> {
    /// Refuses a call that a limit has no room for already, so that nobody is asked in vain.
    pub(crate) async fn within_limits(&self, understood: &BoundPlan) -> Result<(), Stop> {
        let BoundPlan { entry, plan, .. } = understood;
        self.runtime.limits.room(&self.world, entry, plan, self.journal.now()).await
    }

    /// Says of a refusal by a limit when there is room again.
    pub(crate) async fn with_wait(&self, stop: Stop, understood: &BoundPlan) -> Stop {
        if stop.code != Code::RateLimited {
            return stop;
        }
        let BoundPlan { entry, plan, .. } = understood;
        self.runtime.limits.with_wait(stop, &self.world, entry, plan, self.journal.now()).await
    }

    /// What keeps a call from running now that it has its turn; nothing, and its part of every limit
    /// is reserved.
    pub(crate) async fn lapse(&mut self, cleared: &PermittedCall) -> Result<Option<Lapse>, Stop> {
        let BoundPlan { plan, .. } = &cleared.understood;
        if !cleared.permit.covers(plan, self.journal.id(), self.journal.now()) {
            return Ok(Some(Lapse::Permission));
        }
        let used = self.used_by(cleared, self.attempt);
        let caps = self.caps(cleared, &used);
        if caps.is_empty() {
            return Ok(None);
        }
        match self.runtime.limits.reserve(&caps, &used).await? {
            Ok(reserved) => {
                self.reserved = Some(reserved);
                Ok(None)
            }
            Err((Cap { origin: Origin::Budget(_), .. }, _)) => Ok(Some(Lapse::Budget)),
            Err((cap, short)) => Err(cap.refusal(short)),
        }
    }

    /// Whether the limits that count attempts have room for another one, which is reserved then.
    pub(crate) async fn another_fits(&mut self, cleared: &PermittedCall) -> bool {
        let used = self.used_by(cleared, self.attempt + 1);
        let mut caps = self.caps(cleared, &used);
        caps.retain(|cap| cap.counted.what == What::Attempts);
        if caps.is_empty() {
            return true;
        }
        match self.runtime.limits.reserve(&caps, &used).await {
            Ok(Ok(reserved)) => {
                self.reserved = Some(reserved);
                true
            }
            Ok(Err(_)) | Err(_) => false,
        }
    }

    /// What a call counts as, once it is to run.
    pub(crate) fn charge(&self, cleared: &PermittedCall) -> Charge {
        self.used_by(cleared, self.attempt).charge
    }

    fn used_by(&self, cleared: &PermittedCall, attempt: u32) -> Use {
        let BoundPlan { entry, plan, .. } = &cleared.understood;
        let mut used = gather::used(entry, plan, self.journal.now());
        used.invocation = self.journal.id().clone();
        used.attempt = attempt;
        // What people allowed is not taken from what a policy may let through by itself.
        if *cleared.permit.granted_by() == Authority::Rules {
            used.charge.policies.clone_from(&cleared.let_through);
        }
        used
    }

    fn caps(&self, cleared: &PermittedCall, used: &Use) -> Vec<Cap> {
        let mut caps = rates(&self.world, &cleared.understood.entry, used);
        caps.extend(policy_limits(&self.world, used));
        if !used.charge.policies.is_empty() {
            caps.extend(budgets(&self.world, &used.tenant));
        }
        caps.retain(|cap| cap.counted.amount(used).is_some());
        caps
    }

    /// The places that the call waits for where its contract or haft.toml say how many may run at
    /// once.
    pub(crate) fn places(&self) -> AwaitedSlots {
        let (Some(entry), Some(plan)) = (&self.entry, &self.plan) else {
            return self.runtime.limits.places.of(Vec::new());
        };
        let own = entry.contract.tool.extras.concurrency.max_parallel;
        let own = own.map(|most| (PlaceOf::Tool(plan.tool.to_string()), most));
        let driver = plan.route.driver.as_str();
        let caps = self.world.at_once.iter().enumerate();
        let theirs =
            caps.filter(|(_, (glob, _))| glob.matches(driver)).map(|(index, (glob, most))| {
                (PlaceOf::Drivers(index, glob.source().to_owned()), *most)
            });
        self.runtime.limits.places.of(own.into_iter().chain(theirs).collect())
    }

    /// A call whose policy's budget was used up while it waited is judged by what is left now.
    pub(crate) async fn judge_again(
        &mut self,
        call: &Call,
        understood: BoundPlan,
        manner: &CallOptions<'_>,
    ) -> Result<PermittedCall, Halt> {
        let world = self.world.clone();
        let decision = self.judged(&world, &understood, &[]).await?;
        match decision.verdict {
            Verdict::Allow => self.allowed(understood, decision).await,
            Verdict::Deny => Err(self.denied(&understood, decision).await.into()),
            Verdict::Ask if self.journal.may_note(Status::AwaitingApproval) => {
                self.ask(call, understood, Vec::new(), decision, manner).await
            }
            Verdict::Ask => Err(Stop::new(Code::ApprovalRequired, decision.reason()).into()),
        }
    }
}
