//! The trace that a call is a part of, as callers say it (W3C Trace Context).

use axum::http::{HeaderName, HeaderValue};
use haft_model::InvocationId;
use serde_json::{Value, json};

/// A trace and the span in it that a call is made by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    pub(crate) id: String,
    pub(crate) parent: String,
    flags: String,
}

/// The header, or the field of `_meta`, that carries it.
pub(crate) const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

impl Trace {
    /// Reads a `traceparent`; none where it is wrong.
    pub(crate) fn parse(text: &str) -> Option<Trace> {
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

    /// What a call that is a part of it keeps of it.
    pub(crate) fn reference(&self) -> Value {
        json!({
            "source": "telemetry",
            "trace_id": self.id,
            "span_id": self.parent,
            "traceparent": format!("00-{}-{}-{}", self.id, self.parent, self.flags),
        })
    }

    /// The trace among what a call is known by.
    pub(crate) fn among(native: &[Value]) -> Option<Trace> {
        let said = native.iter().find_map(|one| one.get("traceparent")?.as_str())?;
        Trace::parse(said)
    }

    /// Whether whoever began it wants it kept.
    pub(crate) fn is_sampled(&self) -> bool {
        u8::from_str_radix(&self.flags, 16).is_ok_and(|flags| flags & 1 == 1)
    }

    /// The same trace with a call as its last part, for whoever asked.
    pub(crate) fn continued(&self, call: &InvocationId) -> Option<HeaderValue> {
        let span = span_of(call)?;
        HeaderValue::from_str(&format!("00-{}-{span}-{}", self.id, self.flags)).ok()
    }
}

/// What a call that is a part of a trace is known by; none where the `traceparent` is wrong.
pub fn trace_reference(traceparent: &str) -> Option<Value> {
    Trace::parse(traceparent).map(|trace| trace.reference())
}

/// The span of a call, which whoever made it is told too.
pub(crate) fn span_of(call: &InvocationId) -> Option<&str> {
    let id = call.as_str();
    id.get(id.len().checked_sub(16)?..)
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
        assert_eq!(Trace::among(&[json!({ "source": "http" }), trace.reference()]), Some(trace));
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
