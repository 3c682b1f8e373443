//! Approval question: binds a question to the exact plan, driver, input and actor it is about.

use haft_ledger::{QuestionFilter, QuestionRecord};
use haft_model::{
    ApprovalBinding, Code, Decision, FrozenInput, Mutation, Question, QuestionId, Stop,
};

use crate::context::CallContext;
use crate::plan::PlannedCall;
use crate::recorder::unrecorded;
use crate::runtime::later;

impl CallContext<'_> {
    /// Builds the question for the approvers that the decision needs, with the redacted input.
    pub(super) fn question(&mut self, planned: &PlannedCall, decision: Decision) -> Question {
        let (id, now) = (self.next_question(), self.recorder.now());
        let contract = &planned.entry.contract;
        let who = &planned.plan.actor.id;
        Question {
            id,
            bound: self.bound(planned),
            grant: contract.grant_key(),
            needs: decision.needs.clone(),
            rememberable: decision.rememberable(),
            summary: format!("{who} wants to use {}: {}", contract.key(), decision.reason()),
            shown_input: self.redacted_input(&planned.plan),
            driver_state: planned.plan.driver_state.clone(),
            decision,
            asked_at: now,
            expires_at: later(now, self.runtime.options.question),
            form: None,
        }
    }

    /// The id of the next question of this call; the first has no number.
    pub(crate) fn next_question(&mut self) -> QuestionId {
        self.approvals.questions_asked += 1;
        let id = match self.approvals.questions_asked {
            1 => self.recorder.id().part("apr"),
            number => self.recorder.id().numbered("apr", number),
        };
        QuestionId::from(id.as_str())
    }

    /// Approval binding: the exact plan that an approval of this question covers.
    pub(crate) fn bound(&self, planned: &PlannedCall) -> ApprovalBinding {
        let plan = &planned.plan;
        ApprovalBinding {
            invocation: self.recorder.id().clone(),
            tool: format!("{}@{}", plan.tool.id, plan.version),
            driver: plan.route.driver.clone(),
            driver_version: planned.driver_version.to_string(),
            driver_digest: Some(planned.driver_digest.clone()),
            call_input: plan.input.digest().clone(),
            targets: planned.targets.digest(),
            effects: planned.entry.fingerprint.clone(),
            actor: plan.actor.id.clone(),
            tenant: plan.actor.tenant.to_string(),
        }
    }

    /// Reads a question and its answers so far.
    pub(crate) async fn record_of(&self, id: &QuestionId) -> Result<QuestionRecord, Stop> {
        let filter = QuestionFilter { id: Some(id.clone()), ..QuestionFilter::default() };
        let found = self.runtime.store.questions(&filter).await.map_err(unrecorded)?;
        found
            .into_iter()
            .next()
            .ok_or_else(|| Stop::new(Code::Internal, format!("the question `{id}` is gone")))
    }
}

/// An approval by people, as the decision records it.
pub(super) struct PeoplesAnswer<'a> {
    pub(super) question: QuestionId,
    /// The input before the approver's edit.
    pub(super) asked_about: &'a FrozenInput,
    /// Changes that the approver made to the input; empty where there is no edit.
    pub(super) mutations: Vec<Mutation>,
}
