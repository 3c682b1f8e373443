//! Deferred loading tests (§23, tests 1 and 2): a deferred tool is found, loaded and called, not
//! before.

use haft_testkit::{Backend, Keys};
use serde_json::{Value, json};

use crate::client::Client;
use crate::surfaces::{CANARY, TOOLS, events, settings, warehouse};
use crate::wire::Server;

const OURS: [&str; 5] = ["tool_search", "tool_load", "call_read", "call_write", "call_destructive"];

/// The builtin tools, which are left out with the others.
const BUILTIN: usize = 6;

fn forecast(state: &str) -> Value {
    let mut found = json!({
        "tool_id": "weather.forecast@1",
        "name": "weather_forecast",
        "title": "weather.forecast",
        "description": "Does weather.forecast.",
        "score": 1.0,
        "matched_words": ["weather.forecast"],
        "state": state,
    });
    if state == "deferred" {
        found["reason"] = json!("deferred_until_discovered");
    }
    found
}

#[test]
fn test_01_small_surface_is_searched_loaded_and_called() {
    let backend = Backend::new(Keys::Ignored);
    let folder = warehouse(&backend).with(&settings(""));
    let server = Server::of(&folder);
    let client = Client { server: &server, session: Some("s-1") };
    assert_eq!(client.listed(), OURS);

    let named = client.search("select:weather.forecast,weather.forcast");
    assert_eq!(
        named,
        json!({
            "query": "select:weather.forecast,weather.forcast",
            "query_type": "select",
            "matches": ["weather.forecast@1"],
            "match_details": [forecast("deferred")],
            "total_deferred_tools": TOOLS + BUILTIN,
            "missing_names": ["weather.forcast"],
            "did_you_mean": { "weather.forcast": "weather.forecast" },
            "pending_providers": [],
            "next_action": "load_schema_then_call",
        })
    );
    let by_words = client.search("what will the weather be");
    assert_eq!(
        (&by_words["matches"], &by_words["query_type"], &by_words["next_action"]),
        (&json!(["weather.forecast@1"]), &json!("keyword"), &json!("load_schema_then_call"))
    );
    let nothing = client.search("zzyzx");
    assert_eq!(
        nothing,
        json!({
            "query": "zzyzx",
            "query_type": "keyword",
            "matches": [],
            "match_details": [],
            "total_deferred_tools": TOOLS + BUILTIN,
            "missing_names": [],
            "pending_providers": [],
            "next_action": "search_with_other_words",
            "no_match_reason": "nothing_matches",
        })
    );
    for reply in [&named, &by_words, &nothing, &client.rpc("tools/list", json!({}))] {
        assert!(!reply.to_string().contains(CANARY), "{reply:#}");
    }

    let loaded = client.call("tool_load", json!({ "names": ["weather.forecast", "nobody"] }));
    let tool = json!({
        "name": "weather_forecast",
        "title": "weather.forecast",
        "description": "Does weather.forecast.",
        "inputSchema": { "type": "object", "properties": { CANARY: { "type": "integer" } } },
        "outputSchema": { "type": "object" },
        "annotations": {
            "title": "weather.forecast",
            "readOnlyHint": true,
            "destructiveHint": false,
            "idempotentHint": false,
            "openWorldHint": false,
        },
    });
    assert_eq!(
        loaded["structuredContent"],
        json!({
            "loaded": [{ "tool_id": "weather.forecast@1", "call_with": "call_read", "tool": tool }],
            "already_loaded": [],
            "refused": [],
            "missing_names": ["nobody"],
            "surface": { "surface_id": "srf_session_s-1", "revision": 2 },
            "next_action": "call",
        })
    );
    assert_eq!(client.listed(), [&OURS[..], &["weather_forecast"]].concat());
    assert_eq!(
        client.search("select:weather.forecast")["match_details"],
        json!([forecast("loaded")])
    );

    let by_name = client.call("weather.forecast", json!({ CANARY: 1 }));
    let by_ours =
        client.call("call_read", json!({ "name": "weather.forecast", "arguments": { CANARY: 2 } }));
    for result in [&by_name, &by_ours] {
        assert_eq!(result["isError"], false, "{result:#}");
        let id = result["_meta"]["dev.haft/invocation-id"].as_str().unwrap();
        let told = server.get(&format!("/v1/invocations/{id}/trace")).json();
        assert_eq!(
            (&told["tool_id"], &told["surface"], &told["native"][0]["jsonrpc_request_id"]),
            (&json!("weather.forecast@1"), &json!("srf_session_s-1"), &json!(1))
        );
    }
    assert_eq!(backend.heard().len(), 2);
    assert_eq!(
        events(&folder),
        [
            "tool.surface.created",
            "tool.deferred.discovered",
            "tool.deferred.loaded",
            "tool.surface.updated",
        ]
    );
    let other = Client { server: &server, session: Some("s-2") };
    assert_eq!(other.listed(), OURS, "what one session loads is not there in another");
}

