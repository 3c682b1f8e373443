//! Function calling tests: a model's reply in the formats of three providers.

use haft_testkit::{Backend, Keys};
use serde_json::{Value, json};

use crate::rest::shop;
use crate::wire::Server;

fn names(tools: &Value, place: &str) -> Vec<String> {
    let tools = tools.as_array().unwrap().iter();
    tools.map(|tool| tool.pointer(place).unwrap().as_str().unwrap().to_owned()).collect()
}

#[test]
fn parallel_calls_are_answered_as_each_provider_wants() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);

    let tools = server.get("/v1/functions/openai").json();
    assert!(names(&tools["tools"], "/function/name").contains(&"time_now".to_owned()), "{tools:#}");
    let call = |id: &str, name: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    let calls =
        [call("call_1", "time_now", "{}"), call("call_2", "look", "{"), call("call_3", "no", "")];
    let reply = json!({ "choices": [{ "message": { "role": "assistant", "tool_calls": calls } }] });
    let answer = server.post("/v1/functions/openai", &reply).json();
    let messages = answer["messages"].as_array().unwrap();
    let ids: Vec<_> = messages.iter().map(|message| &message["tool_call_id"]).collect();
    assert_eq!(ids, ["call_1", "call_2", "call_3"], "{answer:#}");
    assert!(messages.iter().all(|message| message["role"] == "tool"));
    assert!(messages[0]["content"].as_str().unwrap().contains("unix_ms"), "{answer:#}");
    let codes: Vec<_> = answer["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["error"]["error_code"].clone())
        .collect();
    assert_eq!(codes, [Value::Null, json!("input.schema"), json!("tool.unknown")]);
    let item =
        json!({ "type": "function_call", "call_id": "c", "name": "time_now", "arguments": "{}" });
    let answer = server.post("/v1/functions/openai", &json!({ "output": [item] })).json();
    assert_eq!(answer["messages"][0]["type"], "function_call_output");
    assert_eq!(answer["messages"][0]["call_id"], "c");

    let tools = server.get("/v1/functions/anthropic").json();
    assert!(names(&tools["tools"], "/name").contains(&"time_now".to_owned()));
    let block = json!({ "type": "tool_use", "id": "toolu_1", "name": "time_now", "input": {} });
    let refund = json!({ "type": "tool_use", "id": "toolu_2", "name": "no", "input": {} });
    let reply =
        json!({ "role": "assistant", "content": [{ "type": "text", "text": "…" }, block, refund] });
    let answer = server.post("/v1/functions/anthropic", &reply).json();
    let content = &answer["messages"][0]["content"];
    assert_eq!(
        (&answer["messages"][0]["role"], content[0]["tool_use_id"].as_str()),
        (&json!("user"), Some("toolu_1"))
    );
    assert_eq!((&content[0]["is_error"], &content[1]["is_error"]), (&Value::Null, &json!(true)));

    let tools = server.get("/v1/functions/gemini").json();
    let declared = names(&tools["tools"][0]["functionDeclarations"], "/name");
    let name = declared.iter().find(|name| name.ends_with("now")).unwrap();
    let part = json!({ "functionCall": { "name": name, "args": {} } });
    let reply =
        json!({ "candidates": [{ "content": { "role": "model", "parts": [part, part] } }] });
    let answer = server.post("/v1/functions/gemini", &reply).json();
    let parts = answer["messages"][0]["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 2);
    assert!(parts[1]["functionResponse"]["response"]["output"]["unix_ms"].is_u64(), "{answer:#}");

    let native = server.get("/v1/invocations?tool=time.now&limit=500").json();
    let id = native["invocations"].as_array().unwrap().last().unwrap()["invocation_id"].clone();
    let told = server.get(&format!("/v1/invocations/{}/trace", id.as_str().unwrap())).json();
    assert_eq!(
        (&told["channel"], &told["native"][0]["tool_call_id"]),
        (&json!("functions"), &json!("call_1"))
    );
}

#[test]
fn a_reply_without_calls_asks_for_nothing() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    let nothing = json!({ "messages": [], "results": [] });
    for provider in ["openai", "anthropic", "gemini"] {
        let reply =
            json!({ "role": "assistant", "content": "hello", "parts": [{ "text": "hello" }] });
        assert_eq!(server.post(&format!("/v1/functions/{provider}"), &reply).json(), nothing);
    }
}
