//! Contract integrity tests: contracts that change after a person accepted them.

use haft_testkit::Folder;
use serde_json::json;

use crate::stage::{READS, check, check_own, done, driver, json as answer, tool};

fn writes(places: &str) -> String {
    let fields = format!(
        "mutates: [{places}]\nrisk_level: 1\napproval: on-mutate\ninputs: {{ type: object }}"
    );
    tool("note.write", "1.0.0", &fields)
}

/// A workspace whose one contract has been seen.
fn seen(text: &str) -> Folder {
    let folder = Folder::new()
        .file(".tools/note.write/TOOL.md", text)
        .file(".drivers/notes/DRIVER.md", driver("notes", &[("note.write", "^1")]));
    done(&folder, "tools");
    folder
}

#[test]
fn a_wider_contract_is_blocked_until_it_is_accepted() {
    let folder = seen(&writes("\"workspace:/notes\""));
    let wider = writes("\"workspace:/notes\", \"external:mail\"").replace("1.0.0", "1.1.0");
    let folder = folder.file(".tools/note.write/TOOL.md", wider);
    check_own(
        &folder,
        "tools",
        r"
exit 0
TOOL        VERSION  RISK  STATE    DRIVERS  ABOUT
note.write  1.1.0    1     blocked  notes    `note.write@1` can do more than was accepted: `mutates` adds `external:mail`, it is `external-communication` now
",
    );
    check(
        &folder,
        "why note.write",
        r"
exit 3
note.write@1  note.write
blocked   `note.write@1` can do more than was accepted: `mutates` adds `external:mail`, it is `external-communication` now
          if that is right, `haft accept note.write@1`
input     not given, so not checked
driver    notes: it is the only one left
limits    [time], one attempt
risk      1 (medium)
approval  on-mutate
grant     tool:note.write
decision  ? ask: approval is `on-mutate`, and the call may change something
answers   one of any approver
offer     a yes can stand for calls like this one

LAYER     SAYS   RULE  REASON
contract  ? ask  -     approval is `on-mutate`, and the call may change something
autonomy  ? ask  -     risk 1 is above autonomy 0
",
    );
    let (exit, said) = answer(&folder, "why note.write --json");
    assert_eq!(exit, 3);
    assert_eq!(
        said["blocked"],
        json!({
            "error_code": "tool.blocked",
            "error_class": "blocked_tool",
            "code": "unauthorised",
            "aruntime_code": "permission.denied",
            "message": "`note.write@1` can do more than was accepted: `mutates` adds `external:mail`, it is `external-communication` now",
            "field": null,
            "help": "if that is right, `haft accept note.write@1`",
            "cause": {
                "reason": "effects_widened"
            }
        })
    );
    check(
        &folder,
        "check",
        r"
exit 1
checked 2 manifests: 1 error, no warnings
! error[L001]: `note.write@1` can do more than was accepted: `mutates` adds `external:mail`, it is `external-communication` now
!  --> .tools/note.write/TOOL.md:3:5
!   |
! 3 | id: note.write
!   |     ^^^^^^^^^^
!   |
!   = help: if that is right, `haft accept note.write@1`
!
",
    );
    check(
        &folder,
        "accept note.write",
        r"
exit 0
changed  `note.write@1` can do more than was accepted: `mutates` adds `external:mail`, it is `external-communication` now
accepted note.write@1
",
    );
    check(
        &folder,
        "check",
        r"
exit 0
checked 2 manifests: no errors, no warnings
",
    );
    check_own(
        &folder,
        "tools",
        r"
exit 0
TOOL        VERSION  RISK  STATE  DRIVERS  ABOUT
note.write  1.1.0    1     ready  notes    Does what note.write says.
",
    );
}

#[test]
fn looking_at_a_wider_contract_does_not_accept_it() {
    let folder = seen(&writes(""));
    let folder = folder.file(".tools/note.write/TOOL.md", writes("\"external:mail\""));
    for line in ["tools", "show note.write", "init", "check"] {
        let _ = crate::stage::run(&folder, line);
    }
    let (exit, said) = answer(&folder, "why note.write --json");
    assert_eq!((exit, &said["blocked"]["cause"]), (3, &json!({ "reason": "effects_widened" })));
}

#[test]
fn a_narrower_contract_is_not_blocked() {
    let folder = seen(&writes("\"workspace:/notes\", \"external:mail\""));
    let folder = folder.file(".tools/note.write/TOOL.md", writes("\"workspace:/notes\""));
    let (exit, said) = answer(&folder, "why note.write --json");
    assert_eq!((exit, &said["blocked"]), (0, &json!(null)));
    let (exit, said) = answer(&folder, "check --json");
    assert_eq!((exit, said), (0, json!({ "diagnostics": [] })));
}

