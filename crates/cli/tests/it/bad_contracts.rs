//! Invalid contract tests: five contracts that must not be used, beside two that can be.

use haft_testkit::Folder;

use crate::stage::{READS, check, check_own, driver, tool};

const ACTION: &str = "---\nschema: action/v1\nid: stock:change\ndescription: Changes the stock.\n\
    category: stock\nmutates: [\"external:stock\"]\nrisk_level: 2\napproval: on-mutate\n---\n";

fn workspace() -> Folder {
    let implements = "implements: stock:change\ninputs: { type: object }\n";
    let bomb = format!("{READS}\nmetadata:\n{}", aliases());
    let nest =
        format!("{READS}\nmetadata: {{ deep: {}{} }}", "[".repeat(20_000), "]".repeat(20_000));
    Folder::new()
        .file(".actions/stock-change/ACTION.md", ACTION)
        .file(".tools/good.one/TOOL.md", tool("good.one", "1.0.0", READS))
        .file(".tools/good.two/TOOL.md", tool("good.two", "1.0.0", READS))
        .file(".drivers/goods/DRIVER.md", driver("goods", &[("good.one", "^1"), ("good.two", "1")]))
        .file(".tools/bad.run/TOOL.md", tool("bad.run", "1.0.0", &format!("{READS}\nrun: ./go.sh")))
        .file(
            ".tools/bad.risk/TOOL.md",
            tool("bad.risk", "1.0.0", &format!("{implements}risk_level: 1")),
        )
        .file(
            ".tools/bad.drop/TOOL.md",
            tool("bad.drop", "1.0.0", &format!("{implements}mutates: []")),
        )
        .file(".tools/bad.bomb/TOOL.md", tool("bad.bomb", "1.0.0", &bomb))
        .file(".tools/bad.nest/TOOL.md", tool("bad.nest", "1.0.0", &nest))
}

/// Nine lists, each of nine times the one before.
fn aliases() -> String {
    let list = |level: usize| {
        let items = vec![format!("*l{}", level.wrapping_sub(1)); 9].join(", ");
        format!("  l{level}: &l{level} [{}]\n", if level == 0 { "lol".into() } else { items })
    };
    (0..10).map(list).collect()
}

#[test]
fn each_is_reported_at_its_place() {
    check(
        &workspace(),
        "check --json",
        r#"
exit 1
{
  "diagnostics": [
    {
      "code": "Y007",
      "severity": "error",
      "message": "this alias would expand the document beyond 50000 values",
      "file": ".tools/bad.bomb/TOOL.md",
      "line": 16,
      "column": 22,
      "help": "write the value out, or leave it out"
    },
    {
      "code": "T051",
      "severity": "error",
      "message": "`mutates` drops `external:stock`, which `stock:change` declares",
      "file": ".tools/bad.drop/TOOL.md",
      "line": 9,
      "column": 10,
      "help": "add `external:stock`, or leave `mutates` out to inherit it"
    },
    {
      "code": "Y008",
      "severity": "error",
      "message": "maps and lists nest more than 64 deep",
      "file": ".tools/bad.nest/TOOL.md",
      "line": 10,
      "column": 82,
      "help": "no manifest needs that; flatten it"
    },
    {
      "code": "T050",
      "severity": "error",
      "message": "`risk_level` is 1, and `stock:change` says at least 2",
      "file": ".tools/bad.risk/TOOL.md",
      "line": 9,
      "column": 13,
      "help": "say 2 or more, or leave it out to inherit 2"
    },
    {
      "code": "T031",
      "severity": "error",
      "message": "`run` does not belong in TOOL.md",
      "file": ".tools/bad.run/TOOL.md",
      "line": 10,
      "column": 1,
      "help": "`run` moved to DRIVER.md in AIP-30: write `run` in a driver whose `implements` names this tool"
    }
  ]
}
"#,
    );
}

