//! Snapshot tests: files in the repository are what the command prints today.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Compares a file with what it should hold; with `HAFT_BLESS` set, writes it instead.
#[track_caller]
fn holds(file: &str, text: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    if std::env::var_os("HAFT_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let held = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(held, text, "{file} is out of date: run the tests with HAFT_BLESS=1");
}

fn printed(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_haft")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_schemas_for_editors_are_those_the_command_prints() {
    for kind in ["tool", "driver", "action", "policy", "haft.toml"] {
        holds(&format!("schema/{kind}.schema.json"), &printed(&["schema", kind]));
    }
}

#[test]
fn the_page_of_rules_lists_those_the_command_knows() {
    let listed: Value = serde_json::from_str(&printed(&["explain", "--json"])).unwrap();
    let mut page = String::from(
        "# Rules\n\nWhat manifests are held to, as `haft explain` lists it.\n\
         Each rule has at least one case in `fixtures/rules`.\n\n\
         | rule | severity | what it says |\n|---|---|---|\n",
    );
    for rule in listed["rules"].as_array().unwrap() {
        let text = |key: &str| rule[key].as_str().unwrap().replace('|', "\\|");
        page += &format!("| {} | {} | {} |\n", text("code"), text("severity"), text("about"));
    }
    holds("docs/rules.md", &page);
}
