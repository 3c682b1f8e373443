//! Approval inbox tests: a question asked in one process and answered in another.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use haft::{Host, HostOptions};
use haft_runtime::Reply;
use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::call::shop;
use crate::stage::{self, check, command, done, json as answer, run};

/// A write that no caller waits for, and the id of its question.
fn asked(folder: &Folder, line: &str) -> String {
    stage::asked(folder, line).1
}

const WRITE: &str = "call fs.write path=b.txt content=one mode=append --as agent:coder";

/// A caller that waits, once it says so, and the id of its question.
fn waiting(folder: &Folder) -> (Child, String) {
    let mut command = command(folder, WRITE);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let remarks = BufReader::new(child.stderr.take().unwrap());
    let id = remarks.lines().map(Result::unwrap).find_map(|line| {
        assert!(!line.contains("haft approve"), "{line}");
        let (_, rest) = line.split_once("waiting; a person has to decide (")?;
        Some(rest.trim_end_matches(')').to_owned())
    });
    (child, id.unwrap())
}

#[test]
fn a_write_waits_for_a_person_and_runs_once() {
    let folder = shop();
    let id = asked(&folder, WRITE);
    assert!(!folder.path().join("b.txt").exists());
    let (_, list) = answer(&folder, "approvals --json");
    let question = &list[0];
    assert_eq!(
        (&question["approval_id"], &question["actor"], &question["state"], &question["input"]),
        (
            &json!(id),
            &json!("agent:coder"),
            &json!("open"),
            &json!({"path": "b.txt", "content": "one", "encoding": "utf-8", "mode": "append"})
        )
    );
    let (_, runs) = answer(&folder, "runs --open --json");
    assert_eq!(runs[0]["status"], "awaiting_approval");

    let (exit, envelope) = answer(&folder, &format!("approve {id} --json"));
    assert_eq!((exit, &envelope["status"]), (0, &json!("succeeded")));
    assert_eq!(folder.read("b.txt"), "one");

    check(
        &folder,
        &format!("approve {id}"),
        r"
exit 1
! conflict: `apr_[id]` is settled already: approved, and the call has succeeded
! help: `haft trace inv_[id]` tells it all
",
    );
    assert_eq!(folder.read("b.txt"), "one");
    assert_eq!(answer(&folder, "approvals --json").1, json!([]));
}

#[test]
fn reply_accepts_id_prefix_of_approval_or_call() {
    let folder = shop();
    let id = asked(&folder, WRITE);
    let call = id.replace("apr_", "inv_");
    check(
        &folder,
        &format!("reject {} --reason later", &call[..24]),
        "\nexit 0\nrejected apr_[id]\n",
    );
    let (exit, refused) = answer(&folder, "approve inv_ff --json");
    assert_eq!((exit, &refused["error"]["error_code"]), (1, &json!("resource.not_found")));
}

#[test]
fn a_no_needs_a_reason_and_ends_the_call() {
    let folder = shop();
    let id = asked(&folder, WRITE);
    assert_eq!(run(&folder, &format!("reject {id}")).status.code(), Some(2));
    done(&folder, &format!("reject {id} --reason not-today"));
    let (_, runs) = answer(&folder, "runs --json");
    assert_eq!(
        (&runs[0]["status"], &runs[0]["error_code"]),
        (&json!("denied"), &json!("approval.rejected"))
    );
    let (exit, again) = answer(&folder, &format!("approve {id} --json"));
    assert_eq!((exit, &again["error"]["error_code"]), (1, &json!("conflict")));
    assert!(!folder.path().join("b.txt").exists());
}

#[test]
fn an_agent_answers_nothing() {
    let folder = shop();
    let id = asked(&folder, WRITE);
    check(
        &folder,
        &format!("approve {id} --as agent:x"),
        r"
exit 3
! permission.denied: `agent:x` is no person, and only a person answers
! help: it needs any approver
",
    );
    let (exit, _) = answer(&folder, &format!("approve {id} --as user:stranger --json"));
    assert_eq!(exit, 3);
    assert_eq!(answer(&folder, "approvals --json").1[0]["state"], "open");
}

#[test]
fn an_edit_is_what_runs_and_is_on_record() {
    let folder = shop();
    let id = asked(&folder, WRITE);
    let edit = r#"{"path":"b.txt","content":"two"}"#;
    done(&folder, &format!("approve {id} --edit {edit}"));
    assert_eq!(folder.read("b.txt"), "two");
    let (_, trace) = answer(&folder, &format!("trace {id} --json"));
    let mutations = trace["mutations"].as_array().unwrap();
    let person = mutations.iter().find(|one| one["what"]["source"] == "permission_prompt");
    let what = &person.unwrap()["what"];
    assert_eq!(
        (&what["by"], &what["changed"]),
        (&json!("user:ana"), &json!(["/content", "/mode"]))
    );
    assert_eq!(trace["inputs"]["call"]["value"]["content"], "two");

    let id = asked(&folder, "call fs.write path=c.txt content=one --as agent:coder");
    let (exit, refused) = answer(&folder, &format!("approve {id} --edit {{\"path\":1}} --json"));
    assert_eq!((exit, &refused["error"]["error_code"]), (4, &json!("input.schema")));
}

