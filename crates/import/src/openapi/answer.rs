//! OpenAPI responses: the output schema of a success, and the error responses with a meaning of
//! their own.

use serde_json::{Map, Value, json};

use super::body::is_json;
use super::document::Document;
use crate::schema::{Loss, Side, shaped};
use crate::text;

/// The response of an operation.
#[derive(Clone, Debug)]
pub(super) struct OperationResponse {
    /// The schema of the output.
    pub(super) outputs: Value,
    /// The name under which the answer stands in it, where it is no object.
    pub(super) wrap: Option<&'static str>,
    /// Content negotiation: the `Accept` header, where that is not plain JSON.
    pub(super) accept: Option<String>,
    /// A media type that no driver reads.
    pub(super) unreadable: Option<String>,
    pub(super) lost: Vec<String>,
    pub(super) losses: Vec<Loss>,
    pub(super) is_cut: bool,
}

/// A refusal that the document describes and HTTP alone does not explain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ErrorResponse {
    pub(super) status: u16,
    pub(super) name: &'static str,
    pub(super) meaning: String,
}

/// The success response of an operation.
pub(super) fn of<'d>(document: &Document<'d>, operation: &'d Value) -> OperationResponse {
    let empty = OperationResponse {
        outputs: json!({ "type": "object" }),
        wrap: None,
        accept: None,
        unreadable: None,
        lost: Vec::new(),
        losses: Vec::new(),
        is_cut: false,
    };
    let Some(content) = content(document, operation) else { return empty };
    let json = content.iter().find(|(media, _)| is_json(media));
    let text = content.iter().find(|(media, _)| media.starts_with("text/"));
    match (json, text) {
        (Some((media, content)), _) => {
            let accept = media.ends_with("+json").then(|| media.clone());
            OperationResponse { accept, ..structured(document, content.get("schema")) }
        }
        (None, Some((media, _))) => OperationResponse {
            outputs: json!({ "type": "object", "properties": { "text": { "type": "string" } } }),
            wrap: Some("text"),
            accept: Some(media.clone()),
            ..empty
        },
        (None, None) => OperationResponse {
            unreadable: content.keys().next().map(|media| text::line(media, 80)),
            ..empty
        },
    }
}

/// The content of the answer that says all is well: the lowest 2xx that has some, or the default.
fn content<'d>(document: &Document<'d>, operation: &'d Value) -> Option<&'d Map<String, Value>> {
    let responses = operation.get("responses").and_then(Value::as_object)?;
    let mut good: Vec<(&String, &'d Value)> =
        responses.iter().filter(|(status, _)| status.starts_with('2')).collect();
    good.sort_by_key(|(status, _)| status.as_str());
    let default = responses.get_key_value("default").filter(|_| good.is_empty());
    good.into_iter().chain(default).find_map(|(_, raw)| {
        let content = document.resolved(raw)?.get("content")?.as_object()?;
        (!content.is_empty()).then_some(content)
    })
}

fn structured<'d>(document: &Document<'d>, raw: Option<&'d Value>) -> OperationResponse {
    let mut shaped = shaped(document, raw.unwrap_or(&Value::Null), Side::Output);
    let wrap = wrap(&shaped.schema);
    if let Some(name) = wrap {
        shaped.schema = json!({ "type": "object", "properties": { name: shaped.schema } });
    } else if shaped.schema == json!({}) {
        shaped.schema = json!({ "type": "object" });
    }
    let lost = std::mem::take(&mut shaped.lost);
    let losses = std::mem::take(&mut shaped.losses);
    let is_cut = shaped.is_cut;
    OperationResponse {
        outputs: shaped.whole(),
        wrap,
        accept: None,
        unreadable: None,
        lost,
        losses,
        is_cut,
    }
}

/// The name under which an answer is put that is surely no object, or may be something else.
fn wrap(schema: &Value) -> Option<&'static str> {
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => None,
        Some(Value::String(kind)) if kind == "array" => Some("items"),
        Some(_) => Some("value"),
        None if schema.get("items").is_some() => Some("items"),
        None if *schema == Value::Bool(false) => Some("value"),
        None => None,
    }
}

/// The refusals that are worth a name of their own.
pub(super) fn refusals<'d>(document: &Document<'d>, operation: &'d Value) -> Vec<ErrorResponse> {
    let responses = operation.get("responses").and_then(Value::as_object);
    let named = responses.into_iter().flatten().filter_map(|(status, raw)| {
        let status: u16 = status.parse().ok()?;
        let name = name(status)?;
        let described = document.resolved(raw)?.get("description").and_then(Value::as_str);
        let meaning = text::line(described.unwrap_or_default(), 300);
        let meaning =
            if meaning.is_empty() { format!("the server answered {status}") } else { meaning };
        Some(ErrorResponse { status, name, meaning })
    });
    named.collect()
}

/// Statuses to which Haft gives no code of its own.
fn name(status: u16) -> Option<&'static str> {
    Some(match status {
        400 => "bad_request",
        402 => "payment_required",
        405 => "method_not_allowed",
        406 => "not_acceptable",
        410 => "gone",
        412 => "precondition_failed",
        413 => "too_large",
        415 => "unsupported_media_type",
        422 => "unprocessable",
        423 => "locked",
        428 => "precondition_required",
        451 => "unavailable_for_legal_reasons",
        _ => return None,
    })
}
