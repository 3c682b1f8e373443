//! Priming event: the event without data that opens a stream from 2025-11-25 on.
//!
//! Older clients take it for a message and report an error.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::request::Parts;
use axum::response::Response;
use futures_core::Stream;
use rmcp::model::ProtocolVersion;
use serde::Deserialize;

/// The part of an `initialize` request that proposes a version.
#[derive(Deserialize)]
struct InitializeHead {
    params: Proposal,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Proposal {
    protocol_version: String,
}

/// Whether the client knows priming events. Every request but the first names its version in a
/// header; the first proposes one.
pub(super) fn is_known_to(head: &Parts, body: &[u8]) -> bool {
    let said = head.headers.get("mcp-protocol-version").and_then(|said| said.to_str().ok());
    let proposed = || serde_json::from_slice::<InitializeHead>(body).ok();
    let version = said.map(str::to_owned);
    let version = version.or_else(|| proposed().map(|opening| opening.params.protocol_version));
    version.is_some_and(|version| *version >= *ProtocolVersion::V_2025_11_25.as_str())
}

/// The response without the priming event.
pub(super) fn left_out(answer: Response) -> Response {
    answer.map(|body| Body::from_stream(EventStream(body.into_data_stream())))
}

/// A stream in which each chunk is one event, as the library writes them.
struct EventStream(BodyDataStream);

impl Stream for EventStream {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match Pin::new(&mut self.0).poll_next(context) {
                Poll::Ready(Some(Ok(event))) if is_priming(&event) => {}
                other => return other,
            }
        }
    }
}

fn is_priming(event: &[u8]) -> bool {
    let mut lines = event.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).peekable();
    lines.peek().is_some()
        && lines.all(|line| match line.strip_prefix(b"data:") {
            Some(data) => data.trim_ascii().is_empty(),
            None => line.starts_with(b"id:") || line.starts_with(b"retry:"),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priming_event_differs_from_messages_and_keepalives() {
        for primes in ["data:\nid: 0\nretry: 3000\n\n", "id: 1/0\ndata: \n\n"] {
            assert!(is_priming(primes.as_bytes()), "{primes}");
        }
        for other in ["data: {\"id\": 1}\nid: 2\n\n", ":\n\n", "", "{\"id\": 1}"] {
            assert!(!is_priming(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn protocol_version_comes_from_header_or_initialize_proposal() {
        let known = |header: Option<&str>, body: &str| {
            let mut request = axum::http::Request::builder();
            if let Some(version) = header {
                request = request.header("MCP-Protocol-Version", version);
            }
            let (head, ()) = request.body(()).unwrap_or_default().into_parts();
            is_known_to(&head, body.as_bytes())
        };
        let proposes = |version| format!(r#"{{"params":{{"protocolVersion":"{version}"}}}}"#);
        assert!(known(Some("2025-11-25"), ""));
        assert!(known(Some("2026-07-28"), ""));
        assert!(known(None, &proposes("2025-11-25")));
        assert!(!known(Some("2025-06-18"), ""));
        assert!(!known(None, &proposes("2025-06-18")));
        assert!(!known(None, ""));
    }
}
