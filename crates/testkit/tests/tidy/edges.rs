//! Dependency rules: the crate table of the architecture page matches every `Cargo.toml`.

use std::collections::{BTreeMap, BTreeSet};

use crate::none;
use crate::repository::{File, file, files};

/// Outside crates that any crate may name.
const SHARED: [&str; 8] =
    ["serde", "serde_json", "tokio", "thiserror", "tempfile", "rustix", "rmcp", "base64"];

/// Who depends on whom, both by name.
type Pairs = BTreeSet<(String, String)>;

/// The edges of all crates, from one point of view.
#[derive(Default)]
struct Edges {
    crates: BTreeSet<String>,
    ours: Pairs,
    outside: Pairs,
}

/// The edges as the `Cargo.toml` files have them.
fn written() -> Edges {
    let mut edges = Edges::default();
    for file in files("crates") {
        let [_, name, "Cargo.toml"] = file.path.split('/').collect::<Vec<_>>()[..] else {
            continue;
        };
        edges.crates.insert(name.to_owned());
        for needed in dependencies(&file.text) {
            if let Some(ours) = folder(needed) {
                edges.ours.insert((name.to_owned(), ours.to_owned()));
            } else if !SHARED.contains(&needed) {
                edges.outside.insert((name.to_owned(), needed.to_owned()));
            }
        }
    }
    edges
}

/// The edges as the architecture page has them.
fn drawn() -> Edges {
    let page: File = file("ARCHITECTURE.md");
    let mut edges = Edges::default();
    for row in page.table("## Crates") {
        let [name, _, ours, _, outside] = row[..] else {
            panic!("the crate table of ARCHITECTURE.md has five columns, not {row:?}");
        };
        let pairs = |cell: &str| -> Pairs {
            let names = cell.split(',').map(str::trim).filter(|name| *name != "–");
            names.map(|other| (name.to_owned(), other.to_owned())).collect()
        };
        edges.crates.insert(name.to_owned());
        edges.ours.extend(pairs(ours));
        edges.outside.extend(pairs(outside));
    }
    edges
}

/// The folder of a crate of ours, by its package name.
fn folder(package: &str) -> Option<&str> {
    if package == "haft" { Some(package) } else { package.strip_prefix("haft-") }
}

/// The names of the crates that a `Cargo.toml` depends on, those of its tests left out.
///
/// Reads the spellings that Cargo files use: `name.workspace = true`, `name = …` and a section
/// `[dependencies.name]` of its own.
fn dependencies(cargo: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut in_list = false;
    for line in cargo.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            let counts = !section.contains("dev-dependencies");
            in_list = counts && section.ends_with("dependencies");
            let own = section.split_once("dependencies.").map(|(_, name)| name);
            names.extend(own.filter(|_| counts));
        } else if let Some((key, _)) = line.split_once('=').filter(|_| in_list) {
            names.extend(key.split(['.', ' ']).next().filter(|name| !name.starts_with('#')));
        }
    }
    names
}

/// What only one of two sides has.
fn differences(written: &Pairs, drawn: &Pairs) -> Vec<String> {
    let only = |pairs: Vec<&(String, String)>, place: &str| -> Vec<String> {
        pairs.iter().map(|(from, to)| format!("{from} -> {to} is only in {place}")).collect()
    };
    let mut breaches = only(written.difference(drawn).collect(), "its Cargo.toml");
    breaches.extend(only(drawn.difference(written).collect(), "ARCHITECTURE.md"));
    breaches
}

#[test]
fn crates_are_those_of_the_architecture_page() {
    assert_eq!(written().crates, drawn().crates);
}

#[test]
fn edges_are_those_of_the_architecture_page() {
    let breaches = differences(&written().ours, &drawn().ours);
    none("an edge between crates is in the table and in Cargo.toml", breaches);
}

#[test]
fn outside_crates_are_those_of_the_architecture_page() {
    let breaches = differences(&written().outside, &drawn().outside);
    none("an outside crate is in the table and in Cargo.toml", breaches);
}

#[test]
fn an_outside_crate_is_named_only_by_its_owner() {
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, outside) in written().outside {
        owners.entry(outside).or_default().push(name);
    }
    let shared = owners.into_iter().filter(|(_, names)| names.len() > 1);
    let shared = shared.map(|(outside, names)| format!("{outside}: {}", names.join(", ")));
    none("one crate owns each outside crate", shared.collect());
}

#[test]
fn dependencies_are_read_in_every_spelling() {
    let cargo = r#"
        [package]
        name = "haft-x"
        [dependencies]
        haft-model.workspace = true
        haft = { path = "../haft" }
        regex = "1"
        # sha1 = "1"
        [target.'cfg(unix)'.dependencies]
        rustix.workspace = true
        [dependencies.sha2]
        version = "1"
        [dev-dependencies]
        insta = "1"
        [dev-dependencies.proptest]
        version = "1"
        [lints]
        workspace = true
    "#;
    assert_eq!(dependencies(cargo), ["haft-model", "haft", "regex", "rustix", "sha2"]);
    assert_eq!([folder("haft"), folder("haft-model")], [Some("haft"), Some("model")]);
}

#[test]
fn an_edge_on_one_side_only_is_found() {
    let pair = |from: &str, to: &str| Pairs::from([(from.to_owned(), to.to_owned())]);
    assert_eq!(
        differences(&pair("model", "cli"), &pair("cli", "model")),
        ["model -> cli is only in its Cargo.toml", "cli -> model is only in ARCHITECTURE.md"]
    );
}
