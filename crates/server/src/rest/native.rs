//! What a request is known by elsewhere: its own id, and the trace that it is a part of.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use haft_model::InvocationId;
use serde_json::{Value, json};

/// The trace that a request is a part of (W3C Trace Context).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    id: String,
    parent: String,
    flags: String,
}

/// The header that carries it.
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

impl Trace {
    /// The trace of a request; none where it says none, or says it wrongly.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Trace> {
        Trace::parse(text(headers, TRACEPARENT)?)
    }

    fn parse(text: &str) -> Option<Trace> {
        let mut parts = text.split('-');
        let (version, id, parent, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let written = |part: &str, length: usize| {
            let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            part.len() == length && part.bytes().all(hex)
        };
        let said = |part: &str| part.bytes().any(|byte| byte != b'0');
        // Later versions may add parts, and the first has none.
        let whole = version != "00" || parts.next().is_none();
        let sound = written(version, 2) && version != "ff" && written(flags, 2) && whole;
        let named = written(id, 32) && said(id) && written(parent, 16) && said(parent);
        (sound && named).then(|| Trace {
            id: id.to_owned(),
            parent: parent.to_owned(),
            flags: flags.to_owned(),
        })
    }

    /// The same trace with a call as its last part, for whoever asked.
    pub(crate) fn continued(&self, call: &InvocationId) -> Option<HeaderValue> {
        let id = call.as_str();
        let span = id.get(id.len().checked_sub(16)?..)?;
        HeaderValue::from_str(&format!("00-{}-{span}-{}", self.id, self.flags)).ok()
    }
}

/// What a call that came by a request is known by.
pub(crate) fn refs(headers: &HeaderMap, method: &str, path: &str) -> Vec<Value> {
    let id = text(headers, HeaderName::from_static("x-request-id"));
    let mut refs = vec![json!({ "source": "http", "method": method, "path": path })];
    if let (Some(id), Some(fields)) = (id, refs.first_mut().and_then(Value::as_object_mut)) {
        fields.insert("id".to_owned(), json!(id));
        fields.insert("request_id".to_owned(), json!(id));
    }
    if let Some(trace) = Trace::of(headers) {
        refs.push(json!({
            "source": "telemetry",
            "trace_id": trace.id,
            "span_id": trace.parent,
            "traceparent": format!("00-{}-{}-{}", trace.id, trace.parent, trace.flags),
        }));
    }
    refs
}

/// A header as text.
pub(crate) fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_as_it_is_written_and_nothing_else_is() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let trace = Trace::parse(good).unwrap();
        assert_eq!(trace.id, "4bf92f3577b34da6a3ce929d0e0e4736");
        let id = InvocationId::from("inv_0198aaaabbbbccccddddeeeeffff0001");
        let continued = trace.continued(&id).unwrap();
        assert_eq!(continued, "00-4bf92f3577b34da6a3ce929d0e0e4736-ddddeeeeffff0001-01");
        assert!(Trace::parse(&good.replacen("00-", "01-", 1)).is_some());
        for bad in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        ] {
            assert_eq!(Trace::parse(bad), None, "{bad}");
        }
    }
}
