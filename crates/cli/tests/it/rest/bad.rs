//! Bad request tests: a fault of the request itself is a problem document.

use haft_testkit::{Backend, Folder, Keys};
use serde_json::{Value, json};

use crate::rest::shop;
use crate::wire::Server;

#[test]
fn every_request_fault_is_problem_json_with_its_status() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    let large = format!("{{\"tool\": \"{}\"}}", "x".repeat(5 * 1024 * 1024));
    let cases: [(u16, &str, &str, &str); 24] = [
        (404, "GET", "/v1/nowhere", ""),
        (405, "DELETE", "/v1/call", ""),
        (405, "GET", "/v1/why", ""),
        (400, "POST", "/v1/call", "{"),
        (400, "POST", "/v1/call", "[]"),
        (400, "POST", "/v1/call", "{}"),
        (400, "POST", "/v1/call", r#"{"tool": 7}"#),
        (400, "POST", "/v1/call", r#"{"tool": "look", "inputs": {}}"#),
        (400, "POST", "/v1/call", r#"{"tool": "look", "key": ""}"#),
        (413, "POST", "/v1/call", &large),
        (400, "POST", "/v1/batch", r#"{"calls": [{}]}"#),
        (404, "GET", "/v1/invocations/inv_none", ""),
        (404, "GET", "/v1/invocations/inv_none/trace", ""),
        (404, "GET", "/v1/invocations/inv_none/payloads/sha256:00", ""),
        (404, "POST", "/v1/invocations/inv_none/cancel", ""),
        (404, "POST", "/v1/invocations/inv_none/compensate", ""),
        (400, "GET", "/v1/invocations?limit=0", ""),
        (400, "GET", "/v1/invocations?status=asleep", ""),
        (400, "GET", "/v1/invocations?colour=red", ""),
        (400, "GET", "/v1/events?after=yesterday", ""),
        (404, "GET", "/v1/catalog/nothing", ""),
        (404, "GET", "/", ""),
        (404, "POST", "/v2/call", "{}"),
        (400, "GET", "/v1/search", ""),
    ];
    for (status, method, path, body) in cases {
        let body = (method == "POST").then_some(body);
        let (found, problem) = server.ask(method, path, &[], body).problem();
        assert_eq!(found, status, "{method} {path}: {problem}");
        assert_eq!(problem["type"], "about:blank");
        assert!(problem["detail"].as_str().is_some_and(|words| !words.is_empty()), "{problem}");
    }
    let text = [("Content-Type", "text/plain")];
    let (status, _) = server.ask("POST", "/v1/call", &text, Some("{}")).problem();
    assert_eq!(status, 415);
    let (status, _) = server.get("/v1/functions/nobody").problem();
    assert_eq!(status, 404);
    assert_eq!(backend.connections(), 0);
}

#[test]
fn malformed_mcp_body_is_answered_with_json_rpc_error() {
    let server = Server::of(&Folder::new().file("haft.toml", ""));
    let headers = [("Accept", "application/json, text/event-stream")];
    for (code, body) in [
        (-32700, ""),
        (-32700, "{\"jsonrpc\":"),
        (-32600, "{}"),
        (-32600, "[]"),
        (-32600, "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": 5}"),
    ] {
        let answer = server.ask("POST", "/mcp", &headers, Some(body));
        let told = answer.json();
        let found = (answer.status, &told["jsonrpc"], &told["id"], &told["error"]["code"]);
        assert_eq!(found, (400, &json!("2.0"), &Value::Null, &json!(code)), "{body}: {told}");
    }
}

#[test]
fn unknown_bearer_token_is_refused() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    for path in ["/v1/health", "/v1/invocations", "/metrics", "/.well-known/agent-card.json"] {
        let answer = server.ask("GET", path, &[("Authorization", "Bearer nobody")], None);
        assert_eq!(answer.status, 401, "{path}");
    }
}

#[test]
fn a_page_of_another_address_is_refused() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    let page = [("Origin", "http://evil.example")];
    let call = Some(r#"{"tool": "pay"}"#);
    assert_eq!(server.ask("POST", "/v1/call", &page, call).problem().0, 403);
    assert_eq!(server.ask("GET", "/v1/invocations", &page, None).problem().0, 403);
    let plain = [("Content-Type", "text/plain")];
    let request = r#"{"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {}}"#;
    let refused = server.ask("POST", "/a2a", &plain, Some(request)).json();
    assert_eq!(refused["error"]["code"], -32700);
    assert_eq!(backend.effects(), 0);
}

#[test]
fn health_is_ok_and_ready_reports_workspace_errors() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend).file(".tools/broken/TOOL.md", "---\nname: broken\n---\n");
    let server = Server::of(&folder);
    assert_eq!(server.get("/v1/health").json()["status"], "ok");
    let ready: Value = server.get("/v1/ready").json();
    assert_eq!(ready["status"], "ready");
    assert!(ready["notices"]["errors"].as_u64().unwrap() > 0, "{ready}");
}