#[test]
fn check_shows_at_most_one_screen_per_error() {
    check(
        &workspace(),
        "check",
        r"
exit 1
checked 9 manifests: 5 errors, no warnings
! error[Y007]: this alias would expand the document beyond 50000 values
!   --> .tools/bad.bomb/TOOL.md:16:22
!    |
! 16 |   l5: &l5 [*l4, *l4, *l4, *l4, *l4, *l4, *l4, *l4, *l4]
!    |                      ^^^
!    |
!    = help: write the value out, or leave it out
!
! error[T051]: `mutates` drops `external:stock`, which `stock:change` declares
!  --> .tools/bad.drop/TOOL.md:9:10
!   |
! 9 | mutates: []
!   |          ^^
!   |
!   = help: add `external:stock`, or leave `mutates` out to inherit it
!
! error[Y008]: maps and lists nest more than 64 deep
!   --> .tools/bad.nest/TOOL.md:10:82
!    |
! 10 | metadata: { deep: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[...
!    |                                                                                  ^
!    |
!    = help: no manifest needs that; flatten it
!
! error[T050]: `risk_level` is 1, and `stock:change` says at least 2
!  --> .tools/bad.risk/TOOL.md:9:13
!   |
! 9 | risk_level: 1
!   |             ^
!   |
!   = help: say 2 or more, or leave it out to inherit 2
!
! error[T031]: `run` does not belong in TOOL.md
!   --> .tools/bad.run/TOOL.md:10:1
!    |
! 10 | run: ./go.sh
!    | ^^^
!    |
!    = help: `run` moved to DRIVER.md in AIP-30: write `run` in a driver whose `implements` names this tool
!
",
    );
}

#[test]
fn the_good_ones_are_still_listed() {
    check_own(
        &workspace(),
        "tools",
        r"
exit 0
TOOL      VERSION  RISK  STATE    DRIVERS  ABOUT
bad.drop  1.0.0    2     blocked  none     `bad.drop@1`: `mutates` drops `external:stock`, which `stock:change` declares
bad.risk  1.0.0    2     blocked  none     `bad.risk@1`: `risk_level` is 1, and `stock:change` says at least 2
good.one  1.0.0    0     ready    goods    Does what good.one says.
good.two  1.0.0    0     ready    goods    Does what good.two says.
bad.bomb  -        -     invalid  -        this alias would expand the document beyond 50000 values
bad.nest  -        -     invalid  -        maps and lists nest more than 64 deep
bad.run   -        -     invalid  -        `run` does not belong in TOOL.md
",
    );
}

#[test]
fn the_bad_ones_say_why_they_cannot_be_called() {
    let folder = workspace();
    check(
        &folder,
        "why bad.run",
        r"
exit 4
! tool.unknown: there is no tool `bad.run`
! help: .tools/bad.run/TOOL.md defines it and cannot be used: `run` does not belong in TOOL.md
",
    );
    check(
        &folder,
        "show bad.run",
        r"
exit 4
! tool.unknown: there is no tool `bad.run`
! help: .tools/bad.run/TOOL.md defines it and cannot be used: `run` does not belong in TOOL.md
",
    );
    check(
        &folder,
        "call bad.run",
        r"
exit 4
! tool.unknown: there is no tool `bad.run`
! help: `haft tools` lists those that there are
! ✘ unresolved:bad.run failed in [time]; nothing changed  inv_[id]
! .tools/bad.run/TOOL.md defines it and cannot be used: `run` does not belong in TOOL.md
",
    );
    check(
        &folder,
        "why bad.risk",
        r"
exit 3
bad.risk@1  bad.risk
blocked   `bad.risk@1`: `risk_level` is 1, and `stock:change` says at least 2
          `haft check` shows where
input     not given, so not checked
driver    none (route.none): no driver claims `bad.risk@1`
          write a DRIVER.md whose `implements` names `bad.risk`
risk      2 (high)
approval  on-mutate
grant     stock:change
decision  not judged, because the call would not get that far
",
    );
    check(
        &folder,
        "why good.one",
        r"
exit 0
good.one@1  good.one
input     not given, so not checked
driver    goods: it is the only one left
limits    [time], one attempt
risk      0 (low)
approval  auto
grant     tool:good.one
decision  ✔ allow: risk 0 is within autonomy 0

LAYER     SAYS     RULE  REASON
autonomy  ✔ allow  -     risk 0 is within autonomy 0
",
    );
}
