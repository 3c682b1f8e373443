//! Request frame: parses a `tools/call` from the body of a request.

use haft_model::JsonFlaw;
use rmcp::model::{CallToolRequestParams, RequestId, RequestMetaObject};
use serde::Deserialize;
use serde_json::Value;

use crate::mcp::flaws;

pub(super) const METHOD: &str = "tools/call";

/// The `_meta` field of the protocol version.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// A `tools/call` request.
pub(super) struct Frame {
    pub(super) id: RequestId,
    pub(super) meta: RequestMetaObject,
    pub(super) params: CallToolRequestParams,
    /// JSON flaw of its arguments and answers.
    pub(super) flaw: Option<JsonFlaw>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message<'b> {
    jsonrpc: &'b str,
    id: RequestId,
    method: &'b str,
    params: CallToolRequestParams,
}

impl Frame {
    /// Parses one; `None` for any other message.
    pub(super) fn read(body: &[u8]) -> Option<Frame> {
        let message: Message<'_> = serde_json::from_slice(body).ok()?;
        let Message { jsonrpc: "2.0", id, method: METHOD, mut params } = message else {
            return None;
        };
        let meta = params.meta.take().unwrap_or_default();
        Some(Frame { id, meta, params, flaw: flaws::of_inputs(body) })
    }

    /// The protocol version that the request names.
    pub(super) fn version(&self) -> Option<&str> {
        self.meta.get(VERSION).and_then(Value::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_call_of_a_tool_is_one() {
        let read = |body: &str| Frame::read(body.as_bytes()).is_some();
        let call = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x"}}"#;
        assert!(read(call));
        for other in [
            &call.replace("tools/call", "tools/list"),
            &call.replace("2.0", "1.0"),
            &call.replace(r#""id":"a","#, ""),
            &call.replace(r#""a""#, "null"),
            &call.replace(r#""name""#, r#""nome""#),
            &call.replace(r#""id":"a""#, r#""id":"a","id":"b""#),
            &call.replace(r#""id":"a""#, r#""id":"a","more":1"#),
            &format!("[{call}]"),
            &call[..40].to_owned(),
        ] {
            assert!(!read(other), "{other}");
        }
    }
}
