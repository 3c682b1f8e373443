//! `haft check`: for people, for machines, for code review.

use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::stage::{self, READS, check, driver, tool};

/// One tool with an error, one with a warning, and the same warning twice.
fn flawed() -> Folder {
    Folder::new()
        .file(".tools/a.one/TOOL.md", tool("a.one", "1.0.0", &format!("{READS}\ntimeout_ms: -5")))
        .file(".tools/a.two/TOOL.md", tool("a.two", "1.0.0", "inputs: { type: object }"))
        .file(".tools/a.three/TOOL.md", tool("a.three", "1.0.0", "inputs: { type: object }"))
        .file(".drivers/ones/DRIVER.md", driver("ones", &[("a.twe", "^1")]))
}

#[test]
fn check_shows_code_location_underlined_text_and_fix() {
    check(
        &flawed(),
        "check",
        r#"
exit 1
checked 4 manifests: 2 errors, 2 warnings
! error[D050]: there is no tool `a.twe`
!  --> .drivers/ones/DRIVER.md:9:13
!   |
! 9 |   - { tool: a.twe, version: "^1", metadata: { cli: { argv: [go] } } }
!   |             ^^^^^
!   |
!   = help: did you mean `a.two`?
!
! error[T013]: `timeout_ms` is -5; it must be at least 1
!   --> .tools/a.one/TOOL.md:10:13
!    |
! 10 | timeout_ms: -5
!    |             ^^
!
! warning[T046]: `mutates` and `risk_level` are not stated, so the tool counts as one that may write
!  --> .tools/a.three/TOOL.md:3:5
!   |
! 3 | id: a.three
!   |     ^^^^^^^
!   |
!   = help: a tool that only reads says `mutates: []` and `risk_level: 0`
!
! warning[T046]: `mutates` and `risk_level` are not stated, so the tool counts as one that may write
!  --> .tools/a.two/TOOL.md:3:5
!   |
! 3 | id: a.two
!   |     ^^^^^
!   |
!   = help: a tool that only reads says `mutates: []` and `risk_level: 0`
!
"#,
    );
}

#[test]
fn machines_see_every_field() {
    check(
        &flawed(),
        "check --json",
        r#"
exit 1
{
  "diagnostics": [
    {
      "code": "D050",
      "severity": "error",
      "message": "there is no tool `a.twe`",
      "file": ".drivers/ones/DRIVER.md",
      "line": 9,
      "column": 13,
      "help": "did you mean `a.two`?"
    },
    {
      "code": "T013",
      "severity": "error",
      "message": "`timeout_ms` is -5; it must be at least 1",
      "file": ".tools/a.one/TOOL.md",
      "line": 10,
      "column": 13
    },
    {
      "code": "T046",
      "severity": "warning",
      "message": "`mutates` and `risk_level` are not stated, so the tool counts as one that may write",
      "file": ".tools/a.three/TOOL.md",
      "line": 3,
      "column": 5,
      "help": "a tool that only reads says `mutates: []` and `risk_level: 0`"
    },
    {
      "code": "T046",
      "severity": "warning",
      "message": "`mutates` and `risk_level` are not stated, so the tool counts as one that may write",
      "file": ".tools/a.two/TOOL.md",
      "line": 3,
      "column": 5,
      "help": "a tool that only reads says `mutates: []` and `risk_level: 0`"
    }
  ]
}
"#,
    );
}

#[test]
fn code_review_sees_sarif_with_each_rule_once() {
    let (exit, log) = stage::json(&flawed(), "check --sarif");
    assert_eq!(exit, 1);
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(log["$schema"], "https://json.schemastore.org/sarif-2.1.0.json");
    let run = &log["runs"][0];
    let rules: Vec<&Value> = run["tool"]["driver"]["rules"].as_array().unwrap().iter().collect();
    let ids: Vec<&Value> = rules.iter().map(|rule| &rule["id"]).collect();
    assert_eq!(json!(ids), json!(["D050", "T013", "T046"]));
    let brief = |result: &Value| {
        let place = &result["locations"][0]["physicalLocation"];
        json!([
            result["ruleId"],
            result["level"],
            place["artifactLocation"]["uri"],
            place["region"]
        ])
    };
    let results: Vec<Value> = run["results"].as_array().unwrap().iter().map(brief).collect();
    assert_eq!(
        json!(results),
        json!([
            ["D050", "error", ".drivers/ones/DRIVER.md", { "startLine": 9, "startColumn": 13 }],
            ["T013", "error", ".tools/a.one/TOOL.md", { "startLine": 10, "startColumn": 13 }],
            ["T046", "warning", ".tools/a.three/TOOL.md", { "startLine": 3, "startColumn": 5 }],
            ["T046", "warning", ".tools/a.two/TOOL.md", { "startLine": 3, "startColumn": 5 }],
        ])
    );
}

#[test]
fn warnings_alone_are_no_failure() {
    let folder = Folder::new()
        .file(".tools/a.two/TOOL.md", tool("a.two", "1.0.0", "inputs: { type: object }"));
    check(
        &folder,
        "check",
        r"
exit 0
checked 1 manifest: no errors, 1 warning
! warning[T046]: `mutates` and `risk_level` are not stated, so the tool counts as one that may write
!  --> .tools/a.two/TOOL.md:3:5
!   |
! 3 | id: a.two
!   |     ^^^^^
!   |
!   = help: a tool that only reads says `mutates: []` and `risk_level: 0`
!
",
    );
    let (exit, log) = stage::json(&folder, "check --sarif");
    assert_eq!((exit, &log["runs"][0]["results"][0]["level"]), (0, &json!("warning")));
}

#[test]
fn nothing_wrong_is_an_empty_list() {
    let folder = Folder::new().file(".tools/a.two/TOOL.md", tool("a.two", "1.0.0", READS));
    check(
        &folder,
        "check --json",
        r#"
exit 0
{
  "diagnostics": []
}
"#,
    );
    let (exit, log) = stage::json(&folder, "check --sarif");
    assert_eq!((exit, &log["runs"][0]["results"]), (0, &json!([])));
}
