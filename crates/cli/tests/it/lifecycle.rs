//! Lifecycle tests: removed contracts, and contracts that are not yet available.

use haft_testkit::Folder;

use serde_json::json;

use crate::stage::{READS, check, check_own, driver, json as answer, tool};

fn with(lifecycle: &str) -> Folder {
    let old = format!("{READS}\nmetadata: {{ haft: {{ lifecycle: {{ {lifecycle} }} }} }}");
    Folder::new()
        .file(".tools/fax.send/TOOL.md", tool("fax.send", "1.0.0", &old))
        .file(".tools/mail.send/TOOL.md", tool("mail.send", "1.0.0", READS))
        .file(
            ".drivers/sender/DRIVER.md",
            driver("sender", &[("fax.send", "1"), ("mail.send", "1")]),
        )
}

#[test]
fn a_removed_contract_is_blocked_and_names_its_replacement() {
    let folder = with("removal: 2020-06-30, replacement: mail.send");
    check(
        &folder,
        "check",
        r"
exit 0
checked 3 manifests: no errors, no warnings
",
    );
    check_own(
        &folder,
        "tools",
        r"
exit 0
TOOL       VERSION  RISK  STATE    DRIVERS  ABOUT
fax.send   1.0.0    0     blocked  sender   `fax.send@1` has been removed
mail.send  1.0.0    0     ready    sender   Does what mail.send says.
",
    );
    check(
        &folder,
        "why fax.send",
        r"
exit 3
fax.send@1  fax.send
blocked   `fax.send@1` has been removed
          call `mail.send` instead
input     not given, so not checked
driver    sender: it is the only one left
limits    [time], one attempt
risk      0 (low)
approval  auto
grant     tool:fax.send
decision  ✔ allow: risk 0 is within autonomy 0

LAYER     SAYS     RULE  REASON
autonomy  ✔ allow  -     risk 0 is within autonomy 0
",
    );
    let (exit, said) = answer(&folder, "why fax.send --json");
    assert_eq!(exit, 3);
    assert_eq!(
        said["blocked"],
        json!({
            "error_code": "tool.blocked",
            "error_class": "blocked_tool",
            "code": "unauthorised",
            "aruntime_code": "permission.denied",
            "message": "`fax.send@1` has been removed",
            "field": null,
            "help": "call `mail.send` instead",
            "cause": {
                "reason": "lifecycle_retired"
            }
        })
    );
    check(
        &folder,
        "show fax.send",
        r"
exit 0
fax.send@1  fax.send  (1.0.0)
Does what fax.send says.

blocked     `fax.send@1` has been removed; call `mail.send` instead
file        .tools/fax.send/TOOL.md
inputs      nothing
outputs     nothing
implements  nothing
changes     nothing
class       read-only
risk        0 (low)
approval    auto
reaches     not stated
secrets     nothing
read-only   yes
destructive no
open world  unknown, so taken to be the worse
parallel    not stated, so no
deadline    [time]
lifecycle   retired
grant       tool:fax.send
assumed     is_open_world = true: `requires.network` does not name the hosts it reaches
assumed     class = read-only: `metadata.haft.class` is not stated

DRIVER  KIND  VERSION  COST  STATE
sender  cli   1.0.0    -     ready
",
    );
}

#[test]
fn a_contract_of_the_future_is_a_draft() {
    let folder = with("introduced: 9000-01-01");
    check_own(
        &folder,
        "tools",
        r"
exit 0
TOOL       VERSION  RISK  STATE    DRIVERS  ABOUT
fax.send   1.0.0    0     blocked  sender   `fax.send@1` is not introduced yet
mail.send  1.0.0    0     ready    sender   Does what mail.send says.
",
    );
    check(
        &folder,
        "why fax.send",
        r"
exit 3
fax.send@1  fax.send
blocked   `fax.send@1` is not introduced yet
          see `metadata.haft.lifecycle` of the contract
input     not given, so not checked
driver    sender: it is the only one left
limits    [time], one attempt
risk      0 (low)
approval  auto
grant     tool:fax.send
decision  ✔ allow: risk 0 is within autonomy 0

LAYER     SAYS     RULE  REASON
autonomy  ✔ allow  -     risk 0 is within autonomy 0
",
    );
}

#[test]
fn a_deprecated_contract_can_be_called() {
    check_own(
        &with("deprecated: 2020-06-30, removal: 9000-01-01"),
        "tools",
        r"
exit 0
TOOL       VERSION  RISK  STATE       DRIVERS  ABOUT
fax.send   1.0.0    0     deprecated  sender   Does what fax.send says.
mail.send  1.0.0    0     ready       sender   Does what mail.send says.
",
    );
}

#[test]
fn a_replacement_has_to_exist() {
    check(
        &with("removal: 2020-06-30, replacement: mail.sent"),
        "check",
        r"
exit 1
checked 3 manifests: 1 error, no warnings
! error[E054]: there is no tool `mail.sent`
!   --> .tools/fax.send/TOOL.md:10:68
!    |
! 10 | metadata: { haft: { lifecycle: { removal: 2020-06-30, replacement: mail.sent } } }
!    |                                                                    ^^^^^^^^^
!    |
!    = help: did you mean `mail.send`?
!
",
    );
}
