//! Invocation record: one call as outsiders see it.

use haft_model::{InvocationId, Timestamp};
use serde_json::{Value, json};

use super::super::{Cancel, Judgement, PhaseSpan, Story};
use super::Record;
use super::decision::{is_policy, refs};

impl Story {
    pub(super) fn invocation(&self) -> Value {
        let id = &self.invocation_id;
        let mut record = Record::new("invocation_id", id.to_string(), id);
        record
            .set("tool_id", &self.tool_id)
            .set("tool_version", &self.tool_version)
            .set("requested", &self.requested)
            .set("status", self.status)
            .set("queue_state", self.queue_state())
            .set("effect_state", self.effect_state)
            .set("surface_id", &self.surface)
            .set("surface_revision", self.revision)
            .set("actor_ref", self.actor.as_ref().map(|actor| &actor.id))
            .set("tenant", self.actor.as_ref().map(|actor| &actor.tenant))
            .set("channel", &self.channel)
            .set("idempotency_key", &self.key)
            .set("idempotency", self.idempotency())
            .set("sent_again", some(&self.repeats()))
            .set("parent_invocation_id", &self.parent)
            .set("compensates", &self.compensates)
            .set("scheduler", self.scheduler())
            .set("scheduler_policy_ref", self.scheduler_policy_id())
            .set("released_at", self.released_at)
            .set("discarded", self.discarded.as_ref().map(|(at, it)| dated(at, it)))
            .set("context_modifiers", some(&self.context_outcomes()))
            .set("compensated_by", some(&self.undoings))
            .set("settlements", some(&self.settlements()))
            .set("native_call_id", self.native_call_id())
            .set("native_refs", &self.native)
            .set("status_transitions", &self.transitions)
            .set("phase_log", self.phases.iter().map(phase).collect::<Vec<_>>())
            .set("created_at", self.created_at)
            .set("started_at", self.started_at)
            .set("ended_at", self.ended_at);
        self.inputs(&mut record);
        self.outcome(&mut record);
        self.references(&mut record);
        record.done()
    }

    /// The idempotency block of the standard.
    fn idempotency(&self) -> Option<Value> {
        let (intent, state) = self.intent.as_ref().zip(self.intent_state())?;
        let mut fields = json!({
            "key": intent.key,
            "source": intent.source,
            "binding": intent.binding,
            "state": state,
            "expires_at": intent.until,
        });
        if let (Some(id), Some(fields)) = (self.result_id(), fields.as_object_mut()) {
            fields.insert("result_id".to_owned(), json!(id));
        }
        Some(fields)
    }

    fn repeats(&self) -> Vec<Value> {
        self.sent_again.iter().map(|(at, again)| dated(at, again)).collect()
    }

    fn result_id(&self) -> Option<String> {
        self.result.as_ref().map(|_| self.invocation_id.part("res"))
    }

    fn settlements(&self) -> Vec<Value> {
        let all = self.settlements.iter();
        all.map(
            |(at, one)| json!({"effect": one.effect, "by": one.by, "reason": one.reason, "at": at}),
        )
        .collect()
    }

    fn inputs(&self, record: &mut Record) {
        let inputs = [
            ("model_input_ref", &self.inputs.model),
            ("observable_input_ref", &self.inputs.observable),
            ("permission_input_ref", &self.inputs.permission),
            ("call_input_ref", &self.inputs.call),
            ("context_ref", &self.context),
        ];
        for (name, kept) in inputs {
            record.set(name, kept.as_ref().map(|kept| &kept.digest));
        }
        // Only the values that the contract allows into the log.
        let shown = self.inputs.observable.as_ref().or(self.inputs.model.as_ref());
        record.set("input_keys", shown.map(|kept| &kept.keys));
        record.set("input_shown", shown.map(|kept| &kept.shown));
        record.set("safety_facts", self.facts);
    }

