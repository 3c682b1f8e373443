//! `haft settle` and `haft compensate` tests: what is learned of an effect after its call is over.

use std::collections::HashMap;
use std::sync::Arc;

use haft::{Host, HostOptions};
use haft_driver::{Attempt, BoxFuture, Driver, Failure, Output};
use haft_model::{Call, Code, DriverId, EffectState, Stop};
use haft_testkit::Folder;
use serde_json::json;

use crate::stage::{check, done, json as answer};

/// A backend that keeps what it is given, or does not answer.
struct Backend;

impl Driver for Backend {
    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        let lost = attempt.plan.tool.id.as_str() == "note.lose";
        Box::pin(async move {
            if lost {
                let stop = Stop::new(Code::TimeoutUnknownCommit, "no answer came");
                return Err(Failure::new(stop, EffectState::Unknown));
            }
            Ok(Output::committed(json!({"file": "undone.txt"})))
        })
    }
}

fn tool(id: &str, extras: &str) -> String {
    format!(
        "---\nname: {id}\nid: {id}\ndescription: For tests.\nversion: 1.0.0\n\
         mutates: [\"workspace:*\"]\nrisk_level: 1\napproval: auto\n\
         inputs: {{ type: object }}\noutputs: {{ type: object }}\n{extras}---\n\nFor tests.\n"
    )
}

/// A workspace with one call of a tool that only its own process can run, and the call's id.
fn called(id: &str) -> (Folder, String) {
    let undo = "metadata: { haft: { compensation: { tool: fs.write, approval: always, \
                input: { path: \"${output.file}\", content: \"${input.text}\" } } } }\n";
    let driver = "---\nname: backend\nid: backend\nversion: 1.0.0\ndescription: For tests.\n\
                  kind: builtin\nimplements:\n  - { tool: note.keep, version: \"^1\" }\n  \
                  - { tool: note.lose, version: \"^1\" }\n\
                  metadata: { builtin: { host_id: haft } }\n---\n\nFor tests.\n";
    let rule = "[workspace]\nname = \"notes\"\n\n[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";
    let folder = Folder::new()
        .file("haft.toml", rule)
        .file(".tools/note.keep/TOOL.md", tool("note.keep", undo))
        .file(".tools/note.lose/TOOL.md", tool("note.lose", ""))
        .file(".drivers/backend/DRIVER.md", driver);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let envelope = runtime.block_on(async {
        let backend: Arc<dyn Driver> = Arc::new(Backend);
        let drivers = HashMap::from([(DriverId::from("backend"), backend)]);
        let options = HostOptions { drivers, ..HostOptions::default() };
        crate::stage::done(&folder, "accept --all");
        let host = Host::open(folder.path(), options).unwrap();
        let agent = host.actor("agent:coder");
        let envelope = host.call(Call::new(agent, id, json!({"text": "gone"}))).await;
        host.flush().await.unwrap();
        envelope
    });
    (folder, envelope.invocation_id.to_string())
}

#[test]
fn a_person_tells_once_what_became_of_a_call() {
    let (folder, id) = called("note.lose");
    assert_eq!(answer(&folder, "runs --unknown --json").1[0]["invocation_id"], json!(id));
    check(
        &folder,
        &format!("settle {id} absent --reason seen --as agent:coder"),
        r"
exit 3
! permission.denied: `agent:coder` may not say what became of a call
! help: a person who approves may
",
    );
    check(
        &folder,
        &format!("settle {id} committed --reason seen"),
        r"
exit 0
it is on record that inv_[id] took effect
",
    );
    check(
        &folder,
        &format!("settle {id} absent --reason unseen"),
        r"
exit 1
! conflict: the effect of `inv_[id]` is known: committed
! help: `haft runs --unknown` lists those that have to be settled
",
    );
    assert_eq!(answer(&folder, "runs --unknown --json").1, json!([]));
    let trace = answer(&folder, &format!("trace {id} --json")).1;
    let told = &trace["settlements"][0]["what"];
    assert_eq!((&told["effect"], &told["reason"]), (&json!("committed"), &json!("seen")));
    assert_eq!((&trace["status"], &trace["effect_state"]), (&json!("timed_out"), &told["effect"]));
    done(&folder, "audit verify");
}

#[test]
fn compensation_asks_runs_and_links_both_traces() {
    let (folder, id) = called("note.keep");
    let (exit, asked) = answer(&folder, &format!("compensate {id} --no-wait --json"));
    assert_eq!((exit, &asked["status"]), (75, &json!("pending")), "{asked}");
    let by = asked["invocation_id"].as_str().unwrap();
    check(
        &folder,
        &format!("compensate {id}"),
        r"
exit 1
! conflict: `inv_[id]` is being undone by `inv_[id]`
",
    );
    assert!(!folder.path().join("undone.txt").exists());
    done(&folder, &format!("approve {}", asked["approval_id"].as_str().unwrap()));
    assert_eq!(folder.read("undone.txt"), "gone");

    let original = answer(&folder, &format!("trace {id} --json")).1;
    let undoing = &original["compensated_by"][0];
    assert_eq!(
        (&original["status"], &original["effect_state"], &undoing["by"], &undoing["effect"]),
        (&json!("succeeded"), &json!("compensated"), &json!(by), &json!("compensated"))
    );
    assert_eq!(answer(&folder, &format!("trace {by} --json")).1["compensates"], json!(id));
    check(
        &folder,
        &format!("compensate {id}"),
        r"
exit 1
! conflict: `inv_[id]` was undone already
",
    );
    done(&folder, "audit verify");
}