#[test]
fn a_new_major_is_a_new_contract() {
    let folder = seen(&writes(""));
    let wider = writes("\"external:mail\"").replace("1.0.0", "2.0.0");
    let folder = folder.file(".tools/note.write/TOOL.md", wider);
    let (_, said) = answer(&folder, "why note.write --json");
    assert_eq!(
        (&said["tool"], &said["blocked"]["cause"]),
        (&json!("note.write@2"), &json!({ "reason": "contract_unaccepted" }))
    );
    done(&folder, "accept note.write@2");
    let (_, said) = answer(&folder, "why note.write --json");
    assert_eq!((&said["tool"], &said["blocked"]), (&json!("note.write@2"), &json!(null)));
}

#[test]
fn an_imported_contract_is_blocked_when_its_description_changes() {
    let imported = "metadata: { haft: { imported: { from: mcp, source: notes } } }";
    let first = tool("note.write", "1.0.0", &format!("{READS}\n{imported}"));
    let folder = seen(&first);
    let folder =
        folder.file(".tools/note.write/TOOL.md", first.replace("Does what", "Always does what"));
    check(
        &folder,
        "check",
        r"
exit 1
checked 2 manifests: 1 error, no warnings
! error[L002]: the imported `note.write@1` has another description or schema than was accepted
!  --> .tools/note.write/TOOL.md:3:5
!   |
! 3 | id: note.write
!   |     ^^^^^^^^^^
!   |
!   = help: if that is right, `haft accept note.write@1`
!
",
    );
    check(
        &folder,
        "why note.write",
        r"
exit 3
note.write@1  note.write
blocked   the imported `note.write@1` has another description or schema than was accepted
          if that is right, `haft accept note.write@1`
input     not given, so not checked
driver    notes: it is the only one left
limits    [time], one attempt
risk      0 (low)
approval  auto
grant     tool:note.write
decision  ? ask: the tool's class is `irreversible`
answers   one of any approver
offer     a yes can stand for calls like this one

LAYER     SAYS   RULE  REASON
contract  ? ask  -     the tool's class is `irreversible`
autonomy  ? ask  -     risk 3 is above autonomy 0
",
    );
    done(&folder, "accept --all");
    let (exit, _) = answer(&folder, "check --json");
    assert_eq!(exit, 0);
}

#[test]
fn our_own_contract_may_change_its_description() {
    let first = tool("note.write", "1.0.0", READS);
    let folder = seen(&first);
    let folder =
        folder.file(".tools/note.write/TOOL.md", first.replace("Does what", "Always does what"));
    check(
        &folder,
        "check",
        r"
exit 0
checked 2 manifests: no errors, no warnings
",
    );
}

#[test]
fn accepting_names_what_it_accepts() {
    let folder = seen(&writes("")).file(".tools/a.b/TOOL.md", tool("a.b", "3.0.0", READS));
    check(
        &folder,
        "accept --all",
        r"
exit 0
new      a.b@3: risk 0 (low); changes nothing; reaches not stated; approval auto
accepted a.b@3
accepted note.write@1
",
    );
    check(
        &folder,
        "accept a.b@3 --json",
        r#"
exit 0
{
  "accepted": [
    "a.b@3"
  ],
  "news": []
}
"#,
    );
    check(
        &folder,
        "accept nobody",
        r"
exit 4
! error: there is no tool `nobody`
! help: `haft tools` lists those that there are
",
    );
    check(
        &folder,
        "accept a.b@4",
        r"
exit 4
! error: there is no tool `a.b@4`
! help: `haft tools` lists those that there are
",
    );
}

#[test]
fn a_lock_that_cannot_be_read_is_reported() {
    let folder = seen(&writes("")).file("haft.lock", "[[tool]]\nid = \"note.write@1\"\n");
    check(
        &folder,
        "check",
        r"
exit 1
checked 2 manifests: 1 error, no warnings
! error[L003]: this entry is not one that Haft wrote
!  --> haft.lock:1:1
!   |
! 1 | [[tool]]
!   | ^^^^^^^^
!   |
!   = help: run `haft accept` for the tool, or restore haft.lock from git
!
",
    );
}

#[test]
fn damaged_lock_is_not_rewritten_by_reading_commands() {
    let folder = seen(&writes(""));
    let damaged = "[[tool]]\nid = \"note.write@1\"\n";
    let folder = folder
        .file(".tools/note.write/TOOL.md", writes("\"external:mail\""))
        .file("haft.lock", damaged);
    for line in ["check --json", "tools --json", "show note.write --json", "init --json"] {
        answer(&folder, line);
        assert_eq!(folder.read("haft.lock"), damaged, "haft {line}");
    }
    assert_eq!(answer(&folder, "check --json").0, 1);
}
