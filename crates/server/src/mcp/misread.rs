//! JSON-RPC parse errors: answers bodies that are no messages.
//!
//! The library takes them for an unsupported media type and says so in plain text; JSON-RPC has
//! errors for them that clients can read.

use axum::Json;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use haft_model::JsonFlaw;
use serde::de::IgnoredAny;
use serde_json::json;

/// JSON-RPC codes: parse error, and invalid request.
const NO_JSON: i32 = -32700;
const NO_MESSAGE: i32 = -32600;

/// Whether a request's content type is JSON.
pub(super) fn is_json(head: &Parts) -> bool {
    let kind = head.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().starts_with("application/json"))
}

/// The answer to a body that the library could not parse.
pub(super) fn answer(body: &[u8]) -> Response {
    let (code, message) = match serde_json::from_slice::<IgnoredAny>(body) {
        Err(fault) => match JsonFlaw::in_text(body) {
            Some(flaw) => (NO_JSON, flaw.to_string()),
            None => (NO_JSON, format!("the body is not JSON: {fault}")),
        },
        Ok(_) => (NO_MESSAGE, "the body is no single message of JSON-RPC 2.0".to_owned()),
    };
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}});
    (StatusCode::BAD_REQUEST, Json(error)).into_response()
}
