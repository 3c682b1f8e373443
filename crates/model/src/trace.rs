//! Trace context (W3C): the trace that a call belongs to, as callers and backends name it.

use std::fmt;

use serde_json::{Value, json};

use crate::InvocationId;

/// The header, the field of `_meta` and, in capitals, the variable that carries a trace.
pub const TRACEPARENT: &str = "traceparent";

/// Vendor state of a trace, carried beside it.
pub const TRACESTATE: &str = "tracestate";

/// Longest `tracestate` that is passed on, in bytes.
const LONGEST_STATE: usize = 512;

/// A trace, and the span in it that asks. Its text form is a `traceparent`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Trace id, 32 hex digits.
    pub id: String,
    /// Span id, 16 hex digits.
    pub parent: String,
    flags: String,
    state: Option<String>,
}

impl Trace {
    /// Parses a `traceparent`; `None` where it is malformed.
    pub fn parse(text: &str) -> Option<Trace> {
        let mut parts = text.split('-');
        let (version, id, parent, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        // Later versions may add parts, and the first has none.
        let whole = version != "00" || parts.next().is_none();
        let sound = is_hex(version, 2) && version != "ff" && is_hex(flags, 2) && whole;
        let named = is_hex(id, 32) && says(id) && is_hex(parent, 16) && says(parent);
        let owned = |part: &str| part.to_owned();
        (sound && named).then(|| Trace {
            id: owned(id),
            parent: owned(parent),
            flags: owned(flags),
            state: None,
        })
    }

    /// The same trace with its vendor state. A state that could not be a header is dropped.
    pub fn with_state(self, state: Option<&str>) -> Trace {
        let fits = |state: &&str| {
            let visible = |byte: u8| (b' '..=b'~').contains(&byte);
            (1..=LONGEST_STATE).contains(&state.len()) && state.bytes().all(visible)
        };
        Trace { state: state.filter(fits).map(str::to_owned), ..self }
    }

    /// Vendor state of the trace (`tracestate`).
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// The reference that a call records.
    pub fn reference(&self) -> Value {
        let mut reference = json!({
            "source": "telemetry",
            "trace_id": self.id,
            "span_id": self.parent,
            TRACEPARENT: self.to_string(),
        });
        if let (Some(state), Some(fields)) = (&self.state, reference.as_object_mut()) {
            fields.insert(TRACESTATE.to_owned(), json!(state));
        }
        reference
    }

    /// The trace among a call's foreign ids.
    pub fn among(native: &[Value]) -> Option<Trace> {
        let found = native.iter().find(|one| one.get(TRACEPARENT).is_some())?;
        let said = |name: &str| found.get(name).and_then(Value::as_str);
        Some(Trace::parse(said(TRACEPARENT)?)?.with_state(said(TRACESTATE)))
    }

    /// Sampling: whether the root of the trace wants it recorded.
    pub fn is_sampled(&self) -> bool {
        u8::from_str_radix(&self.flags, 16).is_ok_and(|flags| flags & 1 == 1)
    }

    /// The same trace with a call as its last span.
    pub fn continued(&self, call: &InvocationId) -> Option<Trace> {
        Some(Trace { parent: span_of(call)?.to_owned(), ..self.clone() })
    }

    /// The trace context that a call passes on: that of its caller, or a new one whose id is the
    /// call's own.
    pub fn of_call(call: &InvocationId, native: &[Value]) -> Option<Trace> {
        match Trace::among(native) {
            Some(trace) => trace.continued(call),
            None => {
                let id = call.as_str().trim_start_matches("inv_");
                Trace::parse(&format!("00-{id}-{}-01", span_of(call)?))
            }
        }
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "00-{}-{}-{}", self.id, self.parent, self.flags)
    }
}

/// The span of a call.
pub fn span_of(call: &InvocationId) -> Option<&str> {
    let id = call.as_str();
    let span = id.get(id.len().checked_sub(16)?..)?;
    (is_hex(span, 16) && says(span)).then_some(span)
}

fn is_hex(part: &str, length: usize) -> bool {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    part.len() == length && part.bytes().all(hex)
}

/// An id of only zeros is invalid.
fn says(part: &str) -> bool {
    part.bytes().any(|byte| byte != b'0')
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn traceparent_roundtrips_and_malformed_is_refused() {
        let trace = Trace::parse(GOOD).unwrap();
        assert_eq!((trace.to_string(), trace.is_sampled()), (GOOD.to_owned(), true));
        assert!(Trace::parse(&GOOD.replacen("00-", "01-", 1)).is_some());
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

    #[test]
    fn what_others_added_is_carried_where_a_header_could() {
        let trace = Trace::parse(GOOD).unwrap().with_state(Some("vendor=1,other=2"));
        assert_eq!(trace.state(), Some("vendor=1,other=2"));
        let kept = [json!({ "source": "http" }), trace.reference()];
        assert_eq!(Trace::among(&kept), Some(trace.clone()));
        for bad in ["", "a\r\nb", "ü"] {
            assert_eq!(trace.clone().with_state(Some(bad)).state(), None, "{bad:?}");
        }
    }

    #[test]
    fn call_continues_caller_trace_or_starts_own() {
        let call = InvocationId::from("inv_0198aaaabbbbccccddddeeeeffff0001");
        let known = [Trace::parse(GOOD).unwrap().with_state(Some("a=b")).reference()];
        let continued = Trace::of_call(&call, &known).unwrap();
        assert_eq!(
            continued.to_string(),
            "00-4bf92f3577b34da6a3ce929d0e0e4736-ddddeeeeffff0001-01"
        );
        assert_eq!(continued.state(), Some("a=b"));
        let own = Trace::of_call(&call, &[]).unwrap();
        assert_eq!(own.to_string(), "00-0198aaaabbbbccccddddeeeeffff0001-ddddeeeeffff0001-01");
        assert_eq!(Trace::of_call(&"inv_short".into(), &[]), None);
    }
}
