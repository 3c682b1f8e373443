//! Unavailable provider tests: a slow or dead backend delays no list, and is told apart from a
//! missing one.

use std::time::{Duration, Instant};

use haft_testkit::{Backend, Folder, Keys, READ};
use serde_json::{Value, json};

use crate::client::Client;
use crate::surfaces::{settings, warehouse};
use crate::wire::Server;

/// A workspace with a tool of an MCP server that does what a script does.
fn radio(backend: &Backend, script: &str, more: &str) -> Folder {
    let contract = format!(
        "---\nname: Listen\nid: radio.listen\ndescription: Listens to the radio.\nversion: 1.0.0\n{READ}\
         timeout_ms: 60000\ninputs: {{ type: object }}\noutputs: {{ type: object }}\n\
         metadata: {{ haft: {{ always_load: true }} }}\n---\n"
    );
    let driver = "---\nname: Radio\nid: radio\ndescription: A radio.\nversion: 1.0.0\nkind: mcp\n\
        server: { kind: binary, path: /bin/sh, args: [./radio.sh] }\ntransport: stdio\nimplements:\n  \
        - { tool: radio.listen, version: ^1, metadata: { mcp: { tool_name: listen } } }\n---\n";
    warehouse(backend)
        .with(&settings(more))
        .file("radio.sh", script)
        .file(".tools/radio.listen/TOOL.md", contract)
        .file(".drivers/radio/DRIVER.md", driver)
}

/// Polls until a search reports an unavailable provider.
#[track_caller]
fn away(client: &Client<'_>) -> Value {
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        let found = client.search("select:radio.listen");
        if found["pending_providers"] != json!([]) {
            return found;
        }
        assert!(Instant::now() < patience, "nobody was away: {found:#}");
    }
}

fn pending(why: &str) -> Value {
    json!({
        "query": "select:radio.listen",
        "query_type": "select",
        "matches": ["radio.listen@1"],
        "match_details": [{
            "tool_id": "radio.listen@1",
            "name": "radio_listen",
            "title": "Listen",
            "description": "Listens to the radio.",
            "score": 1.0,
            "matched_words": ["radio.listen"],
            "state": "pending_provider",
            "reason": "pending_provider",
        }],
        "total_deferred_tools": 507,
        "missing_names": [],
        "pending_providers": [{ "provider": "radio", "state": why }],
        "next_action": "wait_for_provider",
    })
}

#[test]
fn test_01_connecting_provider_is_reported_without_delaying_lists() {
    let backend = Backend::new(Keys::Ignored);
    // It takes whatever it hears and never answers.
    let folder = radio(&backend, "cat >/dev/null\n", "");
    let server = Server::of(&folder);
    let client = Client { server: &server, session: Some("s-1") };
    assert!(client.listed().contains(&"radio_listen".to_owned()));
    let call = json!({ "tool": "radio.listen", "async": true });
    assert_eq!(server.post("/v1/call", &call).status, 202);
    assert_eq!(away(&client), pending("connecting"));
    // The server waits a minute for the radio; a list that waited with it would end the test.
    let began = Instant::now();
    let listed = client.listed();
    assert!(began.elapsed() < Duration::from_secs(20), "the list took {:?}", began.elapsed());
    assert!(!listed.contains(&"radio_listen".to_owned()), "{listed:?}");
    let loaded = client.call("tool_load", json!({ "names": ["radio.listen"] }));
    assert_eq!(
        loaded["structuredContent"]["refused"],
        json!([{ "tool_id": "radio.listen@1", "state": "pending_provider", "reason": "pending_provider" }])
    );
}

#[test]
fn provider_with_open_circuit_breaker_is_reported_gone() {
    let backend = Backend::new(Keys::Ignored);
    let folder = radio(&backend, "exit 7\n", "[limits]\nrest = { failures = 1 }\n");
    let server = Server::of(&folder);
    let client = Client { server: &server, session: Some("s-1") };
    let failed = client.call("radio.listen", json!({}));
    assert_eq!(failed["isError"], true, "{failed:#}");
    assert_eq!(away(&client), pending("gone"));
    assert!(!client.listed().contains(&"radio_listen".to_owned()));
}
