//! Lint rule tests: every rule has cases, files in and all diagnostics out.
//!
//! The cases stand in `fixtures/rules/*.cases`, the good documents that they spoil in
//! `fixtures/rules/bases`. With `HAFT_BLESS=1` each file is rewritten with what happened, for review.

mod base;
mod case;
mod coverage;
mod published;

use std::fs;
use std::path::PathBuf;

use case::Case;
use haft::{LoadOptions, Workspace};
use haft_contract::{Diagnostic, Severity};

/// One test for each file of cases.
macro_rules! files {
    ($($name:ident)*) => {
        /// The files that are run.
        const FILES: &[&str] = &[$(stringify!($name)),*];

        $(#[test] fn $name() { run(stringify!($name)); })*
    };
}

files! {
    text hostile tool tool_across haft_fields driver driver_across http mcp sdk builtin cli bundle
    action agent_tool aruntime lock settings policy policy_rule governance governance_chain secrets auth
    runner sandbox io
}

#[test]
fn every_file_of_cases_is_run() {
    let names = fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.filter_map(|name| Some(name.to_str()?.strip_suffix(".cases")?.to_owned()));
    let forgotten: Vec<String> = names.filter(|name| !FILES.contains(&name.as_str())).collect();
    assert_eq!(forgotten, [""; 0], "name them in `files!`");
}

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/rules")
}

/// A file of cases as it is written.
fn written(name: &str) -> String {
    let path = fixtures().join(format!("{name}.cases"));
    fs::read_to_string(&path).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()))
}

/// Runs a file of cases, or rewrites it.
fn run(name: &str) {
    let text = written(name);
    let cases = case::read(name, &text);
    let answers: Vec<Vec<String>> = cases.iter().map(answer).collect();
    if std::env::var_os("HAFT_BLESS").is_some() {
        let path = fixtures().join(format!("{name}.cases"));
        return fs::write(path, case::blessed(&text, &answers)).unwrap();
    }
    let wrong: Vec<String> = cases
        .iter()
        .zip(&answers)
        .filter(|(case, got)| case.expected != **got)
        .map(|(case, got)| {
            let (wanted, got) = (case.expected.join("\n  "), got.join("\n  "));
            format!(
                "{name}.cases:{}: {}\nexpected\n  {wanted}\ngot\n  {got}\n",
                case.line, case.sentence
            )
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// Everything that a workspace of the case's files has to say.
fn answer(case: &Case) -> Vec<String> {
    let folder = case.folder();
    let mut workspace = Workspace::load(folder.path(), LoadOptions::default())
        .unwrap_or_else(|fault| panic!("{}: {fault}", case.sentence));
    // A case without a lock is about something else, and its contracts are accepted as they are.
    if fs::symlink_metadata(folder.path().join("haft.lock")).is_err() {
        workspace.accept(None).unwrap();
        workspace = workspace.reload().unwrap();
    }
    if workspace.diagnostics().is_empty() {
        return vec!["(none)".to_owned()];
    }
    workspace.diagnostics().iter().map(line).collect()
}

/// A diagnostic as the cases write it.
fn line(found: &Diagnostic) -> String {
    let severity = match found.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let Diagnostic { code, file, line, column, message, .. } = found;
    format!("{code} {severity} {file}:{line}:{column} {message}")
}
