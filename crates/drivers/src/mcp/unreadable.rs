//! Decode errors: turns a response that cannot be decoded into a JSON-RPC error for the request
//! that awaits it.

use rmcp::model::{ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};

use crate::response_id::id_of_answer;

/// The local error code of such a response. No server has a reason to send it.
pub(super) const UNREADABLE: ErrorCode = ErrorCode(-32_098);

/// The error in place of the response.
pub(super) fn error() -> ErrorData {
    ErrorData::new(UNREADABLE, "its answer cannot be decoded", None)
}

/// The id of the request that an undecodable message responds to.
pub(super) fn answered(message: &[u8]) -> Option<RequestId> {
    serde_json::from_value(id_of_answer(message)?).ok()
}

/// The replacement of an event whose message cannot be decoded; `None` where it can.
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
