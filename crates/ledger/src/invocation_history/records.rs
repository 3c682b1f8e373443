//! Record export: an invocation's history as records of Agent Tool, each under its published
//! schema.

mod decision;
mod invocation;
mod scheduler;

use haft_model::record::SCHEMA_VERSION;
use haft_model::{HookRun, InvocationId, Mutation, Persisted, Reported, Timestamp};
use serde_json::{Map, Value, json};

use super::Story;

/// A record in progress: absent fields are left out.
#[derive(Debug)]
struct Record(Map<String, Value>);

impl Record {
    /// A record with the common fields: version, own id, and invocation.
    fn new(own: &str, id: String, invocation: &InvocationId) -> Record {
        let mut record = Record(Map::new());
        record.set("schema_version", SCHEMA_VERSION).set(own, id).set("invocation_id", invocation);
        record
    }

    fn set(&mut self, name: &str, value: impl serde::Serialize) -> &mut Record {
        // Texts, numbers and facts always serialize.
        let value = serde_json::to_value(value).unwrap_or_default();
        if !value.is_null() {
            self.0.insert(name.to_owned(), value);
        }
        self
    }

    fn done(&mut self) -> Value {
        Value::Object(std::mem::take(&mut self.0))
    }
}

impl Story {
    /// Every record of the call with the name of its schema: `invocation` first, then
    /// `scheduler-policy` where it belongs to a batch, `permission-decision`, `input-mutation`,
    /// `hook`, `progress`, `result-persistence` and `event`.
    pub fn records(&self) -> Vec<(&'static str, Value)> {
        let id = &self.invocation_id;
        let mut all = vec![("invocation", self.invocation())];
        all.extend(self.scheduler_policy().map(|policy| ("scheduler-policy", policy)));
        let decisions = self.decisions.iter().zip(1..);
        all.extend(decisions.map(|(it, n)| ("permission-decision", self.decision(it, n))));
        let mutations = self.mutations.iter().zip(1..);
        all.extend(mutations.map(|((at, it), n)| ("input-mutation", mutation(id, n, *at, it))));
        let hooks = self.hooks.iter().zip(1..);
        all.extend(hooks.map(|((at, it), n)| ("hook", self.hook(n, *at, it))));
        let progress = self.progress.iter();
        all.extend(progress.map(|(at, it)| ("progress", reported(id, *at, it))));
        let stored = self.persistence.iter().zip(1..);
        all.extend(stored.map(|((at, it), n)| ("result-persistence", self.stored(n, *at, it))));
        all.extend(self.events.iter().map(|event| ("event", event.clone())));
        all
    }

    fn hook(&self, number: usize, ended: Timestamp, run: &HookRun) -> Value {
        let id = &self.invocation_id;
        let outputs = run.outputs.iter().map(|kind| match (kind.as_str(), &run.message) {
            ("message", Some(text)) => json!({"type": kind, "text": text}),
            _ => json!({"type": kind}),
        });
        let outputs: Vec<_> = outputs.collect();
        let context: Vec<_> = run.context.iter().map(|one| object("content", one)).collect();
        let opinion = run.opinion.as_ref();
        let result = opinion.map(
            |opinion| json!({"behavior": opinion.says, "reason": decision::reason(Some(opinion))}),
        );
        Record::new("hook_id", id.numbered("hook", number), id)
            .set("hook_name", &run.hook)
            .set("hook_event", run.point)
            .set("tool_id", &self.tool_id)
            .set("outputs", outputs)
            .set("permission_result", result)
            .set("updated_input_ref", run.mutation.as_ref().map(|one| &one.to.digest))
            .set("additional_context", context)
            .set("stop", run.stopped.as_ref().map(|why| json!({"reason": why})))
            .set("failure", run.failed.as_ref().map(|why| json!({"reason": why})))
            .set("started_at", run.started_at)
            .set("ended_at", ended)
            .done()
    }

    fn stored(&self, number: usize, at: Timestamp, stored: &Persisted) -> Value {
        let id = &self.invocation_id;
        let persisted = stored.payload.as_ref();
        let persisted = persisted.map(|kept| json!({"digest": kept.digest, "size": kept.size}));
        let redaction = self.redaction.as_ref().map_or("none", |redacted| &redacted.state);
        Record::new("decision_id", id.numbered("per", number), id)
            .set("result_id", id.part("res"))
            .set("strategy", &stored.strategy)
            .set("threshold", json!({"max_inline_chars": stored.max_inline_chars}))
            .set("original_size_bytes", stored.original_size)
            .set("preview_size_bytes", stored.preview_size)
            .set("persisted_ref", persisted)
            .set("redaction_state", redaction)
            .set("reason", &stored.reason)
            .set("created_at", at)
            .done()
    }
}

fn mutation(id: &InvocationId, number: usize, at: Timestamp, mutation: &Mutation) -> Value {
    Record::new("mutation_id", id.numbered("mut", number), id)
        .set("source_type", mutation.source)
        .set("source_ref", &mutation.by)
        .set("from_input_ref", &mutation.from)
        .set("to_input_ref", &mutation.to.digest)
        .set("changed_fields", &mutation.changed)
        .set("reason", &mutation.reason)
        .set("created_at", at)
        .done()
}

fn reported(id: &InvocationId, at: Timestamp, reported: &Reported) -> Value {
    let progress = &reported.progress;
    let own = id.numbered("prg", usize::try_from(reported.sequence).unwrap_or(usize::MAX));
    Record::new("progress_id", own, id)
        .set("sequence", reported.sequence)
        .set("status", &reported.status)
        .set("message", &progress.message)
        .set("percent", progress.percent.map(|percent| percent.clamp(0.0, 100.0)))
        .set("current_step", &progress.current_step)
        .set("step_index", progress.step_index)
        .set("total_steps", progress.total_steps)
        .set("elapsed_ms", reported.elapsed_ms)
        .set("bytes_read", progress.bytes_read)
        .set("bytes_written", progress.bytes_written)
        .set("line_count", progress.line_count)
        .set("cancel", &reported.cancel)
        .set("timestamp", at)
        .done()
}

/// A value as an object: as it is, or under a name.
fn object(name: &str, value: &Value) -> Value {
    if value.is_object() { value.clone() } else { json!({ name: value }) }
}
