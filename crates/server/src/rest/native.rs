//! Foreign ids of a REST request: its request id and its trace context.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use haft_model::{InvocationId, TRACEPARENT, TRACESTATE, Trace};
use serde_json::{Value, json};

/// The trace context of a request; `None` where it is missing or malformed.
pub(crate) fn traced(headers: &HeaderMap) -> Option<Trace> {
    let said = |name| text(headers, HeaderName::from_static(name));
    Some(Trace::parse(said(TRACEPARENT)?)?.with_state(said(TRACESTATE)))
}

/// The trace of a request with a call as its last span, for the response.
pub(crate) fn continued(trace: &Trace, call: &InvocationId) -> Option<HeaderValue> {
    HeaderValue::from_str(&trace.continued(call)?.to_string()).ok()
}

/// The foreign ids of a call that came by a request.
pub(crate) fn refs(headers: &HeaderMap, method: &str, path: &str) -> Vec<Value> {
    let id = text(headers, HeaderName::from_static("x-request-id"));
    let mut refs = vec![json!({ "source": "http", "method": method, "path": path })];
    if let (Some(id), Some(fields)) = (id, refs.first_mut().and_then(Value::as_object_mut)) {
        fields.insert("id".to_owned(), json!(id));
        fields.insert("request_id".to_owned(), json!(id));
    }
    refs.extend(traced(headers).map(|trace| trace.reference()));
    refs
}

/// A header as text.
pub(crate) fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
