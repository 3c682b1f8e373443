//! `haft schema` and `haft explain` tests: commands that need no workspace.

use haft_notation::inspect;
use haft_testkit::Folder;
use serde_json::json;

use crate::stage::{check, json as answer, run};

#[test]
fn every_document_has_a_sound_json_schema() {
    for kind in ["tool", "driver", "action", "haft.toml"] {
        let (exit, schema) = answer(&Folder::new(), &format!("schema {kind}"));
        assert_eq!((exit, inspect(&schema)), (0, Vec::new()), "{kind}");
        assert!(schema["properties"].is_object() || schema["allOf"].is_array(), "{kind}: {schema}");
    }
}

#[test]
fn schema_of_unknown_kind_is_a_usage_error() {
    check(
        &Folder::new(),
        "schema recipe",
        r"
exit 2
! error: invalid value 'recipe' for '<KIND>'
!   [possible values: tool, driver, action, policy, haft.toml]
!
! For more information, try '--help'.
",
    );
}

#[test]
fn an_error_code_has_a_page() {
    let said = run(&Folder::new(), "explain route.none");
    let page = include_str!("../../../../docs/errors/route.none.md");
    assert_eq!(String::from_utf8(said.stdout).unwrap(), format!("{}\n", page.trim_end()));
    assert_eq!(said.status.code(), Some(0));
}

#[test]
fn a_rule_has_a_sentence_in_either_case() {
    check(
        &Folder::new(),
        "explain T050",
        r"
exit 0
T050 (error): A tool's `risk_level` is not below its action's.
",
    );
    check(
        &Folder::new(),
        "explain d060",
        r"
exit 0
D060 (warning): `auth.ref` names a file that exists; without it a secret is still found in another SECRETS.md of the workspace, and stays closed where none lists it.
",
    );
}

#[test]
fn a_typo_comes_with_the_nearest_code() {
    check(
        &Folder::new(),
        "explain rout.none",
        r"
exit 4
! there is no code `rout.none`
! help: did you mean `route.none`?
",
    );
    check(
        &Folder::new(),
        "explain something-else-entirely",
        r"
exit 4
! there is no code `something-else-entirely`
",
    );
}

#[test]
fn all_rules_are_listed() {
    let (exit, said) = answer(&Folder::new(), "explain --json");
    let rules = said["rules"].as_array().unwrap();
    let text = String::from_utf8(run(&Folder::new(), "explain").stdout).unwrap();
    assert_eq!((exit, text.lines().count()), (0, rules.len()));
    assert!(said["errors"].as_array().unwrap().contains(&json!("route.none")));
}
