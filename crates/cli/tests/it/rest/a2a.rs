//! A2A tests: the surface as a card, and calls as tasks.

use haft_testkit::{Backend, Keys};
use serde_json::{Value, json};

use crate::rest::shop;
use crate::wire::Server;

fn rpc(server: &Server, method: &str, params: Value) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    server.post("/a2a", &request).json()
}

fn message(skill: &str) -> Value {
    json!({ "message": {
        "kind": "message", "role": "user", "messageId": "m-1", "contextId": "c-1",
        "parts": [{ "kind": "data", "data": { "skill": skill, "input": {} } }],
    } })
}

#[test]
fn a2a_message_is_a_call_with_a2a_task_states() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    let card = server.get("/.well-known/agent-card.json").json();
    assert_eq!(card["url"], format!("http://{}/a2a", server.address));
    let skills: Vec<_> = card["skills"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert!(skills.contains(&&json!("look")) && skills.contains(&&json!("refund")), "{card:#}");

    let done = rpc(&server, "message/send", message("time.now@1"))["result"].take();
    assert_eq!((&done["kind"], &done["status"]["state"]), (&json!("task"), &json!("completed")));
    assert_eq!(done["contextId"], "c-1");
    let data = done["artifacts"][0]["parts"].as_array().unwrap();
    assert!(data.iter().any(|part| part["data"]["unix_ms"].is_u64()), "{done:#}");
    let again = rpc(&server, "tasks/get", json!({ "id": done["id"] }))["result"].take();
    assert_eq!(again, done);

    let waits = rpc(&server, "message/send", message("refund"))["result"].take();
    assert_eq!(waits["status"]["state"], "working", "{waits:#}");
    let off = rpc(&server, "tasks/cancel", json!({ "id": waits["id"] }))["result"].take();
    assert_eq!((&off["id"], &off["status"]["state"]), (&waits["id"], &json!("canceled")));
    let late = rpc(&server, "tasks/cancel", json!({ "id": waits["id"] }));
    assert_eq!(late["error"]["code"], -32002, "{late:#}");

    let failed = rpc(&server, "message/send", message("nothing"))["result"].take();
    assert_eq!(failed["status"]["state"], "failed");
    let mut detached = message("look");
    detached["configuration"] = json!({ "blocking": false });
    let sent = rpc(&server, "message/send", detached)["result"].take();
    assert!(["submitted", "completed"].contains(&sent["status"]["state"].as_str().unwrap()));
}

#[test]
fn what_is_no_request_has_the_code_for_that() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    assert_eq!(server.ask("POST", "/a2a", &[], Some("{")).json()["error"]["code"], -32700);
    assert_eq!(server.post("/a2a", &json!({ "id": 1 })).json()["error"]["code"], -32600);
    let cases = [
        ("tasks/nothing", json!({}), -32601),
        ("message/send", json!({}), -32602),
        (
            "message/send",
            json!({ "message": { "parts": [{ "kind": "text", "text": "hi" }] } }),
            -32602,
        ),
        ("tasks/get", json!({ "id": "inv_none" }), -32001),
        ("message/stream", json!({}), -32004),
    ];
    for (method, params, code) in cases {
        assert_eq!(rpc(&server, method, params)["error"]["code"], code, "{method}");
    }
}
