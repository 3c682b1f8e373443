//! `haft batch`: several calls, answered in order.

use haft_testkit::Folder;
use serde_json::{Value, json as value};

use crate::call::shop;
use crate::stage::{check, json, run};

fn with(text: &str) -> Folder {
    shop().file("calls.json", text)
}

fn batch(folder: &Folder, rest: &str) -> String {
    let file = folder.path().join("calls.json");
    format!("batch {} {rest}", file.display())
}

/// The exit code, and of each line what it was about and what it came to.
fn results(folder: &Folder, rest: &str) -> (i32, Vec<String>) {
    let ran = run(folder, &batch(folder, &format!("{rest} --json")));
    let text = String::from_utf8(ran.stdout).unwrap();
    let lines = text.lines().map(|line| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let result = &value["result"];
        format!("{} {} {} {}", value["index"], value["id"], result["tool_id"], result["status"])
            .replace('"', "")
    });
    (ran.status.code().unwrap(), lines.collect())
}

#[test]
fn results_are_printed_in_the_order_of_the_request() {
    let folder = with(
        "{\"tool\": \"fs.read\", \"input\": {\"path\": \"a.txt\", \"length\": 2}, \"depends_on\": [1]}\n\
         {\"tool\": \"fs.list\", \"input\": {\"path\": \"nowhere\"}}\n",
    );
    check(
        &folder,
        &batch(&folder, ""),
        r#"
exit 1
{
  "path": "a.txt",
  "content": "he",
  "encoding": "utf-8",
  "size": 6,
  "offset": 0,
  "more": true
}
! ✔ fs.read@1 succeeded by haft-builtin in [time]; nothing changed  inv_[id]
! resource.not_found: `nowhere` does not exist
! ✘ fs.list@1 failed in [time]; nothing changed  inv_[id]
"#,
    );
}

#[test]
fn the_worst_end_is_the_end_of_the_batch() {
    let folder = with(
        r#"{"on_failure": "cancel_dependent", "calls": [
            {"tool": "fs.read", "input": {"path": "a.txt"}, "id": "good"},
            {"tool": "fs.read", "input": {"path": "gone.txt"}, "id": "bad"},
            {"tool": "fs.list", "input": {"path": "."}, "depends_on": ["bad"]},
            {"tool": "fs.list", "input": {"path": "."}, "depends_on": ["good", 0]},
            {"tool": "fs.read", "input": {"path": 5}}
        ]}"#,
    );
    let (exit, lines) = results(&folder, "");
    assert_eq!(
        (exit, lines.iter().map(String::as_str).collect()),
        (
            1,
            vec![
                "0 good fs.read@1 succeeded",
                "1 bad fs.read@1 failed",
                "2 null fs.list@1 synthetic_error",
                "3 null fs.list@1 succeeded",
                "4 null fs.read@1 failed",
            ]
        )
    );
}

#[test]
fn batch_leaves_pending_call_in_inbox_and_runs_others() {
    let folder = with(
        r#"[{"tool": "fs.write", "input": {"path": "b.txt", "content": "x"}},
            {"tool": "fs.read", "input": {"path": "a.txt"}}]"#,
    );
    let (exit, lines) = results(&folder, "--no-wait --as agent:coder");
    assert_eq!(
        (exit, lines.iter().map(String::as_str).collect()),
        (75, vec!["0 null fs.write@1 pending", "1 null fs.read@1 succeeded"])
    );
}

#[test]
fn invalid_batch_is_rejected_as_a_whole() {
    let folder = with(r#"[{"tool": "fs.list", "input": {"path": "."}, "depends_on": ["x"]}]"#);
    check(
        &folder,
        &batch(&folder, ""),
        r#"
exit 4
! input.value: call 0 depends on `x`, and the batch has no such call
! help: name an id of the batch, or an index from 0
"#,
    );
    let misspelt = with(r#"[{"tol": "fs.list"}]"#);
    assert_eq!(run(&misspelt, &batch(&misspelt, "")).status.code(), Some(2));
}

#[test]
fn a_trace_tells_of_the_batch_and_its_rules() {
    let folder = with(
        r#"{"yield": "all_ordered", "interrupt": "block", "context_modifiers": "forbid", "calls": [
            {"tool": "time.now"}, {"tool": "time.now", "depends_on": [0]}
        ]}"#,
    );
    let ran = run(&folder, &batch(&folder, "--progress --json"));
    let text = String::from_utf8(ran.stdout).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let id = last["result"]["invocation_id"].as_str().unwrap();
    let (_, told) = json(&folder, &format!("trace {id} --json"));
    let policy = &told["batch"]["policy"];
    assert_eq!(
        (&told["batch"]["index"], &told["scheduling"]["queue_state"], &policy["yield_policy"]),
        (&value!(1), &value!("yielded"), &value!("all_ordered"))
    );
    let (_, records) = json(&folder, &format!("trace {id} --records"));
    let records = records.as_array().unwrap();
    let rules = records.iter().find(|record| record["kind"] == "scheduler-policy").unwrap();
    assert_eq!(rules["record"]["scheduler_policy_id"], policy["scheduler_policy_id"]);
    assert_eq!(records[0]["record"]["scheduler_policy_ref"], policy["scheduler_policy_id"]);
    let said = String::from_utf8(run(&folder, &format!("trace {id}")).stdout).unwrap();
    for expected in ["batch     bat_", "all_ordered; interrupt block", "queue     yielded"] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let events = String::from_utf8(run(&folder, "events --json").stdout).unwrap();
    assert!(events.contains("haft.batch.planned"), "{events}");
}

#[test]
fn an_order_that_contradicts_itself_is_refused() {
    let folder = with(r#"{"yield": "unordered_streaming", "calls": [{"tool": "time.now"}]}"#);
    check(
        &folder,
        &batch(&folder, ""),
        r#"
exit 4
! input.value: results cannot keep the order of the request and come as they end as well
! help: say `allow_unordered`, or leave `unordered_streaming` out
"#,
    );
}
