//! Elicitation over REST: the caller learns where its form is, and a person fills it in.

use haft_testkit::eventually;
use serde_json::{Value, json};

use crate::hotel::hotel;
use crate::stage;
use crate::wire::Server;

#[test]
fn form_waits_in_inbox_until_approver_with_token_answers() {
    let people = "[[actor]]\nid = \"user:bo\"\nroles = [\"approver\"]\n";
    for era in ["legacy", "modern"] {
        let folder = hotel(era, people);
        let (exit, token) = stage::json(&folder, "token new user:bo --json");
        assert_eq!(exit, 0, "{token}");
        let bearer = format!("Bearer {}", token["token"].as_str().unwrap());
        let server = Server::of(&folder);
        let asked = server.post("/v1/call", &json!({ "tool": "book" }));
        let envelope = asked.json();
        assert_eq!(
            (asked.status, &envelope["status"], &envelope["final_status"]),
            (202, &json!("pending"), &json!("needs_input")),
            "{era} {envelope:#}"
        );
        let place = asked.header("location").unwrap().to_owned();
        assert_eq!(server.get(&place).json()["status"], "needs_input");
        let id = envelope["approval_id"].as_str().unwrap();
        let listed = server.get("/v1/approvals").json();
        let form = &listed["approvals"][0]["form"];
        assert_eq!(form["schema"]["required"], json!(["count"]), "{listed:#}");
        let reply = |headers: &[(&str, &str)], body: Value| {
            let path = format!("/v1/approvals/{id}");
            server.ask("POST", &path, headers, Some(&body.to_string()))
        };
        let yes = |content: Value| json!({ "decision": "approve", "content": content });
        let (status, problem) = reply(&[], yes(json!({"count": 2}))).problem();
        assert_eq!((status, &problem["error_code"]), (403, &json!("permission.denied")));
        let as_bo = [("authorization", bearer.as_str())];
        let (status, problem) = reply(&as_bo, yes(json!({"count": "two"}))).problem();
        assert_eq!((status, &problem["field"]), (400, &json!("/count")), "{problem:#}");
        let given = reply(&as_bo, yes(json!({"count": 2})));
        assert_eq!((given.status, &given.json()["state"]), (200, &json!("approved")), "{era}");
        let ended = eventually(|| {
            let shown = server.get(&place).json();
            (shown["status"] == "succeeded").then_some(shown)
        });
        assert_eq!(
            ended["result"]["structured_content"]["told"]["content"],
            json!({"count": 2, "breakfast": false}),
            "{era}"
        );
    }
}
