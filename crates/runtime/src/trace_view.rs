//! Trace of one call: history, result and redacted inputs, for people and as JSON.

mod inputs;

use haft_ledger::{Cancel, Judgement, Story};
use haft_model::{Code, Envelope, InvocationId, Stop};
use serde_json::{Value, json};

use crate::Runtime;
pub use inputs::ShownInputs;

/// Trace of one call.
pub struct TraceView {
    /// History from the ledger.
    pub story: Story,
    /// Result, once the call is over and while its payload is kept.
    pub envelope: Option<Envelope>,
    /// The four inputs, redacted.
    pub inputs: ShownInputs,
}

impl Runtime {
    /// Builds the trace of a call.
    pub async fn tell(&self, id: &InvocationId) -> Result<TraceView, Stop> {
        let reader = self.reader();
        let story = Story::fold(&reader.story(id).await?).map_err(|fault| {
            Stop::new(Code::Internal, fault.to_string())
                .help("`haft audit verify` tells what is wrong with the store")
        })?;
        let envelope = reader.result(id).await?;
        let inputs = self.shown_inputs(&story).await?;
        Ok(TraceView { story, envelope, inputs })
    }
}

impl TraceView {
    /// The whole trace as one JSON object.
    pub fn json(&self) -> Value {
        let story = &self.story;
        let phases = story.phases.iter().map(|phase| {
            json!({
                "phase": phase.line.phase,
                "outcome": phase.line.outcome,
                "started_at": phase.started_at,
                "ended_at": phase.ended_at,
                "micros": phase.line.to.saturating_sub(phase.line.from),
            })
        });
        let dated = |at: &haft_model::Timestamp, value: Value| json!({ "at": at, "what": value });
        let mut whole = json!({
            "invocation_id": story.invocation_id,
            "tool_id": story.tool_id,
            "tool_version": story.tool_version,
            "requested": story.requested,
            "actor": story.actor,
            "channel": story.channel,
            "surface": story.surface,
            "status": story.status,
            "effect_state": story.effect_state,
            "error_code": story.error_code,
            "error_message": story.error_message,
            "driver": driver(story),
            "key": story.key,
            "intent": story.intent,
            "intent_state": story.intent_state(),
            "sent_again": story.sent_again.iter().map(|(at, it)| dated(at, json!(it))).collect::<Vec<_>>(),
            "parent": story.parent,
            "batch": story.batch,
            "scheduling": self.scheduling(),
            "compensates": story.compensates,
            "compensated_by": story.undoings,
            "settlements": story.settlements.iter().map(|(at, it)| dated(at, json!(it))).collect::<Vec<_>>(),
            "native": story.native,
            "facts": story.facts,
            "created_at": story.created_at,
            "started_at": story.started_at,
            "ended_at": story.ended_at,
            "transitions": story.transitions,
            "phases": phases.collect::<Vec<_>>(),
            "inputs": self.inputs.json(),
            "mutations": story.mutations.iter().map(|(at, it)| dated(at, json!(it))).collect::<Vec<_>>(),
            "decisions": story.decisions.iter().map(judgement).collect::<Vec<_>>(),
            "questions": story.questions,
            "attempts": story.attempts,
            "hooks": story.hooks.iter().map(|(at, it)| dated(at, json!(it))).collect::<Vec<_>>(),
            "progress": story.progress.iter().map(|(at, it)| dated(at, json!(it))).collect::<Vec<_>>(),
            "persistence": story.persistence.iter().map(|(at, it)| dated(at, json!(it))).collect::<Vec<_>>(),
            "redaction": story.redaction,
            "cancels": story.cancels.iter().map(cancel).collect::<Vec<_>>(),
            "result": self.envelope,
            "entries": story.entries,
        });
        let secrets = story.secrets.iter().map(|(at, it)| dated(at, json!(it))).collect();
        if let Value::Object(fields) = &mut whole {
            fields.insert("secrets".to_owned(), secrets);
            let observed = story.observed.iter().map(|(at, it)| dated(at, json!(it))).collect();
            fields.insert("observed".to_owned(), observed);
        }
        whole
    }
}

/// The driver of a call, with the paths that it may write as its own state.
fn driver(story: &Story) -> Option<Value> {
    let (id, version) = story.driver.as_ref()?;
    let mut driver = json!({ "id": id, "version": version });
    if let (false, Some(fields)) = (story.driver_state.is_empty(), driver.as_object_mut()) {
        fields.insert("state".to_owned(), json!(story.driver_state));
    }
    Some(driver)
}

impl TraceView {
    /// Queueing, release and context changes of the call.
    fn scheduling(&self) -> Value {
        let story = &self.story;
        let context = story.context_modifiers.iter();
        json!({
            "queue_state": story.queue_state(),
            "queued": story.queued,
            "released_at": story.released_at,
            "discarded": story.discarded.as_ref().map(|(at, it)| json!({ "at": at, "what": it })),
            "context_modifiers":
                context.map(|(at, it)| json!({ "at": at, "what": it })).collect::<Vec<_>>(),
        })
    }
}

fn judgement(judgement: &Judgement) -> Value {
    match judgement {
        Judgement::Asked(decision, question) => {
            json!({ "decision": decision, "question": question })
        }
        Judgement::Settled(decided) => json!({
            "decision": decided.decision, "question": decided.question, "mode": decided.mode,
            "expires_at": decided.expires_at,
        }),
    }
}

fn cancel(cancel: &Cancel) -> Value {
    match cancel {
        Cancel::Requested(at, wish) => json!({ "at": at, "by": wish.by, "reason": wish.reason }),
        Cancel::Noted(at, note) => json!({ "at": at, "fact": note.fact, "reason": note.reason }),
    }
}
