//! REST catalog tests: tools and explanations match the command line.

use haft_testkit::{Backend, Keys};
use serde_json::{Value, json};

use crate::rest::shop;
use crate::stage::json as printed;
use crate::wire::Server;

#[test]
fn the_catalog_is_what_the_command_line_lists() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    let (_, listed) = printed(&folder, "tools --json");
    assert_eq!(server.get("/v1/catalog").json(), listed);
    let (_, shown) = printed(&folder, "show pay --json");
    let mut served: Value = server.get("/v1/catalog/pay").json();
    // Digests are filtered out of what is printed.
    for name in ["fingerprint", "schema_digest"] {
        served[name] = shown[name].clone();
    }
    assert_eq!(served, shown);
    let tag = server.get("/v1/catalog").header("etag").unwrap().to_owned();
    let same = server.ask("GET", "/v1/catalog", &[("If-None-Match", &tag)], None);
    assert_eq!(same.status, 304);
}

#[test]
fn a_search_answers_in_one_record() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    let found = server.get("/v1/search?q=refund").json();
    assert_eq!(found["matches"][0], "refund@1", "{found:#}");
    let named = server.get("/v1/search?q=select:look,nothing").json();
    assert_eq!(
        (&named["matches"], &named["missing_names"]),
        (&json!(["look@1"]), &json!(["nothing"]))
    );
    let surface = &server.get("/v1/surfaces").json()["surfaces"][0];
    let loaded = surface["loaded_tools"].as_array().unwrap();
    assert!(loaded.contains(&json!("look@1")), "{surface:#}");
}

#[test]
fn why_reports_the_outcome_without_making_the_call() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    let why = server.post("/v1/why", &json!({ "tool": "refund", "input": {} })).json();
    assert_eq!((&why["driver"], &why["decision"]["verdict"]), (&json!("shop"), &json!("ask")));
    let (status, problem) = server.post("/v1/why", &json!({ "tool": "nothing" })).problem();
    assert_eq!((status, &problem["error_code"]), (404, &json!("tool.unknown")));
    assert_eq!(server.get("/v1/invocations").json()["invocations"], json!([]));
}

#[test]
fn calls_are_counted_by_tool_and_status() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    for tool in ["look", "look", "pay", "nothing", "refund"] {
        server.post("/v1/call", &json!({ "tool": tool }));
    }
    let answer = server.get("/metrics");
    let text = String::from_utf8(answer.body).unwrap();
    for line in [
        "haft_calls_total{tool=\"look@1\",status=\"succeeded\"} 2",
        "haft_calls_total{tool=\"pay@1\",status=\"succeeded\"} 1",
        "haft_calls_total{tool=\"unresolved\",status=\"failed\"} 1",
        "haft_call_seconds_count{tool=\"look@1\"} 2",
        "haft_calls_open 1",
        "haft_questions_open 1",
        "haft_events_behind 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}
