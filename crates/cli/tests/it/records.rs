//! Record tests: runs, traces and events from the terminal.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::call::shop;
use crate::stage::{check, command, done, json as answer, run, unvaried};

#[test]
fn looking_makes_nothing() {
    let folder = shop().file("haft.lock", "");
    for line in [
        "why fs.write path=b.txt content=x",
        "runs",
        "approvals",
        "approvals --standing",
        "events",
        "trace inv_1",
        "audit verify",
        "test time.now",
    ] {
        run(&folder, line);
        let mut names: Vec<String> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["a.txt", "haft.lock", "haft.toml"], "haft {line}");
    }
}

#[test]
fn runs_are_listed_newest_first_and_can_be_chosen() {
    let folder = shop();
    done(&folder, "call time.now");
    done(&folder, "call fs.read path=a.txt --as agent:coder");
    run(&folder, "call fs.read path=gone.txt");
    let tools = |line: &str| -> Vec<String> {
        let (exit, runs) = answer(&folder, line);
        assert_eq!(exit, 0, "{line}");
        let said = |run: &Value| format!("{} {}", run["tool_id"], run["status"]).replace('"', "");
        runs.as_array().unwrap().iter().map(said).collect()
    };
    let (read, failed, now) = ("fs.read@1 succeeded", "fs.read@1 failed", "time.now@1 succeeded");
    assert_eq!(tools("runs --json"), [failed, read, now]);
    assert_eq!(tools("runs --json --limit 1"), [failed]);
    assert_eq!(tools("runs --json --tool fs.read"), [failed, read]);
    assert_eq!(tools("runs --json --actor agent:coder"), [read]);
    assert_eq!(tools("runs --json --status failed"), [failed]);
    assert!(tools("runs --json --open").is_empty());
    let (_, runs) = answer(&folder, "runs --json");
    let second = runs[1]["invocation_id"].as_str().unwrap();
    assert_eq!(tools(&format!("runs --json --before {second}")), [now]);
    assert_eq!(run(&folder, "runs --status done").status.code(), Some(2));
}

#[test]
fn trace_shows_idempotency_key_state_and_replay_count() {
    let folder = shop();
    let line = "call fs.write path=b.txt content=one --key k1 --as agent:coder --no-wait --json";
    let (_, first) = answer(&folder, line);
    done(&folder, &format!("approve {}", first["approval_id"].as_str().unwrap()));
    let (_, again) = answer(&folder, line);
    let id = first["invocation_id"].as_str().unwrap();
    assert_eq!(again["invocation_id"], first["invocation_id"]);
    let said = String::from_utf8(run(&folder, &format!("trace {id}")).stdout).unwrap();
    let said = unvaried(&said);
    let told: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("intent") || line.starts_with("again"))
        .collect();
    assert_eq!(
        told,
        [
            "intent    by the caller's key: done; remembered until [moment]",
            "again     sent again once, last at [moment], by cli",
        ]
    );
    let (_, trace) = answer(&folder, &format!("trace {id} --json"));
    let sent = &trace["sent_again"][0]["what"];
    assert_eq!(
        (&trace["intent"]["source"], &trace["intent_state"], &sent["channel"]),
        (&json!("caller"), &json!("done"), &json!("cli"))
    );
    let natives = trace["native"].as_array().unwrap();
    assert!(natives.contains(&sent["native"][0]), "{sent} is not among {natives:?}");
    let (_, records) = answer(&folder, &format!("trace {id} --records"));
    let meant = &records[0]["record"]["idempotency"];
    assert_eq!(
        (&meant["key"], &meant["state"]),
        (&trace["intent"]["key"], &json!("done")),
        "{records}"
    );
}

