//! Deferred loading for function calling and for A2A agents.

use haft_testkit::{Act, Backend, Keys, Then};
use serde_json::{Value, json};

use crate::surfaces::{CANARY, settings, warehouse};
use crate::wire::Server;

const OWN: [&str; 5] = ["tool_search", "tool_load", "call_read", "call_write", "call_destructive"];

fn names(list: &Value, pointer: &str) -> Vec<String> {
    let functions = list.as_array().unwrap_or_else(|| panic!("{list:#}"));
    functions.iter().map(|one| one.pointer(pointer).unwrap().as_str().unwrap().to_owned()).collect()
}

/// The message of a model that calls functions, and what follows it.
fn called(server: &Server, session: &str, calls: &[(&str, Value)]) -> Value {
    let one = |(name, arguments): &(&str, Value)| {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        json!({ "id": format!("call_{name}"), "type": "function", "function": function })
    };
    let reply = json!({ "tool_calls": calls.iter().map(one).collect::<Vec<_>>() }).to_string();
    let headers = [("Haft-Session", session)];
    server.ask("POST", "/v1/functions/openai", &headers, Some(&reply)).json()
}

#[test]
fn function_calling_model_finds_loads_and_calls_deferred_tools() {
    let backend = Backend::new(Keys::Ignored);
    let folder = warehouse(&backend).with(&settings(""));
    let server = Server::of(&folder);
    for (provider, place, name) in [
        ("openai", "/tools", "/function/name"),
        ("anthropic", "/tools", "/name"),
        ("gemini", "/tools/0/functionDeclarations", "/name"),
    ] {
        let list = server.get(&format!("/v1/functions/{provider}")).json();
        let listed = names(list.pointer(place).unwrap(), name);
        assert_eq!(listed[..5], OWN, "{provider}");
        assert!(!list.to_string().contains(CANARY), "{provider}");
    }
    let forecast = json!({ "name": "weather.forecast", "arguments": {} });
    let early = called(&server, "s-1", &[("call_read", forecast.clone())]);
    assert_eq!(early["results"][0]["error"]["error_code"], "tool.schema_not_loaded");
    let found = called(&server, "s-1", &[("tool_search", json!({ "query": "weather" }))]);
    assert_eq!(found["results"][0]["matches"][0], "weather.forecast@1", "{found:#}");
    assert!(!found.to_string().contains(CANARY));
    // Loaded and called by one reply, and answered in its order.
    backend.will(Act::commits(Then::json(200, "{\"sky\": \"clear\"}")));
    let load = json!({ "names": ["weather.forecast"] });
    let done = called(&server, "s-1", &[("call_read", forecast), ("tool_load", load)]);
    assert_eq!(done["messages"][0]["tool_call_id"], "call_call_read");
    assert_eq!(done["results"][0]["structured_content"], json!({ "sky": "clear" }), "{done:#}");
    let loaded = &done["results"][1]["loaded"][0];
    assert_eq!(
        (&loaded["tool_id"], &loaded["call_with"]),
        (&json!("weather.forecast@1"), &json!("call_read"))
    );
    assert!(loaded["tool"]["function"]["parameters"].to_string().contains(CANARY), "{loaded:#}");
    // From now on it is on the list of this session and of no other.
    let of = |session: &str| {
        let list = server.ask("GET", "/v1/functions/openai", &[("Haft-Session", session)], None);
        names(&list.json()["tools"], "/function/name").contains(&"weather_forecast".to_owned())
    };
    assert_eq!((of("s-1"), of("s-2")), (true, false));
    let wrong = called(&server, "s-1", &[("tool_search", json!({ "words": "x" }))]);
    assert_eq!(wrong["results"][0]["is_error"], true, "{wrong:#}");
}

#[test]
fn a2a_agent_finds_and_loads_skills_missing_from_card() {
    let backend = Backend::new(Keys::Ignored);
    let folder = warehouse(&backend).with(&settings(""));
    let server = Server::of(&folder);
    let card = server.get("/.well-known/agent-card.json").json();
    let skills = names(&card["skills"], "/id");
    assert_eq!(skills[..2], ["tool_search", "tool_load"]);
    assert!(!skills.contains(&"weather.forecast@1".to_owned()));
    let send = |skill: &str, input: Value| {
        let message = json!({ "messageId": "m", "role": "user", "parts": [{ "kind": "data", "data": { "skill": skill, "input": input } }] });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "message/send", "params": { "message": message } });
        server.post("/a2a", &body).json()["result"].take()
    };
    let early = send("weather.forecast", json!({}));
    assert_eq!(early["status"]["state"], "failed", "{early:#}");
    let found = send("tool_search", json!({ "query": "weather" }));
    assert_eq!(
        (&found["kind"], &found["parts"][0]["data"]["matches"][0]),
        (&json!("message"), &json!("weather.forecast@1")),
        "{found:#}"
    );
    let loaded = send("tool_load", json!({ "names": ["weather.forecast"] }));
    let tool = &loaded["parts"][0]["data"]["loaded"][0]["tool"];
    assert!(tool["input_schema"].to_string().contains(CANARY), "{loaded:#}");
    backend.will(Act::commits(Then::json(200, "{\"sky\": \"clear\"}")));
    let done = send("weather.forecast", json!({}));
    assert_eq!(done["status"]["state"], "completed", "{done:#}");
}
