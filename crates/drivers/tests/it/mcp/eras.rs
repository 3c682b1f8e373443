//! Tests of protocol eras: both are spoken, and a server's era is detected.

use haft_model::Code;
use serde_json::json;

use crate::mcp::stage::Stage;

#[test]
fn discovery_is_tried_first_with_fallback_to_initialize() {
    let mut modern = Stage::reading("journal", &["modern"]);
    // The subscription may come before the call or after it.
    let heard: Vec<String> =
        modern.journal().into_iter().filter(|heard| heard != "subscriptions/listen").collect();
    assert_eq!(heard, ["server/discover", "tools/list", "tools/call"]);
    let mut legacy = Stage::reading("journal", &["legacy"]);
    let expected =
        ["server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call"];
    assert_eq!(legacy.journal(), expected);
}

#[test]
fn server_exiting_on_discovery_is_restarted_and_initialized() {
    let mut stage = Stage::reading("journal", &["legacy", "touchy"]);
    let expected = ["initialize", "notifications/initialized", "tools/list", "tools/call"];
    assert_eq!(stage.journal(), expected);
}

#[test]
fn requests_without_handshake_carry_their_own_metadata() {
    let mut stage = Stage::reading("meta", &["modern"]);
    let sent = stage.run(json!({})).output().structured.unwrap();
    assert_eq!(sent["io.modelcontextprotocol/protocolVersion"], json!("2026-07-28"));
    // The caller's capabilities are unknown, and the driver does not claim its own instead.
    assert_eq!(sent["io.modelcontextprotocol/clientCapabilities"], json!({}));
    assert_eq!(sent["io.modelcontextprotocol/clientInfo"]["name"], json!("haft"));
}

#[test]
fn a_version_is_a_minimum() {
    for (version, era) in [
        ("2025-06", "legacy"),
        ("2024-11-05", "legacy"),
        ("2025-03", "modern"),
        ("2026-07-28", "modern"),
    ] {
        let mut stage = Stage::reading("text", &[era]).with("protocol_version", json!(version));
        assert!(stage.run(json!({"text": "1"})).result.is_ok(), "{version} {era}");
    }
    let mut stage = Stage::reading("text", &[]).with("protocol_version", json!("2025-11"));
    let failure = stage.run(json!({"text": "1"})).failure();
    let words =
        "the server of driver `test` speaks MCP 2025-06-18, and `protocol_version` wants 2025-11";
    assert_eq!((failure.stop.code, failure.stop.message.as_str()), (Code::SetupRequired, words));
    let mut stage = Stage::reading("text", &[]).with("protocol_version", json!("2026-07-28"));
    assert!(stage.run(json!({"text": "1"})).result.is_err());
}

#[test]
fn server_of_both_eras_follows_its_client() {
    let session = ["initialize", "notifications/initialized", "tools/list", "tools/call"];
    let stateless = ["server/discover", "tools/list", "tools/call"];
    let refused_first = ["initialize", "server/discover", "tools/list", "tools/call"];
    let mut stage = Stage::reading("journal", &["both"]);
    let mut journal = |fills_in, in_session| {
        (stage.fills_in, stage.in_session) = (fills_in, in_session);
        let heard = stage.journal().into_iter();
        heard.filter(|heard| heard != "subscriptions/listen").collect::<Vec<_>>()
    };
    assert_eq!(journal(true, true), session);
    assert_eq!(journal(true, false), stateless);
    // A client that is never asked has no use for a session of its own.
    assert_eq!(journal(false, true), stateless);
    let mut modern = Stage::reading("journal", &["modern"]);
    (modern.fills_in, modern.in_session) = (true, true);
    let heard: Vec<String> =
        modern.journal().into_iter().filter(|heard| heard != "subscriptions/listen").collect();
    assert_eq!(heard, refused_first);
    let pinned = Stage::reading("journal", &["both"]);
    let mut pinned = pinned.with("protocol_version", json!("2025-06-18"));
    assert_eq!(pinned.journal(), session);
}