#[test]
fn a_trace_tells_the_whole_story() {
    let folder = shop();
    let line = "call fs.write path=b.txt content=one --as agent:coder --no-wait --json";
    let (_, envelope) = answer(&folder, line);
    let id = envelope["approval_id"].as_str().unwrap();
    done(
        &folder,
        &format!("approve {id} --reason fine --edit {{\"path\":\"b.txt\",\"content\":\"two\"}}"),
    );
    let said = String::from_utf8(run(&folder, &format!("trace {id}")).stdout).unwrap();
    // How long things took differs from run to run, and with it where the bars lie.
    let said: Vec<String> = folder
        .filtered(&unvaried(&said))
        .replace(['█', '▏'], "")
        .lines()
        .map(|line| {
            let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
            words.replace("[time] later", "later")
        })
        .collect();
    let expected = r#"
fs.write@1 1.0.0
inv_[id]

status succeeded; it took effect
who agent:coder, typed by user:ana, for shop
came by cli, as `fs.write`
driver haft-builtin 1.0.0
intent by what was asked: done; remembered until [moment]
when [moment], [time]

phases
✔ 1 resolve tool [time]
✔ 3 schema gate [time]
✔ 2 parse schema [time]
✔ 4 validate values [time]
✔ 5 prepare observable input [time]
· 6 pre hooks skipped
· left alone [time]
✔ 7 permission [time]
✔ 8 schedule [time]
✔ 9 execute [time]
✔ 10 map result [time]
· 11 post hooks skipped
✔ 12 persist result [time]
✔ 13 emit terminal [time]

inputs
model {"path":"b.txt","content":"one"}
observable haft: defaults of the contract were filled in
+ encoding: "utf-8"
+ mode: "replace"
permission the same
call user:ana: the approver edited it
~ content: "one" → "two"

? asked
approval is `on-mutate`, and the call may change something at [moment]
LAYER SAYS RULE REASON
contract ? ask - approval is `on-mutate`, and the call may change something
autonomy ? ask - risk 1 is above autonomy 0

✔ allowed
fine at [moment]
LAYER SAYS RULE REASON
contract ? ask - approval is `on-mutate`, and the call may change something
autonomy ? ask - risk 1 is above autonomy 0
person ✔ allow user:ana fine

question
apr_[id] approved, asked [moment]
answers: one of any approver
user:ana said yes, with another input: fine, later, by inbox

attempts
1 haft-builtin in [time]; it took effect; sent after [time]

result
fs.write@1 succeeded
stored as inline: 123 of 123 bytes shown; it is short enough to be shown whole
│ {
│ "path": "b.txt",
│ "size": 3,
│ "created": true,
│ "digest": "[digest]"
│ }
"#;
    assert_eq!(said.join("\n"), expected.trim_matches('\n'));
}

#[test]
fn a_sensitive_value_is_shown_nowhere() {
    let folder = shop().file(".tools/fs.write/TOOL.md", SEALED);
    let line = "call fs.write path=b.txt content=canary-4111 --no-wait --json";
    let (_, envelope) = answer(&folder, line);
    let id = envelope["approval_id"].as_str().unwrap();
    for line in [
        "approvals".to_owned(),
        "approvals --json".to_owned(),
        format!("trace {id}"),
        format!("trace {id} --json"),
        format!("trace {id} --records"),
        "events --json".to_owned(),
    ] {
        let said = run(&folder, &line);
        let text = String::from_utf8([said.stdout, said.stderr].concat()).unwrap();
        assert!(said.status.success(), "haft {line}: {text}");
        assert!(!text.contains("canary"), "haft {line}: {text}");
    }
    // A redacted field stays as it was when the rest is edited.
    let edit = r#"{"path":"c.txt","content":"[withheld]"}"#;
    done(&folder, &format!("approve {id} --edit {edit}"));
    assert_eq!(folder.read("c.txt"), "canary-4111");
}

const SEALED: &str = r#"---
name: Write a file
id: fs.write
description: Writes a file whose words are nobody's business.
version: 1.0.0
mutates: ["workspace:*"]
approval: on-mutate
risk_level: 1
default_implementation: haft-builtin
inputs:
  type: object
  properties: { path: { type: string }, content: { type: string } }
  required: [path, content]
