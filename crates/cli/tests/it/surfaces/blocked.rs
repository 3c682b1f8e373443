//! Blocked tool tests: tools that are hidden from a caller for a reason, and what lifts it.

use std::fs;

use haft_testkit::{Act, Backend, Folder, Keys, Then};
use serde_json::{Value, json};

use crate::bank::{bank, told};
use crate::client::Client;
use crate::stage;
use crate::wire::Server;

/// The reasons for which tools of a bank are blocked for a caller without a token.
fn blocked(server: &Server) -> Vec<(String, String)> {
    let record = server.get("/v1/surfaces").json()["surfaces"][0].take();
    let rows = record["blocked_tools"].as_array().unwrap_or_else(|| panic!("{record:#}"));
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    rows.iter().map(|row| (text(row, "tool_id"), text(row, "reason"))).collect()
}

#[test]
fn denied_tools_and_missing_logins_are_blocked_with_reason() {
    let backend = Backend::new(Keys::Ignored);
    let folder = bank(&backend);
    let server = Server::by({
        let mut serve = stage::command(&folder, "serve --listen 127.0.0.1:0");
        serve.env_remove("BANK_KEY");
        serve
    });
    let pair = |tool: &str, reason: &str| (tool.to_owned(), reason.to_owned());
    assert_eq!(
        blocked(&server),
        [
            pair("pay@1", "credential_missing"),
            pair("refund@1", "policy_blocked"),
            pair("transfer@1", "credential_missing"),
        ]
    );
    let client = Client { server: &server, session: None };
    let listed = client.listed();
    assert!(!["pay", "refund", "transfer"].iter().any(|tool| listed.contains(&(*tool).into())));
    // A call all the same is refused with the obstacle, and nothing is done.
    let input = json!({ "order": "o-1", "card": "4" });
    let code = |tool: &str| {
        let body = json!({ "tool": tool, "input": input });
        server.post("/v1/call", &body).json()["error"]["error_code"].clone()
    };
    assert_eq!(code("pay"), "credential.missing");

    let set = told(&folder, "secrets set bank/key --stdin", "a-key-of-the-bank");
    assert!(set.status.success(), "{set:?}");
    assert_eq!(blocked(&server), [pair("refund@1", "policy_blocked")]);
    assert!(client.listed().contains(&"pay".to_owned()));
    assert_eq!(code("refund"), "permission.denied");
    assert!(backend.heard().is_empty());
    backend.will_at("/pay", Act::commits(Then::json(200, "{\"id\": \"e-1\"}")));
    assert_eq!(code("pay"), Value::Null);
}

/// The records of surfaces so far: what happened, to which scope, in which revision.
fn recorded(folder: &Folder) -> Vec<(String, String, u64)> {
    let said = String::from_utf8(stage::run(folder, "events --json").stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let events = said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let about = events.filter(|event| text(&event["event_type"]).contains(".surface."));
    let told = |event: Value| {
        let data = &event["data"];
        (text(&event["event_type"]), text(&data["scope"]), data["revision"].as_u64().unwrap())
    };
    about.map(told).collect()
}

#[test]
fn file_change_that_changes_session_surface_is_recorded() {
    let backend = Backend::new(Keys::Ignored);
    let folder = bank(&backend);
    let server = Server::of(&folder);
    let client = Client { server: &server, session: Some("s-1") };
    let before = client.listed();
    assert!(before.contains(&"fs_read".to_owned()), "{before:?}");
    assert!(recorded(&folder).is_empty());
    let settings = folder.path().join("haft.toml");
    let text = fs::read_to_string(&settings).unwrap();
    let deny = "[[rule]]\ntool = \"fs.read\"\nverdict = \"deny\"\n";
    fs::write(&settings, format!("{text}{deny}")).unwrap();
    let now = |what: &str, revision| (what.to_owned(), "session:s-1".to_owned(), revision);
    let expected = [now("tool.surface.created", 1), now("tool.surface.updated", 2)];
    // It is recorded without another listing.
    crate::surfaces::eventually(|| (recorded(&folder) == expected).then_some(()));
    assert!(!client.listed().contains(&"fs_read".to_owned()));
    assert_eq!(recorded(&folder), expected);
}

#[test]
fn surface_excludes_tools_its_role_or_model_forbids() {
    let surface = "[[surface]]\nscope = \"role:agent\"\nonly_reads = true\nlargest_schema = 400\n";
    let long = "d".repeat(600);
    let contract = format!(
        "---\nname: Long\nid: long.read\ndescription: Reads.\nversion: 1.0.0\nmutates: []\n\
         risk_level: 0\napproval: auto\ninputs: {{ type: object, description: {long} }}\n\
         outputs: {{ type: object }}\n---\n"
    );
    let folder =
        Folder::new().file("haft.toml", surface).file(".tools/long.read/TOOL.md", contract);
    let server = Server::of(&folder);
    let record = server.get("/v1/surfaces").json()["surfaces"][0].take();
    let out = record["excluded_tools"].as_array().unwrap().iter();
    let reason =
        |tool: &str| out.clone().find(|row| row["tool_id"] == tool).map(|row| &row["reason"]);
    assert_eq!(reason("fs.write@1"), Some(&json!("role_not_allowed")), "{record:#}");
    assert_eq!(reason("long.read@1"), Some(&json!("model_unsupported")), "{record:#}");
    assert_eq!(reason("time.now@1"), None);
    let listed = Client { server: &server, session: None }.listed();
    assert!(listed.contains(&"time_now".to_owned()) && !listed.contains(&"fs_write".to_owned()));
    // It is not only hidden.
    let call = json!({ "tool": "fs.write", "input": { "path": "a", "content": "b" } });
    let refused = server.post("/v1/call", &call).json();
    assert_eq!(refused["error"]["error_code"], "tool.blocked", "{refused:#}");
    assert!(!folder.path().join("a").exists());
}
