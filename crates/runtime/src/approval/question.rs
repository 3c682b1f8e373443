//! Questions to people: exactly what they are about, and what is on record of them.

use haft_ledger::{QuestionFilter, QuestionRecord};
use haft_model::{ApprovalBinding, Code, Decision, Digest, Mutation, Question, QuestionId, Stop};

use crate::pipeline::CallPipeline;
use crate::plan::BoundPlan;
use crate::recorder::unrecorded;
use crate::runtime::later;

impl CallPipeline<'_> {
    /// The question whether this may be done, to whoever has to say.
    pub(super) fn question(&mut self, understood: &BoundPlan, decision: Decision) -> Question {
        let (id, now) = (self.next_question(), self.journal.now());
        let contract = &understood.entry.contract;
        let who = &understood.plan.actor.id;
        Question {
            id,
            bound: self.bound(understood),
            grant: contract.grant_key(),
            needs: decision.needs.clone(),
            rememberable: decision.rememberable(),
            summary: format!("{who} wants to use {}: {}", contract.key(), decision.reason()),
            shown_input: self.shown(&understood.plan),
            decision,
            asked_at: now,
            expires_at: later(now, self.runtime.options.question),
            form: None,
        }
    }

    /// The id of the question that is asked next.
    pub(crate) fn next_question(&mut self) -> QuestionId {
        self.asked += 1;
        let id = match self.asked {
            1 => self.journal.id().part("apr"),
            number => self.journal.id().numbered("apr", number),
        };
        QuestionId::from(id.as_str())
    }

    /// Exactly what a yes would be for.
    pub(crate) fn bound(&self, understood: &BoundPlan) -> ApprovalBinding {
        let plan = &understood.plan;
        ApprovalBinding {
            invocation: self.journal.id().clone(),
            tool: format!("{}@{}", plan.tool.id, plan.version),
            driver: plan.route.driver.clone(),
            driver_version: understood.driver_version.to_string(),
            driver_digest: Some(understood.driver_digest.clone()),
            call_input: Digest::of_bytes(&haft_model::canonical(&plan.input)),
            targets: understood.targets.digest(),
            effects: understood.entry.fingerprint.clone(),
            actor: plan.actor.id.clone(),
            tenant: plan.actor.tenant.to_string(),
        }
    }

    /// A question and what became of it so far.
    pub(crate) async fn record_of(&self, id: &QuestionId) -> Result<QuestionRecord, Stop> {
        let filter = QuestionFilter { id: Some(id.clone()), ..QuestionFilter::default() };
        let found = self.runtime.store.questions(&filter).await.map_err(unrecorded)?;
        found
            .into_iter()
            .next()
            .ok_or_else(|| Stop::new(Code::Internal, format!("the question `{id}` is gone")))
    }
}

/// What people said yes to.
pub(super) struct PeoplesAnswer<'a> {
    pub(super) question: QuestionId,
    /// The input that they were shown.
    pub(super) asked_about: &'a serde_json::Value,
    /// What they changed of it.
    pub(super) mutations: Vec<Mutation>,
}
