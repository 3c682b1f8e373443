//! Workspace tests: what is read, what a reload keeps, and what is refused.

mod builtin;
mod files;
mod loosening;
mod refresh;
mod reload;
mod rule_examples;

use std::fs;
use std::sync::Arc;

use haft::{LoadOptions, Workspace};
use haft_catalog::CatalogEntry;
use haft_testkit::Folder;

fn load(folder: &Folder) -> Workspace {
    Workspace::load(folder.path(), LoadOptions::default()).unwrap()
}

/// A contract that reads and takes anything, with a description to tell it by.
fn tool(id: &str, version: &str, description: &str) -> String {
    format!(
        "---\nname: {id}\nid: {id}\ndescription: {description}\nversion: {version}\nmutates: []\n\
         risk_level: 0\ninputs: {{ type: object }}\noutputs: {{ type: object }}\n---\n"
    )
}

/// A driver of kind cli for one tool.
fn driver(id: &str, tool: &str) -> String {
    format!(
        "---\nname: {id}\nid: {id}\ndescription: A program.\nversion: 1.0.0\nkind: cli\nbin: go\n\
         implements:\n  - {{ tool: {tool}, version: ^1, metadata: {{ cli: {{ argv: [go] }} }} }}\n---\n"
    )
}

/// What the workspace itself put into the catalog, as `id@major by drivers`.
fn catalog(workspace: &Workspace) -> Vec<String> {
    let line = |entry: &Arc<CatalogEntry>| {
        let drivers: Vec<&str> =
            entry.bindings.iter().map(|binding| binding.driver.id.as_str()).collect();
        format!("{} by {}", entry.contract.key(), drivers.join(", ")).trim_end().to_owned()
    };
    workspace.snapshot().entries().filter(|entry| !entry.is_given()).map(line).collect()
}

/// What is wrong, as `code file:line: message`, beside that nothing was accepted yet.
fn said(workspace: &Workspace) -> Vec<String> {
    let found = workspace.diagnostics().iter().filter(|found| found.code != "L005");
    found.map(|at| format!("{} {}:{}: {}", at.code, at.file, at.line, at.message)).collect()
}

/// Which contracts are the very same entry in two workspaces, and which are not.
fn kept(before: &Workspace, after: &Workspace) -> Vec<String> {
    let line = |entry: &Arc<CatalogEntry>| {
        let key = entry.contract.key().to_string();
        let same = before.snapshot().find(&key).is_some_and(|earlier| Arc::ptr_eq(earlier, entry));
        format!("{key} {}", if same { "kept" } else { "new" })
    };
    after.snapshot().entries().filter(|entry| !entry.is_given()).map(line).collect()
}

fn remove(folder: &Folder, path: &str) {
    fs::remove_file(folder.path().join(path)).unwrap();
}
