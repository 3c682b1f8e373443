//! Rule example tests: examples are checked against everything that the rule matches.

use haft::{LoadOptions, Workspace};
use haft_testkit::Folder;

fn check(rule: &str, expected: &[&str]) {
    let folder = Folder::new().file("haft.toml", format!("[[rule]]\nverdict = \"deny\"\n{rule}"));
    let workspace = Workspace::load(folder.path(), LoadOptions::default()).unwrap();
    let found: Vec<String> = workspace
        .diagnostics()
        .iter()
        .map(|found| format!("{} {}:{} {}", found.code, found.file, found.line, found.message))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(workspace.settings_are_sound(), expected.is_empty());
}

#[test]
fn an_example_is_held_against_class_and_path() {
    check("class = \"read-only\"\nmatch = ['time.now {}']\nnot_match = ['fs.write {}']\n", &[]);
    check(
        "path = \"keys/*\"\nmatch = ['fs.read {\"path\": \"keys/a\"}']\nnot_match = ['fs.read {\"path\": \"a\"}']\n",
        &[],
    );
}

#[test]
fn failing_rule_example_is_error_and_settings_are_unsound() {
    check(
        "class = \"read-only\"\nmatch = ['fs.write {}']\n",
        &["W051 haft.toml:4 the rule does not match its own example `fs.write {}`"],
    );
    check(
        "path = \"*\"\nnot_match = ['fs.read {\"path\": \"a\"}']\n",
        &[
            "W052 haft.toml:4 the rule matches `fs.read {\"path\": \"a\"}`, which it says it does not",
        ],
    );
}