#[test]
fn test_02_deferred_tool_is_refused_before_load() {
    let backend = Backend::new(Keys::Ignored);
    let folder = warehouse(&backend).with(&settings(""));
    let server = Server::of(&folder);
    let client = Client { server: &server, session: None };
    let arguments = json!({ "name": "weather.forecast", "arguments": {} });
    for (name, arguments) in [("weather.forecast", json!({})), ("call_read", arguments)] {
        let refused = client.call(name, arguments);
        let error = &refused["_meta"]["dev.haft/error"];
        assert_eq!(
            (&refused["isError"], &error["error_class"], &error["retry"]["discover_first"]),
            (&json!(true), &json!("schema_not_loaded"), &json!(true)),
            "{refused:#}"
        );
        assert!(
            refused["content"]
                .to_string()
                .contains("load the schema of `weather_forecast` (`tool_load`)"),
            "{refused:#}"
        );
        let id = refused["_meta"]["dev.haft/invocation-id"].as_str().unwrap();
        let shown = server.get(&format!("/v1/invocations/{id}")).json();
        assert_eq!(shown["result"]["error"]["error_class"], "schema_not_loaded", "{shown:#}");
    }
    assert_eq!(backend.connections(), 0);
    // Over REST it is the same surface: that of the caller, where no session is named.
    let loaded = server.post("/v1/surfaces/load", &json!({ "names": ["weather.forecast"] })).json();
    let schema = json!({ "type": "object", "properties": { CANARY: { "type": "integer" } } });
    assert_eq!(
        loaded["loaded"],
        json!([{ "tool_id": "weather.forecast@1", "inputs": schema }]),
        "{loaded:#}"
    );
    assert_eq!(loaded["surface"]["loaded_tools"], json!(["weather.forecast@1"]));
    assert_eq!(client.call("weather.forecast", json!({}))["isError"], false);
    let elsewhere = json!({ "tool": "weather.forecast" }).to_string();
    let elsewhere =
        server.ask("POST", "/v1/call", &[("Haft-Session", "s-9")], Some(&elsewhere)).json();
    assert_eq!(elsewhere["error"]["error_class"], "schema_not_loaded", "{elsewhere:#}");
    assert_eq!(backend.heard().len(), 1);
}

#[test]
fn rest_search_returns_search_record_and_tool_rows() {
    let backend = Backend::new(Keys::Ignored);
    let folder = warehouse(&backend).with(&settings(""));
    let server = Server::of(&folder);
    let found = server.get("/v1/search?q=select:weather.forecast").json();
    assert_eq!(found["match_details"], json!([forecast("deferred")]));
    assert_eq!(
        (&found["tools"][0]["key"], &found["tools"][0]["state"]),
        (&json!("weather.forecast@1"), &json!("deferred"))
    );
    assert!(!found.to_string().contains(CANARY), "{found:#}");
    let surface = &server.get("/v1/surfaces").json()["surfaces"][0];
    assert_eq!(
        (&surface["revision"], &surface["deferred_tools"].as_array().unwrap().len()),
        (&json!(1), &(TOOLS + BUILTIN)),
        "{surface:#}"
    );
}
