//! Tool result: an envelope as the result of `tools/call`.

use haft_model::{
    ClientAbility, Code, Content, Envelope, Link, ResultStatus, Status, cleaned, cleaned_value,
};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ErrorCode, JsonObject, MetaObject, Resource,
    ResourceContents, TASKS_EXTENSION_ID, TaskPayload,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error_mapping::mcp_error;

/// Whether a call waits for approval.
pub(super) fn waits(envelope: &Envelope) -> bool {
    envelope.status == ResultStatus::Pending
}

/// The result for a client. `promises` says whether the tool has an output schema: clients then
/// treat a result without a value as broken, unless it is an error.
pub(super) fn of(envelope: &Envelope, promises: bool) -> Result<CallToolResponse, ErrorData> {
    if let Some(error) = native_error(envelope).filter(|error| is_of_the_protocol(error.code)) {
        return Err(error);
    }
    if let Some(code) = envelope.situation().and_then(mcp_error) {
        let data = json!({
            "result_id": envelope.result_id,
            "invocation_id": envelope.invocation_id,
            "code": envelope.error.as_ref().map(|error| error.error_code),
        });
        return Err(ErrorData::new(code, envelope.summary.clone(), Some(data)));
    }
    Ok(result(envelope, promises).into())
}

/// The protocol error behind a failure: the backend's own, or that the caller cannot answer the
/// backend's elicitation.
pub(super) fn native_error(envelope: &Envelope) -> Option<ErrorData> {
    let error = envelope.error.as_ref()?;
    if let Some(missing) = error.cause.missing_abilities() {
        let required = missing.iter().map(|ability| {
            let (name, value) = match ability {
                ClientAbility::Form => ("elicitation", json!({ "form": {} })),
                ClientAbility::Page => ("elicitation", json!({ "url": {} })),
                ClientAbility::Roots => ("roots", json!({})),
                ClientAbility::Tasks => ("extensions", json!({ TASKS_EXTENSION_ID: {} })),
                ClientAbility::Sample => ("sampling", json!({})),
            };
            (name.to_owned(), value)
        });
        let data = json!({ "requiredCapabilities": required.collect::<Map<_, _>>() });
        let code = ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
        return Some(ErrorData::new(code, error.message.clone(), Some(data)));
    }
    let native = error.cause.json_rpc()?;
    let code = i32::try_from(native.code).ok()?;
    let data = native.data.clone().filter(|data| !data.is_null());
    let said = native.message.as_deref();
    let message = said.map_or_else(|| error.message.clone(), |said| cleaned(said).into_owned());
    Some(ErrorData::new(ErrorCode(code), message, data))
}

/// The payload of a finished task. A tool failure is a result like any other; a protocol error, of
/// the backend or ours, is none.
pub(super) fn outcome(envelope: &Envelope) -> TaskPayload {
    if envelope.final_status == Status::Canceled {
        return TaskPayload::Cancelled;
    }
    let ours = envelope.error.as_ref().filter(|error| error.error_code == Code::Internal);
    let ours = ours.map(|error| ErrorData::internal_error(error.message.clone(), None));
    match native_error(envelope).or(ours) {
        Some(error) => TaskPayload::Failed { error: object(error) },
        None => TaskPayload::Completed { result: object(result(envelope, false)) },
    }
}

/// A protocol value as a JSON object.
pub(super) fn object(value: impl Serialize) -> JsonObject {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => JsonObject::new(),
    }
}

/// Whether an error is about the protocol, and not about the tool.
fn is_of_the_protocol(code: ErrorCode) -> bool {
    code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
}

/// The same, for a call without a protocol error.
pub(super) fn result(envelope: &Envelope, promises: bool) -> CallToolResult {
    let content: Vec<_> = envelope.model_facing_content.iter().map(block).collect();
    let bad = envelope.is_error || (waits(envelope) && promises);
    let mut result =
        if bad { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content.clone_from(&envelope.structured_content);
    result.meta = Some(meta(envelope));
    result
}

fn meta(envelope: &Envelope) -> MetaObject {
    let mut meta = MetaObject::new();
    meta.insert("dev.haft/invocation-id".to_owned(), json!(envelope.invocation_id));
    if let Some(question) = &envelope.approval_id {
        meta.insert(
            "dev.haft/approval".to_owned(),
            json!({ "approval_id": question, "state": "open", "decided_by": "a person" }),
        );
    }
    if let Some(error) = &envelope.error {
        meta.insert("dev.haft/error".to_owned(), json!(error));
    }
    meta
}

fn block(piece: &Content) -> ContentBlock {
    match piece {
        Content::Text { text } | Content::Log { text, .. } | Content::Diff { text, .. } => {
            ContentBlock::text(text.clone())
        }
        Content::StructuredContent { data } => ContentBlock::text(cleaned_value(data).to_string()),
        Content::Image(media) => ContentBlock::image(media.data.clone(), media.mime_type.clone()),
        Content::Audio(media) => ContentBlock::audio(media.data.clone(), media.mime_type.clone()),
        Content::Video(media) | Content::File(media) => {
            let name = media.name.as_deref().unwrap_or("file");
            let contents =
                ResourceContents::blob(media.data.clone(), format!("haft://file/{name}"));
            ContentBlock::resource(contents.with_mime_type(media.mime_type.clone()))
        }
        Content::EmbeddedResource { uri, mime_type, text } => {
            let contents = ResourceContents::text(text.clone(), uri.clone());
            ContentBlock::resource(match mime_type {
                Some(mime_type) => contents.with_mime_type(mime_type.clone()),
                None => contents,
            })
        }
        Content::ResourceLink(link)
        | Content::ArtifactRef(link)
        | Content::PersistedOutputRef(link)
        | Content::HandoffRef(link) => ContentBlock::resource_link(resource(link)),
    }
}

fn resource(link: &Link) -> Resource {
    let name = link.name.clone().unwrap_or_else(|| link.uri.clone());
    let mut resource = Resource::new(link.uri.clone(), name);
    resource.mime_type.clone_from(&link.mime_type);
    resource.size = link.size;
    let about: Value = json!({ "digest": link.digest, "relation": link.relation });
    if let Value::Object(about) = about {
        let said = about.into_iter().filter(|(_, value)| !value.is_null());
        let meta: MetaObject = said
            .map(|(name, value)| (format!("dev.haft/{name}"), value))
            .collect::<serde_json::Map<_, _>>()
            .into();
        resource.meta = Some(meta);
    }
    resource
}
