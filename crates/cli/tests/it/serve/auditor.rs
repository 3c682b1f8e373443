//! Auditor tests over HTTP: an auditor changes nothing by any request.

use std::collections::BTreeMap;

use haft_testkit::{ALLOW, Backend, Folder, Keys, READ, Served, WRITE};
use serde_json::{Value, json};

use crate::serve::token;
use crate::wire::{Answer, Server};

/// A shop with an agent and an auditor.
fn shop(backend: &Backend) -> Folder {
    let asks = "mutates: [\"external:shop\"]\nrisk_level: 2\napproval: always\n";
    let actors = "[[actor]]\nid = \"agent:coder\"\nroles = [\"agent\"]\n\
                  [[actor]]\nid = \"user:audit\"\nroles = [\"auditor\"]\n";
    Served::by(backend)
        .at("look", READ, "GET", "/look")
        .at("pay", WRITE, "POST", "/pay")
        .at("refund", asks, "POST", "/refund")
        .with(&format!("{actors}{ALLOW}"))
}

/// What becomes of a request by which something would change.
#[derive(Clone, Copy, Debug)]
enum Outcome {
    /// The request itself is refused.
    Refused,
    /// A call is answered, with a refusal.
    Denied,
    /// It changes nothing for any caller.
    Reads,
}

#[test]
fn auditor_changes_nothing_by_any_route() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let (agent, _) = token(&folder, "agent:coder");
    let (auditor, _) = token(&folder, "user:audit");
    let server = Server::of(&folder);
    let ask = |token: &str, method: &str, path: &str, body: &Value| -> Answer {
        let shown = format!("Bearer {token}");
        let body = (method != "GET").then(|| body.to_string());
        server.ask(method, path, &[("Authorization", &shown)], body.as_deref())
    };
    let waits =
        ask(&agent, "POST", "/v1/call", &json!({"tool": "refund", "input": {"id": "1"}})).json();
    let (call, question) =
        (waits["invocation_id"].as_str().unwrap(), waits["approval_id"].as_str().unwrap());
    let paid =
        ask(&agent, "POST", "/v1/call", &json!({"tool": "pay", "input": {"id": "1"}})).json();
    assert_eq!(paid["status"], "succeeded", "{paid:#}");
    let effects = backend.effects();

    let pay = json!({"tool": "pay", "input": {"id": "2"}});
    let table: BTreeMap<(&str, &str), (Value, Outcome)> = [
        (("post", "/v1/approvals/{id}"), (json!({"decision": "approve"}), Outcome::Refused)),
        (("post", "/v1/batch"), (json!({"calls": [pay]}), Outcome::Denied)),
        (("post", "/v1/call"), (pay.clone(), Outcome::Denied)),
        (
            ("post", "/v1/functions/{provider}"),
            (
                json!({"role": "assistant", "content": [
                    {"type": "tool_use", "id": "1", "name": "pay", "input": {"id": "2"}}]}),
                Outcome::Denied,
            ),
        ),
        (("post", "/v1/invocations/{id}/cancel"), (json!({}), Outcome::Refused)),
        (("post", "/v1/invocations/{id}/compensate"), (json!({}), Outcome::Refused)),
        (("post", "/v1/surfaces/load"), (json!({"names": ["pay"]}), Outcome::Refused)),
        (("post", "/v1/why"), (pay.clone(), Outcome::Reads)),
    ]
    .into();
    let document = ask(&auditor, "GET", "/v1/openapi.json", &Value::Null).json();
    let served: Vec<(String, String)> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().keys().filter(|method| *method != "get");
            methods.map(|method| (method.clone(), path.clone()))
        })
        .collect();
    let listed = table.keys().map(|(method, path)| ((*method).to_owned(), (*path).to_owned()));
    let mut served_sorted = served.clone();
    served_sorted.sort();
    assert_eq!(
        served_sorted,
        listed.collect::<Vec<_>>(),
        "a route that is not GET has its row here"
    );

    for ((method, path), (body, outcome)) in &table {
        let id = if path.starts_with("/v1/approvals") { question } else { call };
        let place = path.replace("{id}", id).replace("{provider}", "anthropic");
        let answer = ask(&auditor, &method.to_uppercase(), &place, body);
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        match outcome {
            Outcome::Refused => assert_eq!(answer.status, 403, "{path}: {text}"),
            Outcome::Denied => assert!(text.contains("permission.denied"), "{path}: {text}"),
            Outcome::Reads => assert_eq!(answer.status, 200, "{path}: {text}"),
        }
    }
    let rpc = |method: &str, params: Value| {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        ask(&auditor, "POST", "/a2a", &request).json()
    };
    let canceled = rpc("tasks/cancel", json!({"id": call}));
    assert_eq!(canceled["error"]["code"], -32002, "{canceled:#}");
    let message = json!({"messageId": "1", "parts": [
        {"kind": "data", "data": {"skill": "pay", "input": {"id": "2"}}}]});
    let sent = rpc("message/send", json!({"message": message}));
    assert_eq!(sent["result"]["status"]["state"], "rejected", "{sent:#}");
    for (method, name, params) in [
        ("tasks/cancel", call, json!({"taskId": call})),
        ("tools/call", "pay", json!({"name": "pay", "arguments": {"id": "2"}})),
    ] {
        let mut params = params;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"tasks": {}},
        });
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let headers = [
            ("Authorization", &*format!("Bearer {auditor}")),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
            ("Mcp-Name", name),
        ];
        let answer = server.ask("POST", "/mcp", &headers, Some(&body));
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        let refused = text.contains("\"error\"") || text.contains("\"isError\":true");
        assert!(refused, "{method}: {} {text}", answer.status);
    }
    assert_eq!(backend.effects(), effects, "nothing was sent");
    let now = ask(&agent, "GET", &format!("/v1/invocations/{call}"), &Value::Null).json();
    assert_eq!(
        (&now["status"], &now["approval_id"]),
        (&json!("awaiting_approval"), &json!(question))
    );
    let looked = ask(&auditor, "POST", "/v1/call", &json!({"tool": "look"})).json();
    assert_eq!(looked["status"], "succeeded", "an auditor may look: {looked:#}");
}
