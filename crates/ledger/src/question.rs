//! Question view: an approval question as every edge shows it.

use haft_model::{QuestionState, Timestamp};
use serde_json::{Value, json};

use crate::QuestionRecord;

impl QuestionRecord {
    /// The state at a moment; a question past its expiry is expired, even if that is not recorded.
    pub fn state_at(&self, now: Timestamp) -> QuestionState {
        match self.state {
            QuestionState::Open if self.question.expires_at <= now => QuestionState::Expired,
            state => state,
        }
    }

    /// The question as JSON.
    pub fn told(&self, now: Timestamp) -> Value {
        let question = &self.question;
        let bound = &question.bound;
        json!({
            "approval_id": question.id,
            "invocation_id": bound.invocation,
            "tool": bound.tool,
            "driver": bound.driver,
            "actor": bound.actor,
            "tenant": bound.tenant,
            "summary": question.summary,
            "input": question.shown_input,
            "form": question.form,
            "reasons": question.decision.opinions,
            "needs": question.needs,
            "rememberable": question.rememberable,
            "asked_at": question.asked_at,
            "expires_at": question.expires_at,
            "state": self.state_at(now),
            "answers": self.answers,
        })
    }
}
