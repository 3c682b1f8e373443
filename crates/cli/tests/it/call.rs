//! `haft call`: one call through the whole pipeline, and how it ends.

use haft_testkit::Folder;
use serde_json::json;

use crate::stage::{check, json as answer, run};

/// A workspace of which nothing is said but its name.
pub(crate) fn shop() -> Folder {
    Folder::new().file("haft.toml", "[workspace]\nname = \"shop\"\n").file("a.txt", "hello\n")
}

#[test]
fn a_read_runs_at_once() {
    check(
        &shop(),
        "call fs.read path=a.txt",
        r#"
exit 0
{
  "path": "a.txt",
  "content": "hello\n",
  "encoding": "utf-8",
  "size": 6,
  "offset": 0,
  "more": false
}
! ✔ fs.read@1 succeeded by haft-builtin in [time]; nothing changed  inv_[id]
"#,
    );
}

#[test]
fn the_time_and_a_list_are_answers_too() {
    let folder = shop().file("haft.lock", "");
    let (exit, now) = answer(&folder, "call time.now --json");
    assert_eq!((exit, &now["status"]), (0, &json!("succeeded")));
    assert!(now["structured_content"]["unix_ms"].as_u64().unwrap() > 1_700_000_000_000);
    let (exit, list) = answer(&folder, "call fs.list path=. --json");
    assert_eq!(
        (exit, &list["structured_content"]["entries"]),
        (
            0,
            &json!([
                {"name": ".config", "kind": "folder"},
                {"name": "a.txt", "kind": "file", "size": 6},
                {"name": "haft.lock", "kind": "file", "size": 0},
                {"name": "haft.toml", "kind": "file", "size": 26}
            ])
        )
    );
}

#[test]
fn machines_get_the_whole_envelope() {
    check(
        &shop(),
        "call fs.read path=a.txt length=2 --json",
        r#"
exit 0
{
  "schema_version": "0.2.0",
  "result_id": "res_[id]",
  "invocation_id": "inv_[id]",
  "tool_id": "fs.read@1",
  "status": "succeeded",
  "final_status": "succeeded",
  "is_error": false,
  "effect_state": "none",
  "content": [],
  "structured_content": {
    "path": "a.txt",
    "content": "he",
    "encoding": "utf-8",
    "size": 6,
    "offset": 0,
    "more": true
  },
  "model_facing_content": [
    {
      "type": "text",
      "text": "{\"path\":\"a.txt\",\"content\":\"he\",\"encoding\":\"utf-8\",\"size\":6,\"offset\":0,\"more\":true}"
    }
  ],
  "ui_facing_summary": "fs.read@1 succeeded",
  "transcript_search_text": "{\"path\":\"a.txt\",\"content\":\"he\",\"encoding\":\"utf-8\",\"size\":6,\"offset\":0,\"more\":true}",
  "resource_refs": [],
  "artifact_refs": [],
  "evidence_refs": [
    "haft://invocations/inv_[id]"
  ],
  "policy_refs": [],
  "telemetry_refs": [],
  "persistence_refs": [
    "per_[id]"
  ],
  "summary": "fs.read@1 succeeded",
  "redaction_state": "none",
  "empty": false,
  "driver": "haft-builtin",
  "created_at": "[moment]"
}
"#,
    );
}

#[test]
fn what_was_sent_is_kept_byte_for_byte() {
    let sent = "{ \"path\" :\n  \"a.txt\" }\n";
    let folder = shop().file("input.json", sent);
    let line = format!("call fs.read --input @{}/input.json --json", folder.path().display());
    let (exit, envelope) = answer(&folder, &line);
    assert_eq!(exit, 0);
    let id = envelope["invocation_id"].as_str().unwrap();
    let said = run(&folder, &format!("trace {id} --json")).stdout;
    let trace: serde_json::Value = serde_json::from_slice(&said).unwrap();
    let model = &trace["inputs"]["model"];
    let digest = haft_model::Digest::of_bytes(sent.as_bytes());
    assert_eq!(model["digest"], json!(digest));
    assert_eq!(model["value"], json!({"path": "a.txt"}));
}

