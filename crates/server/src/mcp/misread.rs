//! Bodies that are no messages. The library takes them for documents of the wrong kind and says so in
//! plain text; JSON-RPC has answers for them that clients can read.

use axum::Json;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::de::IgnoredAny;
use serde_json::json;

/// What a client hears whose JSON is none, and whose message is none.
const NO_JSON: i32 = -32700;
const NO_MESSAGE: i32 = -32600;

/// The answer to a request that the library could not read, instead of the one that it gave.
pub(super) fn answer(head: &Parts, body: &[u8], given: &Response) -> Option<Response> {
    let kind = head.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_json = kind.is_some_and(|kind| kind.trim_start().starts_with("application/json"));
    if !is_json || given.status() != StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return None;
    }
    let (code, message) = match serde_json::from_slice::<IgnoredAny>(body) {
        Err(fault) => (NO_JSON, format!("the body is not JSON: {fault}")),
        Ok(_) => (NO_MESSAGE, "the body is no single message of JSON-RPC 2.0".to_owned()),
    };
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}});
    Some((StatusCode::BAD_REQUEST, Json(error)).into_response())
}