    fn outcome(&self, record: &mut Record) {
        let result = self.result.as_ref();
        let error = self.error_code.map(|code| {
            json!({"error_code": code, "error_class": code.class(), "message": self.error_message})
        });
        record
            .set("attempts", &self.attempts)
            .set("result_ref", self.result_id())
            .set("result_digest", result.map(|result| &result.kept.digest))
            .set("result_status", result.map(|result| result.status))
            .set("is_error", result.map(|result| result.is_error))
            .set("redaction", &self.redaction)
            .set("error", error)
            .set("cancel", self.cancels.iter().map(cancel).collect::<Vec<_>>());
    }

    fn references(&self, record: &mut Record) {
        let id = &self.invocation_id;
        let driver = self.driver.as_ref();
        let driver = driver.map(|(driver, version)| match version {
            Some(version) => format!("driver:{driver}@{version}"),
            None => format!("driver:{driver}"),
        });
        let mut policies: Vec<_> = self.decisions.iter().flat_map(policies).collect();
        policies.sort_unstable();
        policies.dedup();
        let entries: Vec<_> = self.entries.iter().map(|seq| format!("entry:{seq}")).collect();
        record
            .set("runtime_refs", driver.into_iter().collect::<Vec<_>>())
            .set("policy_refs", policies)
            .set("permission_decision_refs", numbered(id, "dec", self.decisions.len()))
            .set("input_mutation_refs", numbered(id, "mut", self.mutations.len()))
            .set("hook_refs", numbered(id, "hook", self.hooks.len()))
            .set("persistence_refs", numbered(id, "per", self.persistence.len()))
            .set(
                "approval_request_ref",
                self.questions
                    .iter()
                    .rfind(|asked| asked.question.form.is_none())
                    .map(|asked| &asked.question.id),
            )
            .set("telemetry_refs", some(&self.traces()))
            .set("evidence_refs", entries);
    }

    /// Trace references that the caller sent.
    fn traces(&self) -> Vec<&Value> {
        let named = self.native.iter();
        named.filter(|one| one.get("source").is_some_and(|of| of == "telemetry")).collect()
    }

    fn context_outcomes(&self) -> Vec<Value> {
        self.context_modifiers.iter().map(|(at, one)| dated(at, one)).collect()
    }

    /// The caller's own id of the call.
    pub fn native_call_id(&self) -> Option<&str> {
        let named = |name| self.native.iter().find_map(|one| one.get(name).and_then(Value::as_str));
        named("native_call_id").or_else(|| named("id"))
    }
}

/// A fact with its time.
fn dated(at: &Timestamp, fact: &impl serde::Serialize) -> Value {
    let mut fact = serde_json::to_value(fact).unwrap_or_default();
    if let Some(fields) = fact.as_object_mut() {
        fields.insert("at".to_owned(), json!(at));
    }
    fact
}

/// The list, unless it is empty.
fn some<T>(list: &[T]) -> Option<&[T]> {
    (!list.is_empty()).then_some(list)
}

fn policies(judgement: &Judgement) -> Vec<&str> {
    match judgement {
        Judgement::Asked(decision, _) => refs(decision, is_policy),
        Judgement::Settled(decided) => refs(&decided.decision, is_policy),
    }
}

fn numbered(id: &InvocationId, prefix: &str, count: usize) -> Vec<String> {
    (1..=count).map(|number| id.numbered(prefix, number)).collect()
}

fn phase(span: &PhaseSpan) -> Value {
    json!({
        "phase": span.line.phase.number(),
        "name": span.line.phase,
        "outcome": span.line.outcome,
        "started_at": span.started_at,
        "ended_at": span.ended_at,
    })
}

fn cancel(cancel: &Cancel) -> Value {
    match cancel {
        Cancel::Requested(at, wish) => {
            json!({"fact": "cancel_requested", "reason": wish.reason, "by": wish.by, "at": at})
        }
        Cancel::Noted(at, note) => json!({"fact": note.fact, "reason": note.reason, "at": at}),
    }
}
