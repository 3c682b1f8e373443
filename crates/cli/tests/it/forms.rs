//! Elicitation across processes: a server asks while a call runs, and a person answers elsewhere.

use std::io::{BufRead as _, BufReader};
use std::process::Child;

use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::hotel::hotel;
use crate::stage::{check, command, done, finished, json as answer, run, started};
use crate::terminal::typed;

const BOOK: &str = "call book --as agent:coder --json";

/// An agent's call that waits, once it says so, and the id of its form.
fn waiting(folder: &Folder) -> (Child, String) {
    let mut child = started(command(folder, BOOK));
    let remarks = BufReader::new(child.stderr.take().unwrap());
    let id = remarks.lines().map(Result::unwrap).find_map(|line| {
        // An agent is told whom to wait for, and no command.
        assert!(!line.contains("haft approve"), "{line}");
        let (_, rest) = line.split_once("waiting; a person has to decide (")?;
        Some(rest.trim_end_matches(')').to_owned())
    });
    (child, id.unwrap())
}

/// What the call came to.
fn came(child: Child) -> (i32, Value) {
    let ran = finished(child, BOOK);
    (ran.status.code().unwrap(), serde_json::from_slice(&ran.stdout).unwrap())
}

#[test]
fn approver_fills_in_elicitation_form_of_either_era() {
    for era in ["legacy", "modern"] {
        let folder = hotel(era, "");
        let (child, id) = waiting(&folder);
        let (_, list) = answer(&folder, "approvals --json");
        let question = &list[0];
        assert_eq!(
            (&question["approval_id"], &question["actor"], &question["form"]["message"]),
            (&json!(id), &json!("agent:coder"), &json!("How many rooms?")),
            "{era}"
        );
        assert_eq!(answer(&folder, "runs --open --json").1[0]["status"], "needs_input", "{era}");

        let (exit, refused) =
            answer(&folder, &format!("approve {id} --field count=2 --as agent:coder --json"));
        assert_eq!((exit, &refused["error"]["error_code"]), (3, &json!("permission.denied")));
        check(
            &folder,
            &format!("approve {id} --field count=two"),
            r"
exit 4
! input.value: the field `count` cannot be `two`: it is not a whole number
! help: give `count` a whole number
",
        );
        assert_eq!(answer(&folder, "approvals --json").1[0]["state"], "open", "{era}");

        let (exit, given) =
            answer(&folder, &format!("approve {id} --field count=2 --field breakfast=true --json"));
        assert_eq!((exit, &given["state"]), (0, &json!("approved")), "{era} {given}");
        let (exit, envelope) = came(child);
        let told = json!({"action": "accept", "content": {"count": 2, "breakfast": true}});
        assert_eq!((exit, &envelope["structured_content"]["told"]), (0, &told), "{era}");
        assert_eq!(answer(&folder, "approvals --json").1, json!([]));
        let (exit, log) = answer(&folder, "audit verify --json");
        assert_eq!(exit, 0, "{log:#}");
    }
}

#[test]
fn rejected_and_expired_forms_reach_server_and_caller() {
    for era in ["legacy", "modern"] {
        let folder = hotel(era, "");
        let (child, id) = waiting(&folder);
        let (exit, _) = answer(&folder, &format!("reject {id} --reason dear --json"));
        assert_eq!(exit, 0);
        let (exit, envelope) = came(child);
        let words = "`user:ana` said no: dear; `book` failed: no room was booked";
        assert_eq!(
            (exit, &envelope["error"]["error_code"], &envelope["error"]["message"]),
            (3, &json!("approval.rejected"), &json!(words)),
            "{era}"
        );

        let folder = hotel(era, "[limits]\nform_ms = 50\n");
        let (child, id) = waiting(&folder);
        let (_, envelope) = came(child);
        assert_eq!(envelope["error"]["error_code"], "approval.expired", "{era} {envelope:#}");
        let words = envelope["error"]["message"].as_str().unwrap();
        assert!(words.starts_with("the backend's form was not filled in by "), "{words}");
        assert!(words.ends_with("; `book` failed: no room was booked"), "{words}");
        let (_, late) = answer(&folder, &format!("approve {id} --field count=2 --json"));
        assert_eq!(late["error"]["error_code"], "conflict", "{late:#}");
    }
}

#[test]
fn approvals_list_shows_form_message_and_field_types() {
    let folder = hotel("legacy", "");
    let (mut child, id) = waiting(&folder);
    let said = String::from_utf8(run(&folder, "approvals").stdout).unwrap();
    let (_, shown) = said.split_once('\n').unwrap();
    assert_eq!(
        shown.replace(&id, "ID"),
        r"  while book@1 runs for agent:coder, its backend asks: “How many rooms?”
  by hotel with {}
  the backend says:
  | How many rooms?
  field count  integer, at least 1
  field breakfast  boolean, else false, may be left out
  fill it in with `haft approve ID --field …`

"
    );
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn form_is_not_asked_when_off_or_no_wait() {
    for (settings, line) in
        [("[workspace]\nforms = \"off\"\n", BOOK), ("", &format!("{BOOK} --no-wait") as &str)]
    {
        for era in ["legacy", "modern"] {
            let folder = hotel(era, settings);
            let (exit, envelope) = answer(&folder, line);
            assert_eq!((exit, &envelope["status"]), (1, &json!("failed")), "{era} {envelope:#}");
            assert_eq!(answer(&folder, "approvals --all --json").1, json!([]));
        }
    }
}

#[test]
fn caller_at_terminal_fills_in_form_in_place() {
    let folder = hotel("legacy", "");
    done(&folder, "accept --all");
    let (exit, said) = typed(
        &folder,
        "call book --as agent:coder",
        &[
            ("inbox > ", "f\n"),
            ("count (integer, at least 1): ", "none\n"),
            ("breakfast (boolean, else false): ", "\n"),
            // What does not fit is explained, and asked for again.
            ("give `count` a whole number", ""),
            ("inbox > ", "f\n"),
            ("count (integer, at least 1): ", "3\n"),
            ("breakfast (boolean, else false): ", "true\n"),
        ],
    );
    assert_eq!(exit, 0, "{said}");
    assert!(
        said.contains("the field `count` cannot be `none`: it is not a whole number"),
        "{said}"
    );
    assert!(said.contains(r#""breakfast": true"#) && said.contains(r#""count": 3"#), "{said}");
}