#[test]
fn always_stands_until_it_is_taken_back() {
    let folder = shop();
    let id = asked(&folder, WRITE);
    done(&folder, &format!("approve {id} --always"));
    // The agent never had the answer, so it finds it by calling again.
    done(&folder, WRITE);
    assert_eq!(folder.read("b.txt"), "one");
    done(&folder, WRITE);
    assert_eq!(folder.read("b.txt"), "oneone");
    let (_, standing) = answer(&folder, "approvals --standing --json");
    assert_eq!(
        (&standing[0]["id"], &standing[0]["actor"], &standing[0]["tool"]),
        (&json!(id), &json!("agent:coder"), &json!("fs.write@1"))
    );
    let (exit, _) = answer(&folder, &format!("approvals --revoke {id} --as agent:coder --json"));
    assert_eq!(exit, 3);
    check(&folder, &format!("approvals --revoke {id}"), "\nexit 0\nrevoked apr_[id]\n");
    asked(&folder, WRITE);
    assert_eq!(answer(&folder, "approvals --standing --json").1, json!([]));
}

#[test]
fn caller_without_terminal_is_approved_from_another_process() {
    let folder = shop();
    let (child, id) = waiting(&folder);
    check(
        &folder,
        &format!("approve {id}"),
        r"
exit 0
approved; the caller goes on with the call
!   `haft trace inv_[id]` tells what becomes of it
",
    );
    let ended = child.wait_with_output().unwrap();
    let given: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!((ended.status.code(), &given["size"]), (Some(0), &json!(3)));
    assert_eq!(folder.read("b.txt"), "one");
}

#[test]
fn a_caller_that_waits_can_be_called_off() {
    let folder = shop();
    let (child, id) = waiting(&folder);
    check(&folder, &format!("cancel {id}"), "\nexit 0\ncancellation of inv_[id] requested\n");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    let (_, runs) = answer(&folder, "runs --json");
    assert_eq!(runs[0]["status"], "canceled");
    let (exit, again) = answer(&folder, &format!("cancel {id} --json"));
    assert_eq!((exit, &again["error"]["error_code"]), (1, &json!("conflict")));
}

#[test]
fn pending_call_left_in_inbox_can_be_cancelled() {
    let folder = shop();
    let id = asked(&folder, WRITE);
    check(&folder, &format!("cancel {id}"), "\nexit 0\ninv_[id] is over\n");
    let (exit, refused) = answer(&folder, &format!("approve {id} --json"));
    assert_eq!((exit, &refused["error"]["error_code"]), (1, &json!("conflict")));
}

#[test]
fn recorded_approval_without_execution_resumes_on_next_approve() {
    let folder = shop();
    let id = asked(&folder, WRITE);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let host = Host::open(folder.path(), HostOptions::default()).unwrap();
        let reply = Reply {
            by: host.owner("ana"),
            approves: true,
            reason: None,
            edited_input: None,
            content: None,
            always: false,
            channel: "inbox".to_owned(),
        };
        host.runtime().answer(&id.as_str().into(), reply).await.unwrap();
    });
    assert!(!folder.path().join("b.txt").exists());
    let (exit, envelope) = answer(&folder, &format!("approve {id} --json"));
    assert_eq!((exit, &envelope["status"]), (0, &json!("succeeded")));
    assert_eq!(folder.read("b.txt"), "one");
}

#[test]
fn two_have_to_answer_where_two_are_wanted() {
    let folder = shop().file(
        ".policy/four-eyes/POLICY.md",
        "---\nschema: agentgovernance/v1\ndoctype: policy\nslug: four-eyes\nversion: 1.0.0\n\
         match: { action: tool.call, subject: fs.write }\ndecision: require-approval\nquorum: 2\n\
         signers: [{ role: owner }, { role: editor }]\n---\n",
    );
    let folder = folder.file(
        "haft.toml",
        "[workspace]\nname = \"shop\"\n\n[[actor]]\nid = \"user:bea\"\nroles = [\"approver\"]\n",
    );
    let (exit, checked) = answer(&folder, "check --json");
    assert_eq!(exit, 0, "{checked}");
    let id = asked(&folder, WRITE);
    let says_yes = |login: &str| {
        let mut command = command(&folder, &format!("approve {id} --json"));
        let ran = command.env("USER", login).output().unwrap();
        let told: Value = serde_json::from_slice(&ran.stdout).unwrap();
        (ran.status.code().unwrap(), told)
    };
    // Ana typed the call, so she is not one of the two.
    assert_eq!(says_yes("ana").1["state"], "open");
    // One person who speaks as another is still one person.
    let (exit, _) = answer(&folder, &format!("approve {id} --as user:bea --json"));
    assert_eq!(exit, 3);
    let (exit, told) = says_yes("bea");
    assert_eq!((exit, &told["state"]), (75, &json!("open")), "{told}");
    assert!(!folder.path().join("b.txt").exists());
    let (exit, envelope) = says_yes("cem");
    assert_eq!((exit, &envelope["status"]), (0, &json!("succeeded")), "{envelope}");
    assert_eq!(folder.read("b.txt"), "one");
}

#[test]
fn approvals_of_an_ordinary_user_work_alike() {
    let Some(user) = haft_testkit::OrdinaryUser::new() else { return };
    let user = user.with(crate::stage::HAFT, env!("CARGO_BIN_EXE_haft"));
    user.run(&["inbox::"]);
}
