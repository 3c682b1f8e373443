//! The glossary: unique, sorted, and complete for the crates that give everybody their words.

use std::collections::BTreeSet;

use crate::none;
use crate::repository::file;

/// The crates whose public types are everybody's words.
const VOCABULARIES: [&str; 7] =
    ["model", "contract", "policy", "ledger", "driver", "runtime", "haft"];

/// The words that have a line, such as `plan` or `rule (of a workspace)`.
fn words(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| line.strip_prefix("- **")?.split_once("**: "))
        .map(|(word, _)| word)
        .collect()
}

/// The types that a `lib.rs` exports.
fn exported(lib: &str) -> Vec<&str> {
    let exports = lib.split(';').filter_map(|item| item.split_once("pub use ")).map(|(_, it)| it);
    exports
        .flat_map(|names| names.split(['{', '}', ',']))
        .filter_map(|name| name.trim().rsplit([':', ' ']).next())
        .filter(|name| name.starts_with(char::is_uppercase))
        .filter(|name| name.contains(char::is_lowercase))
        .collect()
}

/// `ToolKey` as people write it: `tool key`.
fn spelled(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push(' ');
        }
        out.extend(c.to_lowercase());
    }
    out
}

#[test]
fn words_are_sorted_and_none_stands_twice() {
    let glossary = file("docs/glossary.md");
    let words = words(&glossary.text);
    let pairs = words.iter().zip(words.iter().skip(1)).filter(|(one, next)| one >= next);
    let wrong = pairs.map(|(one, next)| format!("`{next}` stands after `{one}`"));
    none("the glossary is in alphabetical order, each word once", wrong.collect());
}

#[test]
fn every_line_of_the_list_defines_a_word() {
    let glossary = file("docs/glossary.md");
    let lines = glossary.text.lines().filter(|line| line.starts_with('-'));
    assert_eq!(lines.count(), words(&glossary.text).len(), "a line is `- **word**: sentence.`");
}

#[test]
fn every_public_type_has_its_line() {
    let glossary = file("docs/glossary.md");
    let known: BTreeSet<_> = words(&glossary.text)
        .into_iter()
        .map(|word| word.split_once(" (").map_or(word, |(word, _)| word))
        .collect();
    let mut missing = Vec::new();
    for name in VOCABULARIES {
        let lib = file(&format!("crates/{name}/src/lib.rs"));
        let unknown = exported(&lib.text).into_iter().map(spelled);
        let unknown = unknown.filter(|word| !known.contains(word.as_str()));
        missing.extend(unknown.map(|word| format!("- **{word}**: … (of {name})")));
    }
    none("docs/glossary.md has a line for each public type", missing);
}

#[test]
fn exports_are_read_over_several_lines() {
    let lib = "mod a;\npub use a::{\n    ToolKey, canonical, LIMIT,\n    Tri,\n};\npub use b::c::Plan as Way;\n";
    assert_eq!(exported(lib), ["ToolKey", "Tri", "Way"]);
    assert_eq!(spelled("ToolKey"), "tool key");
}