#[test]
fn unknown_tool_is_reported_with_suggestion_and_recorded() {
    let folder = shop();
    check(
        &folder,
        "call fs.raed path=a.txt",
        r"
exit 4
! tool.unknown: there is no tool `fs.raed`
! help: did you mean `fs.read`?
! ✘ unresolved:fs.raed failed in [time]; nothing changed  inv_[id]
",
    );
    let (_, runs) = answer(&folder, "runs --json");
    assert_eq!(runs[0]["error_code"], "tool.unknown");
}

#[test]
fn invalid_input_ends_call_with_input_schema_error() {
    let folder = shop();
    for (line, code) in [
        ("call fs.read", "input.schema"),
        ("call fs.read path=a.txt colour=red", "input.schema"),
        ("call fs.read --input {\"path\":", "input.schema"),
        ("call fs.read --input []", "input.schema"),
    ] {
        let (exit, envelope) = answer(&folder, &format!("{line} --json"));
        assert_eq!((exit, &envelope["error"]["error_code"]), (4, &json!(code)), "{line}");
    }
}

#[test]
fn what_a_rule_denies_is_not_asked_about() {
    let folder = shop().file(
        "haft.toml",
        "[[rule]]\nverdict = \"deny\"\ntool = \"fs.write\"\nreason = \"nothing is written here\"\n",
    );
    check(
        &folder,
        "call fs.write path=b.txt content=x --as agent:coder",
        r"
exit 3
! permission.denied: nothing is written here
! ✘ fs.write@1 denied in [time]; nothing was sent  inv_[id]
",
    );
    check(
        &folder,
        "call fs.write path=b.txt content=x",
        r"
exit 3
! permission.denied: nothing is written here
! help: `haft why` shows every opinion
! ✘ fs.write@1 denied in [time]; nothing was sent  inv_[id]
",
    );
    assert!(!folder.path().join("b.txt").exists());
}

#[test]
fn trace_records_who_called_on_behalf_of_actor() {
    let folder = shop();
    let (_, envelope) = answer(&folder, "call time.now --as agent:coder --key k1 --json");
    let id = envelope["invocation_id"].as_str().unwrap();
    let (_, trace) = answer(&folder, &format!("trace {id} --json"));
    assert_eq!(
        (&trace["actor"], &trace["channel"], &trace["key"]),
        (
            &json!({"id": "agent:coder", "tenant": "shop", "roles": ["agent"], "speaking": "user:ana"}),
            &json!("cli"),
            &json!("k1")
        )
    );
}

#[test]
fn a_call_too_many_says_how_long_to_wait() {
    let folder = Folder::new().file("a.txt", "hello\n").file(
        "haft.toml",
        "[workspace]\nname = \"shop\"\n[limits]\n\
         rates = [{ tool = \"fs.*\", per = \"hour\", value = 1, scope = \"actor\" }]\n",
    );
    assert_eq!(answer(&folder, "call fs.list path=../.. --json").0, 4, "nothing was used by that");
    assert_eq!(answer(&folder, "call fs.list path=. --json").0, 0);
    check(
        &folder,
        "call fs.read path=a.txt",
        r"
exit 1
! rate.limited: `fs.*` is limited to 1 call per hour for each actor, and 1 ran
! help: wait 60 min, or raise `[limits] rates` in haft.toml
! ✘ fs.read@1 failed in [time]; nothing changed  inv_[id]
",
    );
    let (_, envelope) = answer(&folder, "call fs.read path=a.txt --json");
    let wait = envelope["error"]["retry"]["retry_after_ms"].as_u64().unwrap();
    assert!((3_000_000..=3_600_000).contains(&wait), "{wait}");
}
