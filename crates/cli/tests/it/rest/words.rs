//! Model-facing text tests: no text for a model names a command by which people decide.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

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
fn answers_to_agents_name_no_command_line() {
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

/// A shop of which one contract is blocked until people look at it.
fn blocked_shop(backend: &Backend, settings: &str) -> Folder {
    let folder = shop(backend);
    let settings = folder.read("haft.toml") + settings;
    let folder = folder.file("haft.toml", settings);
    run(&folder, "accept --all");
    let path = ".tools/void/TOOL.md";
    let wider = folder.read(path).replace("external:shop", "external:*");
    folder.file(path, wider)
}

#[test]
fn agent_at_a_terminal_is_told_no_command() {
    let backend = Backend::new(Keys::Ignored);
    let folder = blocked_shop(&backend, "");
    std::fs::write(folder.path().join("batch.json"), r#"[{"tool":"refund"},{"tool":"void"}]"#)
        .unwrap();
    let file = folder.path().join("batch.json");
    let said = |line: &str| {
        let ran = run(&folder, line);
        format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr))
    };
    for line in [
        "call refund --no-wait".to_owned(),
        "call refund --no-wait --json".to_owned(),
        "call void --no-wait".to_owned(),
        "call void --no-wait --json".to_owned(),
        format!("batch {} --no-wait", file.display()),
        format!("batch {} --no-wait --json", file.display()),
    ] {
        let agent = said(&format!("{line} --as agent:coder"));
        assert!(!names_command(&agent), "{line}: {agent}");
        let person = said(&line);
        assert!(names_command(&person), "a person is told: {line}: {person}");
    }
}

#[test]
fn records_of_people_tell_agents_no_command() {
    let backend = Backend::new(Keys::Ignored);
    let watcher = "[[actor]]\nid = \"agent:watcher\"\nroles = [\"agent\", \"auditor\"]\n";
    let folder = blocked_shop(&backend, watcher);
    let ran = run(&folder, "token new agent:watcher --json");
    let token: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let bearer = format!("Bearer {}", token["token"].as_str().unwrap());
    let server = Server::of(&folder);
    let ran = run(&folder, "call void --no-wait --json");
    let told = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(names_command(&told), "a person is told: {told}");
    let envelope: Value = serde_json::from_str(&told).unwrap();
    let id = envelope["invocation_id"].as_str().unwrap();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {
            "extensions": { "io.modelcontextprotocol/tasks": {} },
        },
    });
    let a2a = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": id}});
    let mcp = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": id, "_meta": meta},
    });
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tasks/get"),
        ("Mcp-Name", id),
    ];
    for (method, path, body) in [
        ("GET", format!("/v1/invocations/{id}"), None),
        ("GET", format!("/v1/invocations/{id}/trace"), None),
        ("POST", "/a2a".to_owned(), Some(a2a.to_string())),
        ("POST", "/mcp".to_owned(), Some(mcp.to_string())),
    ] {
        let used = if path == "/mcp" { &headers[..] } else { &headers[..1] };
        let answer = server.ask(method, &path, used, body.as_deref());
        let text = String::from_utf8_lossy(&answer.body);
        assert!(text.contains(id), "{path}: {text}");
        assert!(!names_command(&text), "{path}: {text}");
    }
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let host = server.address;
    let request = format!(
        "GET /v1/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: {bearer}\r\nLast-Event-ID: 0\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    // The record of the result is the last of a call.
    let (mut heard, mut piece) = (String::new(), [0; 4096]);
    while !heard.contains("tool_result_created") && !heard.contains("result.created") {
        let read = stream.read(&mut piece).unwrap_or_else(|fault| panic!("{fault}: {heard}"));
        assert_ne!(read, 0, "{heard}");
        heard.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    assert!(heard.contains(id) && !names_command(&heard), "{heard}");
}
