//! JSON-RPC frames: the fast path of MCP reads what a plain parser reads, or leaves the frame to the library.

use serde_json::Value;

/// Reads the bytes as a call of a tool, and holds what was read against the same text as a plain value.
pub fn json_rpc(data: &[u8]) {
    let Some((name, arguments)) = haft_server::tool_call(data) else { return };
    let whole: Value = serde_json::from_slice(data).unwrap_or_default();
    assert_eq!(whole.get("method").and_then(Value::as_str), Some("tools/call"));
    assert_eq!(whole.pointer("/params/name").and_then(Value::as_str), Some(name.as_str()));
    let plain = whole.pointer("/params/arguments").cloned().unwrap_or_default();
    assert_eq!(arguments.map_or(Value::Null, Value::Object), plain);
}
