//! What a model reads holds no command by which it could decide for itself.

use haft_testkit::{ALLOW, Backend, Folder, Keys, READ, Served};
use serde_json::{Value, json};

use crate::stage::run;
use crate::wire::Server;

/// Whether a text names a command by which people decide.
fn names_command(text: &str) -> bool {
    const VERBS: [&str; 10] = [
        "approve",
        "accept",
        "settle",
        "token",
        "reject",
        "secrets",
        "login",
        "call --as",
        "compensate",
        "store",
    ];
    VERBS.iter().any(|verb| text.contains(&format!("haft {verb}")))
}

/// A shop of which each tool is refused, fails or waits in a way of its own.
fn shop(backend: &Backend) -> Folder {
    let asks = "mutates: [\"external:shop\"]\nrisk_level: 2\napproval: always\n";
    Served::by(backend)
        .at("look", READ, "GET", "/look")
        .at("refund", asks, "POST", "/refund")
        .at("void", asks, "POST", "/void")
        .with(ALLOW)
}

#[test]
fn no_answer_to_an_agent_names_a_command_of_people() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    // A contract that people accepted, and that says something else now, is blocked until they look.
    run(&folder, "accept --all");
    let path = ".tools/void/TOOL.md";
    let wider = folder.read(path).replace("external:shop", "external:*");
    let folder = folder.file(path, wider);
    let server = Server::of(&folder);
    let mut heard: Vec<(String, String)> = Vec::new();
    let mut hears = |what: &str, answer: crate::wire::Answer| {
        heard.push((what.to_owned(), String::from_utf8_lossy(&answer.body).into_owned()));
        let (_, text) = heard.last().unwrap();
        serde_json::from_str::<Value>(text).unwrap_or_default()
    };
    for path in
        ["/v1/catalog", "/v1/catalog/void", "/v1/surfaces", "/v1/search?q=void", "/v1/approvals"]
    {
        hears(path, server.get(path));
    }
    let pending =
        hears("call", server.post("/v1/call", &json!({"tool": "refund", "input": {"id": "1"}})));
    let (call, question) = (pending["invocation_id"].clone(), pending["approval_id"].clone());
    assert!(question.is_string(), "{pending:#}");
    assert!(
        pending["summary"].as_str().unwrap().contains(question.as_str().unwrap()),
        "{pending:#}"
    );
    hears("again", server.post("/v1/call", &json!({"tool": "refund", "input": {"id": "1"}})));
    for tool in ["void", "nothing", "look", "fs.write"] {
        let body = json!({"tool": tool, "input": {"id": "1"}});
        hears(&format!("call {tool}"), server.post("/v1/call", &body));
        hears(&format!("why {tool}"), server.post("/v1/why", &body));
        hears(&format!("batch {tool}"), server.post("/v1/batch", &json!({"calls": [body]})));
        hears(&format!("load {tool}"), server.post("/v1/surfaces/load", &json!({"names": [tool]})));
        let block = json!({"type": "tool_use", "id": "1", "name": tool.replace('.', "_"), "input": {"id": "1"}});
        let reply = json!({"role": "assistant", "content": [block]});
        hears(&format!("function {tool}"), server.post("/v1/functions/anthropic", &reply));
        let message = json!({"messageId": "1", "parts": [{"kind": "data", "data": {"skill": tool, "input": {"id": "1"}}}]});
        let sent = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}});
        hears(&format!("a2a {tool}"), server.post("/a2a", &sent));
    }
    let id = call.as_str().unwrap();
    for path in [format!("/v1/invocations/{id}"), format!("/v1/invocations/{id}/trace")] {
        hears(&path, server.get(&path));
    }
    let approve = json!({"decision": "approve"});
    hears(
        "approve",
        server.post(&format!("/v1/approvals/{}", question.as_str().unwrap()), &approve),
    );
    hears("undo", server.post(&format!("/v1/invocations/{id}/compensate"), &json!({})));
    for method in ["tasks/get", "tasks/cancel", "tasks/cancel"] {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"id": id}});
        hears(method, server.post("/a2a", &request));
    }
    hears("cancel", server.post(&format!("/v1/invocations/{id}/cancel"), &json!({})));
    hears("nothing", server.post("/v1/invocations/inv_none/cancel", &json!({})));
    for (method, name, params) in [
        ("tools/list", "", json!({})),
        ("tools/call", "refund", json!({"name": "refund", "arguments": {"id": "7"}})),
        ("tools/call", "void", json!({"name": "void", "arguments": {"id": "7"}})),
        ("tasks/get", id, json!({"taskId": id})),
        ("tasks/cancel", id, json!({"taskId": id})),
    ] {
        let mut params = params;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let headers = [
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
            ("Mcp-Name", name),
        ];
        let headers = if name.is_empty() { &headers[..3] } else { &headers[..] };
        hears(
            &format!("{method} {name}"),
            server.ask("POST", "/mcp", headers, Some(&body.to_string())),
        );
    }
    assert!(heard.len() > 40, "{}", heard.len());
    let blocked = heard.iter().find(|(what, _)| what == "call void").unwrap();
    assert!(
        blocked.1.contains("a person who runs this workspace has to see to it"),
        "{}",
        blocked.1
    );
    for (what, text) in &heard {
        assert!(!names_command(text), "{what}: {text}");
    }
}
