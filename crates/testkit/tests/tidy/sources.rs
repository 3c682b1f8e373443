//! Source file rules: names, openings and lengths of Rust files.

use crate::none;
use crate::repository::{File, files};

/// Names under which everything ends up.
const DRAWERS: [&str; 6] = ["mod.rs", "utils.rs", "util.rs", "helpers.rs", "common.rs", "types.rs"];

/// Endings of types that do not say what they are.
const VAGUE: [&str; 4] = ["Manager", "Helper", "Util", "Processor"];

/// Lines that a file outside of tests may have.
const LONGEST: usize = 400;

/// Every Rust file of the crates.
pub(crate) fn sources() -> Vec<File> {
    files("crates").into_iter().filter(File::is_rust).collect()
}

/// Whether a file holds tests only.
pub(crate) fn is_test(file: &File) -> bool {
    file.name() == "tests.rs" || file.path.contains("/tests/")
}

/// The types that a text defines, by their names.
fn types(text: &str) -> Vec<&str> {
    text.lines().filter_map(defined).collect()
}

fn defined(line: &str) -> Option<&str> {
    const WORDS: [&str; 5] = ["struct", "enum", "trait", "type", "union"];
    let mut words = line.split_whitespace().take_while(|word| !word.starts_with("//"));
    words.find(|word| WORDS.contains(word))?;
    words.next()?.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

#[test]
fn every_source_file_opens_with_a_sentence() {
    let silent = sources().into_iter().filter(|file| !file.text.starts_with("//! "));
    none("a file opens with `//!` and what it is for", silent.map(|file| file.path).collect());
}

#[test]
fn no_source_file_is_a_drawer_for_everything() {
    let drawers = sources().into_iter().filter(|file| DRAWERS.contains(&file.name()));
    none("a file is named after what it holds", drawers.map(|file| file.path).collect());
}

#[test]
fn no_source_file_is_longer_than_400_lines() {
    let lengths = sources().into_iter().filter(|file| !is_test(file));
    let lengths = lengths.map(|file| (file.text.lines().count(), file.path));
    let long = lengths.filter(|(lines, _)| *lines > LONGEST);
    let long = long.map(|(lines, path)| format!("{path} has {lines} lines"));
    none("a file outside of tests has at most 400 lines", long.collect());
}

#[test]
fn no_type_is_a_manager_or_a_helper() {
    let mut vague = Vec::new();
    for file in sources() {
        let names = types(&file.text).into_iter();
        let named = names.filter(|name| VAGUE.iter().any(|ending| name.ends_with(ending)));
        vague.extend(named.map(|name| format!("{name} in {}", file.path)));
    }
    none("a type is named for what it is", vague);
}

#[test]
fn types_are_found_in_code_and_not_in_comments() {
    let text = "/// A struct of old\npub struct Old<T>(T);\nenum New { A }\n  type Leaf = u8;";
    assert_eq!(types(text), ["Old", "New", "Leaf"]);
}
