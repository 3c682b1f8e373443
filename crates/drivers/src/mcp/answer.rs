//! Result mapping: turns a `tools/call` result into the output or the failure of a call.

use haft_driver::{Failure, Output};
use haft_model::{Cause, CauseDetail, Code, Content, EffectState, Link, Media, Stop};
use rmcp::model::{
    CallToolResult, ContentBlock, CreateTaskResult, ElicitRequestParams, InputRequiredResult,
    ResourceContents,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::client_handler::question;
use super::fault::RequestFault;
use super::manifest::McpEntry;
use super::tools::one_line;
use crate::exact;
use crate::web::MOST_BYTES;

/// The response to a tool call.
pub(super) enum ToolResponse {
    Complete(CallToolResult),
    /// The server asks for input before it goes on.
    InputRequired(InputRequiredResult),
    /// A task goes on with the call.
    Task(CreateTaskResult),
}

impl ToolResponse {
    /// Decodes a result by its `resultType`. Numbers of the structured content that `f64` would
    /// round are marked first.
    pub(super) fn decode(result: &RawValue) -> Result<ToolResponse, RequestFault> {
        #[derive(Deserialize)]
        struct ResultKind {
            #[serde(rename = "resultType")]
            kind: String,
        }
        let text = exact::marked(result.get().as_bytes(), &["structuredContent"]);
        if let Ok(complete) = serde_json::from_slice(&text) {
            return Ok(ToolResponse::Complete(complete));
        }
        let kind = serde_json::from_slice::<ResultKind>(&text);
        let response = match kind.as_ref().map(|kind| kind.kind.as_str()) {
            Ok("input_required") => serde_json::from_slice(&text).map(ToolResponse::InputRequired),
            Ok("task") => serde_json::from_slice(&text).map(ToolResponse::Task),
            Ok(_) | Err(_) => return Err(RequestFault::Undecodable),
        };
        response.map_err(|_| RequestFault::Undecodable)
    }
}

/// Maps a successful result to an output. The effect stays as known, even where the result is
/// invalid or too large.
pub(super) fn taken(
    result: CallToolResult,
    entry: &McpEntry,
    effect: EffectState,
) -> Result<Output, Failure> {
    let failed = |code: Code, words: String| Failure::new(Stop::new(code, words), effect);
    let structured = result.structured_content.as_ref().map(Value::to_string);
    let size = structured.as_ref().map_or(0, String::len) + size(&result.content);
    if size > MOST_BYTES {
        let words =
            format!("`{}` answered with {size} bytes, and {MOST_BYTES} are taken", entry.tool);
        return Err(failed(Code::ResultTooLarge, words));
    }
    let (value, rest) = value(result, structured, entry).ok_or_else(|| {
        let words = format!("`result_extract` finds nothing in the answer of `{}`", entry.tool);
        failed(Code::OutputInvalid, words)
    })?;
    let content = rest.into_iter().map(content).collect();
    let value = value.map(|value| entry.wrap.around(value));
    let output = Output { structured: value, content, effect, ..Output::read(Value::Null) };
    Ok(exact::settled(output))
}

/// Maps a result with `isError` to a failure that quotes the tool's own text.
pub(super) fn failed(result: &CallToolResult, entry: &McpEntry, effect: EffectState) -> Failure {
    let said = result.content.iter().find_map(ContentBlock::as_text);
    let words = said.map(|said| one_line(&said.text)).filter(|said| !said.is_empty());
    let words = match words {
        Some(said) => format!("`{}` failed: {said}", entry.tool),
        None => format!("`{}` failed and does not say why", entry.tool),
    };
    let whole = said.map(|said| said.text.chars().take(4096).collect::<String>());
    let structured = result.structured_content.clone().map(exact::rounded);
    let cause = Cause::running()
        .with(CauseDetail::Answer(json!(whole)))
        .with(CauseDetail::Structured(structured.unwrap_or_default()));
    Failure::new(Stop::new(Code::ExecutionFailed, words).because(cause), effect)
}

/// Refuses an elicitation of a tool where the caller cannot answer; the tool has done nothing yet.
pub(super) fn asks(result: &InputRequiredResult, entry: &McpEntry) -> Stop {
    let requests = serde_json::to_value(&result.input_requests).unwrap_or_default();
    let asked = requests.as_object().into_iter().flatten().find_map(|(_, request)| {
        let asked = request.get("params")?;
        ElicitRequestParams::deserialize(asked).ok().map(|_| question(asked))
    });
    unanswerable(&entry.tool, asked.as_deref().unwrap_or_default())
        .because(Cause::running().with(CauseDetail::InputRequests(requests)))
}

/// The refusal of an elicitation that the caller cannot answer.
pub(super) fn unanswerable(tool: &str, asked: &str) -> Stop {
    let words = match asked {
        "" => format!("`{tool}` wants to be told more before it goes on"),
        asked => format!("`{tool}` asks: {asked}"),
    };
    Stop::new(Code::ApprovalRequired, words)
        .help("call from a client that shows forms, or give the answer as an argument")
}

/// The output value, and the content blocks beside it. `structured` is its JSON text.
fn value(
    result: CallToolResult,
    structured: Option<String>,
    entry: &McpEntry,
) -> Option<(Option<Value>, Vec<ContentBlock>)> {
    let mut pieces = result.content;
    let extracted = |value: Value| match entry.takes_all {
        true => Some(value),
        false => entry.extract.extract(&value),
    };
    if let (Some(value), Some(text)) = (result.structured_content, structured) {
        // Servers repeat structured content as a text block for older clients.
        let is_text = |piece: &ContentBlock| piece.as_text().is_some_and(|said| said.text == text);
        pieces.retain(|piece| !is_text(piece) && parsed(piece).as_ref() != Some(&value));
        return Some((Some(extracted(value)?), pieces));
    }
    let Some(first) = pieces.first() else {
        return entry.takes_all.then_some((None, pieces));
    };
    // Several blocks of which the first is not JSON stay content; none becomes the output.
    if entry.takes_all && pieces.len() > 1 && parsed(first).is_none() {
        return Some((None, pieces));
    }
    let whole = || serde_json::to_value(first).ok();
    let found = parsed(first).and_then(extracted).or_else(|| whole().and_then(extracted))?;
    if entry.takes_all && first.as_text().is_some() {
        pieces.remove(0);
    }
    Some((Some(found), pieces))
}

/// The JSON value of a text block, if it is one.
fn parsed(piece: &ContentBlock) -> Option<Value> {
    exact::read(piece.as_text()?.text.as_bytes()).ok()
}

fn size(pieces: &[ContentBlock]) -> usize {
    let pieces = pieces.iter().map(|piece| match piece {
        ContentBlock::Text(text) => text.text.len(),
        ContentBlock::Image(image) => image.data.len(),
        ContentBlock::Audio(audio) => audio.data.len(),
        other => serde_json::to_string(other).map_or(0, |text| text.len()),
    });
    pieces.sum()
}

fn content(piece: ContentBlock) -> Content {
    let media = |mime_type, data| Media { mime_type, data, name: None };
    match piece {
        ContentBlock::Text(text) => Content::Text { text: text.text },
        ContentBlock::Image(image) => Content::Image(media(image.mime_type, image.data)),
        ContentBlock::Audio(audio) => Content::Audio(media(audio.mime_type, audio.data)),
        ContentBlock::Resource(resource) => embedded(resource.resource),
        ContentBlock::ResourceLink(link) => Content::ResourceLink(Link {
            uri: link.uri,
            name: Some(link.name),
            mime_type: link.mime_type,
            size: link.size,
            ..Link::default()
        }),
        other => {
            Content::StructuredContent { data: serde_json::to_value(other).unwrap_or_default() }
        }
    }
}

fn embedded(resource: ResourceContents) -> Content {
    match resource {
        ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
            Content::EmbeddedResource { uri, mime_type, text }
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            let mime_type = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
            Content::File(Media { mime_type, data: blob, name: Some(uri) })
        }
        other => {
            Content::StructuredContent { data: serde_json::to_value(other).unwrap_or_default() }
        }
    }
}
