//! Permission decision records: who settled it, why, and what was judged.

use haft_model::{Decided, Decision, Layer, MutationSource, Opinion, QuestionId, Verdict};
use serde_json::{Value, json};

use super::super::{Judgement, Story};
use super::{Record, object};

impl Story {
    pub(super) fn decision(&self, judgement: &Judgement, number: usize) -> Value {
        let id = &self.invocation_id;
        let mut record = Record::new("decision_id", id.numbered("dec", number), id);
        match judgement {
            Judgement::Asked(decision, question) => {
                fill(&mut record, decision);
                let asked = self.questions.iter().find(|asked| asked.question.id == *question);
                record.set("approval_id", question);
                record.set("expires_at", asked.map(|asked| asked.question.expires_at));
            }
            Judgement::Settled(decided) => {
                fill(&mut record, &decided.decision);
                self.settled(&mut record, decided);
            }
        }
        record.done()
    }

    fn settled(&self, record: &mut Record, decided: &Decided) {
        let changed = decided.call_input.as_ref().map(|input| &input.digest);
        let changed = changed.filter(|digest| **digest != decided.permission_input.digest);
        let by_person = |source| source == MutationSource::PermissionPrompt;
        let feedback = decided.question.as_ref().and_then(|id| self.feedback(id));
        record
            .set("mode", &decided.mode)
            .set("permission_input_ref", &decided.permission_input.digest)
            .set("call_input_ref", decided.call_input.as_ref().map(|input| &input.digest))
            .set("updated_input_ref", changed)
            .set("user_modified", decided.mutations.iter().any(|one| by_person(one.source)))
            .set("approval_id", &decided.question)
            .set("accept_feedback", feedback)
            .set("expires_at", decided.expires_at);
    }

    /// The feedback of the last person who approved.
    fn feedback(&self, id: &QuestionId) -> Option<&str> {
        let asked = self.questions.iter().find(|asked| asked.question.id == *id)?;
        let yes = asked.answers.iter().rev().find(|answer| answer.approves)?;
        yes.reason.as_deref()
    }
}

fn fill(record: &mut Record, decision: &Decision) {
    let settled = decision.settled_by();
    let behavior = match decision.verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    };
    let updates: Vec<_> =
        decision.suggested_updates.iter().map(|one| object("update", one)).collect();
    record
        .set("behavior", behavior)
        .set("source", settled.map_or("default", |opinion| opinion.layer.name()))
        .set("reason", reason(settled))
        .set("rule_refs", refs(decision, is_rule))
        .set("policy_refs", refs(decision, is_policy))
        .set("opinions", &decision.opinions)
        .set("error_code", decision.code)
        .set("suggested_updates", updates)
        .set("decided_at", decision.decided_at);
}

/// Deduplicated names of the rules that some layers spoke by.
pub(super) fn refs(decision: &Decision, wanted: fn(Layer) -> bool) -> Vec<&str> {
    let speaking = decision.opinions.iter().filter(|opinion| wanted(opinion.layer));
    let mut names: Vec<_> = speaking.filter_map(|opinion| opinion.rule.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The reason, in the standard's form.
pub(super) fn reason(opinion: Option<&Opinion>) -> Value {
    let Some(opinion) = opinion else {
        return json!({"type": "other", "message": "no rule or policy allows the call"});
    };
    let mut reason = json!({
        "type": kind(opinion.layer),
        "layer": opinion.layer,
        "message": opinion.reason,
    });
    if let (Some(rule), Some(fields)) = (&opinion.rule, reason.as_object_mut()) {
        fields.insert("ref".to_owned(), json!(rule));
    }
    reason
}

/// The standard's word for a layer.
fn kind(layer: Layer) -> &'static str {
    match layer {
        Layer::Fault | Layer::Contract => "safety_check",
        Layer::Grant | Layer::Limit | Layer::Requirement | Layer::Policy | Layer::Governance => {
            "policy"
        }
        Layer::Rule | Layer::Standing => "rule",
        Layer::Classifier => "classifier",
        Layer::Hook => "hook",
        Layer::Autonomy => "mode",
        Layer::Person => "permission_prompt_tool",
    }
}

fn is_rule(layer: Layer) -> bool {
    kind(layer) == "rule"
}

/// Whether a layer is backed by policies.
pub(super) fn is_policy(layer: Layer) -> bool {
    kind(layer) == "policy"
}
