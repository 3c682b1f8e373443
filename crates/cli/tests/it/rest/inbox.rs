//! Approval inbox over REST: the caller sees its question, and may not answer it.

use haft_testkit::{Backend, Keys};
use serde_json::json;

use crate::rest::shop;
use crate::stage::{done, json as printed};
use crate::wire::Server;

#[test]
fn caller_sees_own_approval_but_cannot_answer_it() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    let asked = server.post("/v1/call", &json!({ "tool": "refund" }));
    assert_eq!(asked.status, 202);
    let envelope = asked.json();
    let question = envelope["approval_id"].as_str().unwrap();
    let listed = server.get("/v1/approvals").json();
    let (_, printed) = printed(&folder, "approvals --json");
    assert_eq!(listed["approvals"][0]["approval_id"], printed[0]["approval_id"]);
    assert_eq!(listed["approvals"][0]["summary"], printed[0]["summary"]);
    let place = format!("/v1/approvals/{question}");
    let (status, problem) = server.post(&place, &json!({ "decision": "approve" })).problem();
    assert_eq!((status, &problem["error_code"]), (403, &json!("permission.denied")), "{problem}");
    let (status, _) = server.post(&place, &json!({ "decision": "perhaps" })).problem();
    assert_eq!(status, 400);
    let (status, _) =
        server.post("/v1/approvals/apr_0", &json!({ "decision": "approve" })).problem();
    assert_eq!(status, 404);
    assert_eq!(backend.effects(), 0);
    done(&folder, &format!("approve {question}"));
    assert_eq!(backend.effects(), 1);
    assert_eq!(server.get("/v1/approvals").json()["approvals"], json!([]));
    let all = server.get("/v1/approvals?all=true").json();
    assert_eq!(all["approvals"][0]["state"], "approved", "{all:#}");
    let shown = server.get(asked.header("location").unwrap()).json();
    assert_eq!(
        (&shown["status"], &shown["result"]["status"]),
        (&json!("succeeded"), &json!("succeeded"))
    );
}

#[test]
fn a_call_that_waits_is_called_off() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend);
    let server = Server::of(&folder);
    let asked = server.post("/v1/call", &json!({ "tool": "refund" }));
    let place = asked.header("location").unwrap().to_owned();
    let told = server.ask("POST", &format!("{place}/cancel"), &[], None);
    assert_eq!((told.status, &told.json()["state"]), (200, &json!("canceled")));
    assert_eq!(server.get(&place).json()["status"], "canceled");
}
