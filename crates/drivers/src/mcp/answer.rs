//! Result mapping: turns a `tools/call` result into the output or the failure of a call.

use haft_driver::{Failure, Output, ValueSource};
use haft_model::{Cause, CauseDetail, Code, Content, EffectState, Stop};
use rmcp::model::CreateTaskResult;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::backend::InputRequired;
use super::blocks;
use super::client_handler::question;
use super::fault::RequestFault;
use super::manifest::McpEntry;
use super::tools::one_line;
use crate::exact;
use crate::web::MOST_BYTES;

/// The response to a tool call.
pub(super) enum ToolResponse {
    Complete(ToolResult),
    /// The server asks for input before it goes on.
    InputRequired(InputRequired),
    /// A task goes on with the call.
    Task(CreateTaskResult),
}

/// The result of a tool call, with every field of its blocks.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolResult {
    result_type: Option<String>,
    content: Option<Vec<Map<String, Value>>>,
    #[serde(default, deserialize_with = "present")]
    structured_content: Option<Value>,
    is_error: Option<bool>,
    #[serde(rename = "_meta")]
    meta: Option<Map<String, Value>>,
}

/// A member that is there, `null` included.
fn present<'de, D: Deserializer<'de>>(member: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(member).map(Some)
}

impl ToolResult {
    /// Decodes a result of this kind; another kind of result, or an object that only happens to
    /// decode, is none.
    pub(super) fn decode(text: &[u8]) -> Option<ToolResult> {
        let result: ToolResult = serde_json::from_slice(text).ok()?;
        let is_complete = result.result_type.as_deref().is_none_or(|kind| kind == "complete");
        let is_known = result.result_type.is_some()
            || result.content.is_some()
            || result.structured_content.is_some()
            || result.is_error.is_some()
            || result.meta.is_some();
        (is_complete && is_known).then_some(result)
    }

    /// Whether the tool failed.
    pub(super) fn is_error(&self) -> bool {
        self.is_error == Some(true)
    }

    fn blocks(&mut self) -> Vec<Map<String, Value>> {
        self.content.take().unwrap_or_default()
    }

    fn bytes(&self) -> usize {
        let blocks = self.content.iter().flatten().flat_map(Map::values).map(bytes);
        let meta = self.meta.iter().flat_map(Map::values).map(bytes);
        blocks.chain(meta).sum::<usize>() + self.structured_content.as_ref().map_or(0, bytes)
    }
}

/// Bytes of a value as JSON, without the escapes of texts.
fn bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        other => other.to_string().len(),
    }
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
        if let Some(complete) = ToolResult::decode(&text) {
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
    mut result: ToolResult,
    entry: &McpEntry,
    effect: EffectState,
) -> Result<Output, Failure> {
    let failed = |code: Code, words: String| Failure::new(Stop::new(code, words), effect);
    let size = result.bytes();
    if size > MOST_BYTES {
        let words =
            format!("`{}` answered with {size} bytes, and {MOST_BYTES} are taken", entry.tool);
        return Err(failed(Code::ResultTooLarge, words));
    }
    let meta = result.meta.take().unwrap_or_default();
    let output = match entry.takes_all && entry.wrap.0.is_none() {
        true => passed(result),
        false => extracted(result, entry).ok_or_else(|| {
            let words = format!("`result_extract` finds nothing in the answer of `{}`", entry.tool);
            failed(Code::OutputInvalid, words)
        })?,
    };
    Ok(exact::settled(Output { effect, meta, ..output }))
}

/// The result as the server gave it. A contract that demands a value gets the one that the first
/// text says where the server states none.
fn passed(mut result: ToolResult) -> Output {
    let content: Vec<Content> = result.blocks().into_iter().map(blocks::content).collect();
    let stated = result.structured_content;
    let source = if stated.is_some() { ValueSource::Stated } else { ValueSource::Content };
    let structured = stated.or_else(|| match content.as_slice() {
        [Content::Text { text, .. }] => Some(parsed(text).unwrap_or_else(|| json!(text))),
        [Content::Text { text, .. }, ..] => parsed(text),
        _ => None,
    });
    Output { structured, source, content, ..Output::read(Value::Null) }
}

/// The part of a result that the driver's manifest selects, and the blocks beside it. A text that
/// the value is read from, or that repeats it, gives way to it.
fn extracted(mut result: ToolResult, entry: &McpEntry) -> Option<Output> {
    let blocks = result.blocks();
    let first = blocks.first().cloned();
    let mut content: Vec<Content> = blocks.into_iter().map(blocks::content).collect();
    let extract = |value: Value| match entry.takes_all {
        true => Some(value),
        false => entry.extract.extract(&value),
    };
    let found = if let Some(value) = result.structured_content {
        // Servers repeat structured content as a text block for older clients.
        content.retain(|piece| said(piece).and_then(parsed).as_ref() != Some(&value));
        Some(extract(value)?)
    } else if let Some(read) = content.first().and_then(said).and_then(parsed).and_then(extract) {
        content.remove(0);
        Some(read)
    } else if let Some(first) = first {
        // Texts that are no JSON pass as they are; under `wrap` the text is the value.
        match content.first().and_then(said).filter(|_| entry.takes_all) {
            Some(text) => Some(json!(text)),
            None => Some(extract(Value::Object(first))?),
        }
    } else {
        entry.takes_all.then_some(())?;
        None
    };
    let structured = found.map(|value| entry.wrap.around(value));
    Some(Output { structured, content, ..Output::read(Value::Null) })
}

/// Maps a result with `isError` to a failure that quotes the tool's own text and carries its blocks.
pub(super) fn failed(mut result: ToolResult, entry: &McpEntry, effect: EffectState) -> Failure {
    let is_small = result.bytes() <= MOST_BYTES;
    let content: Vec<Content> = result.blocks().into_iter().map(blocks::content).collect();
    let text = content.iter().find_map(said);
    let words = text.map(one_line).filter(|words| !words.is_empty());
    let words = match words {
        Some(words) => format!("`{}` failed: {words}", entry.tool),
        None => format!("`{}` failed and does not say why", entry.tool),
    };
    let whole = text.map(|text| text.chars().take(4096).collect::<String>());
    let structured = result.structured_content.map(exact::rounded);
    let cause = Cause::running()
        .with(CauseDetail::Answer(json!(whole)))
        .with(CauseDetail::Structured(structured.clone().unwrap_or_default()));
    let meta = result.meta.unwrap_or_default();
    let report = Output { structured, content, meta, effect, ..Output::read(Value::Null) };
    let report = (is_small && !report.content.is_empty()).then(|| Box::new(report));
    let stop = Stop::new(Code::ExecutionFailed, words).because(cause);
    Failure { report, ..Failure::new(stop, effect) }
}

/// Refuses an elicitation of a tool where the caller cannot answer; the tool has done nothing yet.
pub(super) fn asks(result: &InputRequired, entry: &McpEntry) -> Stop {
    let asked = result.input_requests.values().find_map(|request| {
        (request.get("method")? == "elicitation/create").then_some(question(request.get("params")?))
    });
    let requests = Value::Object(result.input_requests.clone());
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

/// The text of a text block.
fn said(piece: &Content) -> Option<&str> {
    match piece {
        Content::Text { text, .. } => Some(text),
        _ => None,
    }
}

/// The JSON value of a text, if it is one.
fn parsed(text: &str) -> Option<Value> {
    exact::read(text.as_bytes()).ok()
}
