//! OTLP messages: the part of OpenTelemetry's protobuf definitions that an exporter of spans needs.
//!
//! Field numbers are those of `opentelemetry/proto/trace/v1/trace.proto` and its neighbours. The
//! tests decode what leaves here with the definitions that OpenTelemetry publishes.

use super::protobuf::{EncodedMessage, Fields};

/// One span.
#[derive(Clone, Debug, Default)]
pub(super) struct Span {
    pub(super) trace_id: Vec<u8>,
    pub(super) span_id: Vec<u8>,
    /// Empty for a root span.
    pub(super) parent_span_id: Vec<u8>,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    pub(super) start_time_unix_nano: u64,
    pub(super) end_time_unix_nano: u64,
    pub(super) attributes: Vec<KeyValue>,
    /// None leaves the status unset, which means success.
    pub(super) status: Option<ErrorStatus>,
}

/// The two kinds of span that a call has, with their numbers on the wire.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum SpanKind {
    #[default]
    Internal = 1,
    Client = 3,
}

/// The status of a span that failed.
#[derive(Clone, Debug)]
pub(super) struct ErrorStatus {
    pub(super) message: String,
}

/// The number of `STATUS_CODE_ERROR`.
const ERROR: u64 = 2;

/// One attribute.
#[derive(Clone, Debug)]
pub(super) struct KeyValue {
    pub(super) key: String,
    pub(super) value: AttributeValue,
}

/// The value of an attribute.
#[derive(Clone, Debug)]
pub(super) enum AttributeValue {
    Text(String),
    Integer(i64),
}

/// An `ExportTraceServiceRequest` of one resource and one scope.
pub(super) struct ExportRequest<'a> {
    pub(super) resource: &'a [KeyValue],
    pub(super) scope_name: &'a str,
    pub(super) scope_version: &'a str,
    pub(super) spans: &'a [Span],
}

impl ExportRequest<'_> {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut resource = EncodedMessage::default();
        self.resource.iter().for_each(|one| resource.message(1, &one.encode()));
        let mut scope = EncodedMessage::default();
        scope.text(1, self.scope_name);
        scope.text(2, self.scope_version);
        let mut scope_spans = EncodedMessage::default();
        scope_spans.message(1, &scope);
        self.spans.iter().for_each(|span| scope_spans.message(2, &span.encode()));
        let mut resource_spans = EncodedMessage::default();
        resource_spans.message(1, &resource);
        resource_spans.message(2, &scope_spans);
        let mut request = EncodedMessage::default();
        request.message(1, &resource_spans);
        request.into_bytes()
    }
}

/// How many spans an `ExportTraceServiceResponse` says were rejected. What cannot be read rejects none:
/// the HTTP status has accepted the request.
pub(super) fn rejected_spans(response: &[u8]) -> i64 {
    let partial_success = Fields::of(response).bytes(1).unwrap_or_default();
    Fields::of(partial_success).integer(1).unwrap_or_default().cast_signed()
}

impl Span {
    fn encode(&self) -> EncodedMessage {
        let mut span = EncodedMessage::default();
        span.bytes(1, &self.trace_id);
        span.bytes(2, &self.span_id);
        span.bytes(4, &self.parent_span_id);
        span.text(5, &self.name);
        span.integer(6, self.kind as u64);
        span.fixed(7, self.start_time_unix_nano);
        span.fixed(8, self.end_time_unix_nano);
        self.attributes.iter().for_each(|one| span.message(9, &one.encode()));
        if let Some(status) = &self.status {
            span.message(15, &status.encode());
        }
        span
    }
}

impl ErrorStatus {
    fn encode(&self) -> EncodedMessage {
        let mut status = EncodedMessage::default();
        status.text(2, &self.message);
        status.integer(3, ERROR);
        status
    }
}

impl KeyValue {
    fn encode(&self) -> EncodedMessage {
        let mut value = EncodedMessage::default();
        match &self.value {
            AttributeValue::Text(text) => value.text(1, text),
            AttributeValue::Integer(number) => value.integer(3, number.cast_unsigned()),
        }
        let mut pair = EncodedMessage::default();
        pair.text(1, &self.key);
        pair.message(2, &value);
        pair
    }
}

#[cfg(test)]
mod tests {
    use super::rejected_spans;

    #[test]
    fn rejected_spans_are_read_from_any_response() {
        let rejected = |response: &[u8]| rejected_spans(response);
        assert_eq!(rejected(&[]), 0, "nothing was rejected");
        assert_eq!(rejected(&[0x0a, 0x02, 0x08, 0x05]), 5);
        assert_eq!(rejected(&[0x0a, 0x05, 0x12, 0x01, b'x', 0x08, 0x07]), 7, "after a message");
        assert_eq!(rejected(&[0x10, 0x01, 0x0a, 0x03, 0x08, 0xac, 0x02]), 300, "an unknown field");
        for unreadable in [&b"\x0a\x7f\x08"[..], b"\x0a\x02\x08\xff", b"<html>", &[0xff; 20]] {
            assert_eq!(rejected(unreadable), 0, "{unreadable:?}");
        }
    }
}
