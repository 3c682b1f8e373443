//! An envelope as the result of `tools/call`.

use haft_model::{Content, Envelope, Link, ResultStatus};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ErrorCode, MetaObject, Resource,
    ResourceContents,
};
use serde_json::{Value, json};

/// Whether a call waits for a person.
pub(super) fn waits(envelope: &Envelope) -> bool {
    envelope.status == ResultStatus::Pending
}

/// The result that a client gets. `promises` says whether the tool has an output schema: clients take
/// a result without a value for broken then, unless it says that it is none.
pub(super) fn of(envelope: &Envelope, promises: bool) -> Result<CallToolResponse, ErrorData> {
    let situation = envelope.situation();
    if let Some(code) = situation.and_then(|situation| situation.mcp_error()) {
        let data = json!({
            "result_id": envelope.result_id,
            "invocation_id": envelope.invocation_id,
            "code": envelope.error.as_ref().map(|error| error.error_code),
        });
        return Err(ErrorData::new(ErrorCode(code), envelope.summary.clone(), Some(data)));
    }
    Ok(result(envelope, promises).into())
}

/// The same, for a call that no error of the protocol answers.
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
        let how = format!("haft approve {question}");
        meta.insert(
            "dev.haft/approval".to_owned(),
            json!({ "approval_id": question, "state": "open", "answer_with": how }),
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
        Content::StructuredContent { data } => ContentBlock::text(data.to_string()),
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