outputs: { type: object }
metadata: { haft: { data: { sensitive: ["/content"] } } }
---
"#;

#[test]
fn records_and_output_are_for_programs() {
    let folder = shop();
    let (_, envelope) = answer(&folder, "call fs.read path=a.txt --json");
    let id = envelope["invocation_id"].as_str().unwrap();
    let (_, records) = answer(&folder, &format!("trace {id} --records"));
    assert_eq!(
        (&records[0]["kind"], &records[0]["record"]["invocation_id"]),
        (&json!("invocation"), &json!(id))
    );
    let output = run(&folder, &format!("trace {id} --output")).stdout;
    let output: Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(output["content"], "hello\n");
    let (_, failed) = answer(&folder, "call fs.read path=gone.txt --json");
    let id = failed["invocation_id"].as_str().unwrap();
    let (exit, none) = answer(&folder, &format!("trace {id} --output --json"));
    assert_eq!((exit, &none["error"]["error_code"]), (1, &json!("resource.not_found")));
}

#[test]
fn events_are_one_line_each() {
    let folder = shop();
    done(&folder, "call time.now");
    let said = String::from_utf8(run(&folder, "events --json").stdout).unwrap();
    let kinds: Vec<String> = said
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["event_type"].to_string())
        .collect();
    assert_eq!(
        kinds.iter().map(|kind| kind.trim_matches('"')).collect::<Vec<_>>(),
        [
            "tool.declared",
            "tool.invocation.planned",
            "tool.invocation.selected",
            "tool.invocation.arguments_ready",
            "tool.permission.decided",
            "tool.invocation.queued",
            "tool.invocation.started",
            "haft.attempt.ended",
            "tool.result.persisted",
            "tool.result.created",
            "tool.invocation.yielded",
            "tool.invocation.succeeded",
        ]
    );
    let rest = String::from_utf8(run(&folder, "events --after 0").stdout).unwrap();
    assert_eq!(rest.lines().count(), kinds.len() - 1);
}

#[test]
fn event_follower_sees_other_processes_and_exits_on_interrupt() {
    let folder = shop();
    let mut follower =
        command(&folder, "events --follow --json").stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    done(&folder, "call time.now");
    let seen = lines.any(|line| line.unwrap().contains("tool.invocation.succeeded"));
    assert!(seen);
    let pid = follower.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(follower.wait().unwrap().code(), Some(0));
}

#[test]
fn a_log_that_was_touched_is_found_out() {
    let folder = shop();
    done(&folder, "call time.now");
    done(&folder, "call fs.read path=a.txt");
    let (exit, found) = answer(&folder, "audit verify --json");
    assert_eq!((exit, &found["findings"]), (0, &json!([])));
    let export = folder.path().join("export");
    done(&folder, &format!("audit export --output {}", export.display()));
    let verify = format!("audit verify {}", export.display());
    let (exit, exported) = answer(&folder, &format!("{verify} --json"));
    assert_eq!((exit, &exported["entries"]), (0, &found["entries"]));
    assert_eq!(exported["head"], found["head"]);

    let log = export.join("audit-log.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    let touched = text.replacen("time.now", "time.nov", 2);
    assert_ne!(text, touched);
    std::fs::write(&log, touched).unwrap();
    let (exit, found) = answer(&folder, &format!("{verify} --json"));
    assert_eq!(exit, 1);
    assert_eq!(
        (&found["findings"][0]["code"], &found["findings"][0]["seq"]),
        (&json!("chain.tampered"), &json!(0)),
        "{found}"
    );
}

#[test]
fn there_is_nothing_to_export_before_anything_happened() {
    let folder = shop();
    check(
        &folder,
        "audit export --output nowhere",
        "\nexit 1\n! resource.not_found: nothing was recorded yet\n",
    );
}
