//! Black-box tests (of the twenty) that are seen over HTTP.

use haft_testkit::{ALLOW, Backend, Keys, READ, Served};
use serde_json::{Value, json};

use crate::rest::shop;
use crate::stage::json as printed;
use crate::wire::Server;

/// §23, test 3: four calls by name, four invocations, each with a terminal result of its own class.
#[test]
fn test_03_unknown_blocked_excluded_differ_foreign_calls_hidden() {
    let backend = Backend::new(Keys::Ignored);
    let disabled = format!("{READ}metadata: {{ haft: {{ lifecycle: {{ state: disabled }} }} }}\n");
    let surface = "[[surface]]\nscope = \"role:agent\"\ntools = [\"look\", \"off\"]\n";
    let folder = Served::by(&backend)
        .at("look", READ, "GET", "/look")
        .at("off", &disabled, "GET", "/off")
        .at("hidden", READ, "GET", "/hidden")
        .with(&format!("{surface}{ALLOW}"));
    let server = Server::of(&folder);
    let called = |tool: &str| {
        let answer = server.post("/v1/call", &json!({ "tool": tool }));
        assert_eq!(answer.status, 200);
        answer.json()
    };
    let class = |envelope: &Value| envelope["error"]["error_class"].as_str().unwrap().to_owned();
    let (unknown, blocked, excluded) = (called("nothing"), called("off"), called("hidden"));
    assert_eq!(class(&unknown), "unknown_tool", "{unknown:#}");
    assert_eq!(class(&blocked), "blocked_tool", "{blocked:#}");
    assert_eq!(class(&excluded), "blocked_tool", "{excluded:#}");
    let reasons = (&blocked["error"]["cause"]["reason"], &excluded["error"]["cause"]["reason"]);
    assert_eq!(reasons, (&json!("lifecycle_disabled"), &json!("role_not_allowed")));
    for envelope in [&unknown, &blocked, &excluded] {
        let id = envelope["invocation_id"].as_str().unwrap();
        let shown = server.get(&format!("/v1/invocations/{id}")).json();
        assert_eq!(shown["result"]["result_id"], envelope["result_id"], "{shown:#}");
    }
    // Another actor's call does not exist for this caller.
    let (_, theirs) = printed(&folder, "call look --as user:bea --json");
    let id = theirs["invocation_id"].as_str().unwrap();
    for path in ["", "/trace"] {
        let (status, _) = server.get(&format!("/v1/invocations/{id}{path}")).problem();
        assert_eq!(status, 404);
    }
    assert_eq!(server.get("/v1/invocations").json()["invocations"].as_array().unwrap().len(), 3);
    let catalog = server.get("/v1/catalog").json();
    assert!(!catalog.to_string().contains("hidden"), "{catalog:#}");
    assert_eq!(server.get("/v1/catalog/hidden").problem().0, 404);
}

/// §23, test 7: asked over HTTP, killed, started again, approved, and carried out once.
#[test]
fn test_07_an_approval_outlives_a_power_cut() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    let asked = server.post("/v1/call", &json!({ "tool": "refund", "input": { "order": 7 } }));
    let place = asked.header("location").unwrap().to_owned();
    let envelope = asked.json();
    assert_eq!((asked.status, &envelope["status"]), (202, &json!("pending")), "{envelope:#}");
    let id = envelope["invocation_id"].as_str().unwrap();
    let question = envelope["approval_id"].as_str().unwrap();
    server.kill();
    let server = Server::of(&folder);
    assert_eq!(server.get(&place).json()["status"], "awaiting_approval");
    assert_eq!(backend.effects(), 0);
    let (exit, paid) = printed(&folder, &format!("approve {question} --json"));
    assert_eq!(
        (exit, &paid["status"], &paid["invocation_id"]),
        (0, &json!("succeeded"), &json!(id))
    );
    assert_eq!(backend.effects(), 1);
    let shown = server.get(&place).json();
    assert_eq!((&shown["invocation_id"], &shown["status"]), (&json!(id), &json!("succeeded")));
    let told = server.get(&format!("{place}/trace")).json();
    let verdicts: Vec<_> = told["decisions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["decision"]["verdict"].clone())
        .collect();
    assert_eq!(verdicts, ["ask", "allow"], "{told:#}");
    assert_eq!(told["channel"], "http");
    let (exit, verified) = printed(&folder, "audit verify --json");
    assert_eq!(exit, 0, "{verified}");
}
