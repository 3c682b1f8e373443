//! A2A task: the view of a call as a task or a message.

use haft_ledger::{Run, Story};
use haft_model::{Content, Digest, Envelope, ResultStatus, Timestamp};
use serde_json::{Value, json};

/// The context id of a message; a new one where it names none.
pub(super) fn context(message: &Value) -> String {
    let said = message.get("contextId").or_else(|| message.get("messageId"));
    said.and_then(Value::as_str).unwrap_or("none").to_owned()
}

/// The foreign id of a call that came over A2A.
pub(super) fn known_by(message: &Value, skill: &str, context: &str, request: &Value) -> Value {
    json!({
        "source": "a2a",
        "id": message.get("messageId"),
        "message_id": message.get("messageId"),
        "context_id": context,
        "agent_skill_id": skill,
        "jsonrpc_request_id": request,
    })
}

/// The context id of a recorded call.
pub(super) fn context_of(story: &Story) -> Option<String> {
    let mut said = story.native.iter().filter_map(|native| native.get("context_id"));
    said.next().and_then(Value::as_str).map(str::to_owned)
}

/// An answer without a task behind it.
pub(super) fn message(data: Value, context: &str) -> Value {
    let id = Digest::of(&(context, &data));
    let id = id.as_str().trim_start_matches("sha256:");
    json!({
        "kind": "message",
        "role": "agent",
        "messageId": format!("found_{id}"),
        "contextId": context,
        "parts": [{ "kind": "data", "data": data }],
    })
}

/// The task of a call that has not ended.
pub(super) fn under_way(run: &Run, context: &str) -> Value {
    let words = run
        .approval_id
        .as_ref()
        .map(|question| format!("a person has to decide first ({question})"));
    let state = if run.status == haft_model::Status::Planned { "submitted" } else { "working" };
    task(run.invocation_id.as_str(), context, state, words, run.created_at)
}

/// The task of an answered call.
pub(super) fn of(envelope: &Envelope, context: &str) -> Value {
    let state = match envelope.status {
        ResultStatus::Pending => "working",
        ResultStatus::Succeeded | ResultStatus::Redacted | ResultStatus::TooLarge => "completed",
        ResultStatus::Denied | ResultStatus::Rejected => "rejected",
        ResultStatus::Canceled | ResultStatus::Discarded | ResultStatus::SyntheticError => {
            "canceled"
        }
        ResultStatus::PartialSucceeded | ResultStatus::Failed | ResultStatus::TimedOut => "failed",
    };
    let said = (envelope.is_error || envelope.status == ResultStatus::Pending)
        .then(|| envelope.summary.clone());
    let id = envelope.invocation_id.as_str();
    let mut task = task(id, context, state, said, envelope.created_at);
    let Some(fields) = task.as_object_mut() else { return task };
    fields.insert(
        "metadata".to_owned(),
        json!({
            "result_id": envelope.result_id,
            "effect_state": envelope.effect_state,
            "approval_id": envelope.approval_id,
            "error": envelope.error,
        }),
    );
    let parts = parts(envelope);
    if !parts.is_empty() {
        let artifact = json!({ "artifactId": envelope.result_id, "parts": parts });
        fields.insert("artifacts".to_owned(), json!([artifact]));
    }
    task
}

fn task(id: &str, context: &str, state: &str, words: Option<String>, at: Timestamp) -> Value {
    let mut status = json!({ "state": state, "timestamp": at });
    if let (Some(words), Some(fields)) = (words, status.as_object_mut()) {
        let message = json!({
            "kind": "message",
            "role": "agent",
            "messageId": format!("{id}_status"),
            "parts": [{ "kind": "text", "text": words }],
        });
        fields.insert("message".to_owned(), message);
    }
    json!({ "kind": "task", "id": id, "contextId": context, "status": status })
}

fn parts(envelope: &Envelope) -> Vec<Value> {
    let piece = |piece: &Content| match piece {
        Content::Text { text, .. } | Content::Log { text, .. } | Content::Diff { text, .. } => {
            Some(json!({ "kind": "text", "text": text }))
        }
        Content::EmbeddedResource { text, .. } => Some(json!({ "kind": "text", "text": text })),
        Content::Image(media)
        | Content::Audio(media)
        | Content::Video(media)
        | Content::File(media) => Some(json!({
            "kind": "file",
            "file": { "bytes": media.data, "mimeType": media.mime_type, "name": media.name },
        })),
        Content::ResourceLink(link)
        | Content::ArtifactRef(link)
        | Content::PersistedOutputRef(link)
        | Content::HandoffRef(link) => {
            Some(json!({ "kind": "file", "file": { "uri": link.uri, "mimeType": link.mime_type } }))
        }
        // The structured value is a part of its own.
        Content::StructuredContent { .. } => None,
    };
    let data = envelope.structured_content.as_ref();
    let data = data.map(|value| match value {
        Value::Object(_) => json!({ "kind": "data", "data": value }),
        other => json!({ "kind": "data", "data": { "value": other } }),
    });
    envelope.model_facing_content.iter().filter_map(piece).chain(data).collect()
}
