//! Answers of servers that cannot be decoded, as errors that the calls which wait for them can tell.

use rmcp::model::{ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};

use crate::unreadable::id_of_answer;

/// What such an answer is known by on this side. No server has a reason to say it.
pub(super) const UNREADABLE: ErrorCode = ErrorCode(-32_098);

/// The error in place of an answer.
pub(super) fn error() -> ErrorData {
    ErrorData::new(UNREADABLE, "its answer cannot be decoded", None)
}

/// The request that is answered by a message which cannot be read.
pub(super) fn answered(message: &[u8]) -> Option<RequestId> {
    serde_json::from_value(id_of_answer(message)?).ok()
}

/// An event of a stream, or what stands in for it where its message cannot be read.
pub(super) fn event(event: &[u8]) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    let mut others = Vec::new();
    for line in event.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match line.strip_prefix(b"data:") {
            Some(said) => data.extend_from_slice(said),
            None if line.is_empty() => {}
            None => {
                others.extend_from_slice(line);
                others.push(b'\n');
            }
        }
    }
    let data = data.trim_ascii();
    if data.is_empty() || serde_json::from_slice::<serde_json::Value>(data).is_ok() {
        return None;
    }
    let message = ServerJsonRpcMessage::error(error(), Some(answered(data)?));
    others.extend_from_slice(b"data: ");
    others.extend(serde_json::to_vec(&message).ok()?);
    others.extend_from_slice(b"\n\n");
    Some(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_sse_event_becomes_error_of_its_request() {
        assert_eq!(event(b"id: 4\ndata: {\"id\":1,\"result\":{}}\n\n"), None);
        assert_eq!(event(b": alive\n\n"), None);
        assert_eq!(event(b"data: hello\n\n"), None, "it answers no request");
        let mended = event(b"id: 4\ndata: {\"id\":1,\"result\":NaN}\r\n\r\n").unwrap();
        let mended = String::from_utf8(mended).unwrap();
        assert!(mended.starts_with("id: 4\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,"), "{mended}");
        assert!(mended.contains("-32098") && mended.ends_with("\n\n"), "{mended}");
    }
}
