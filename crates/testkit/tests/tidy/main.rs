//! Tidy tests: the pages, tables and names of this repository match its code.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a file that cannot be read fails the test")]

mod codes;
mod decisions;
mod duplicates;
mod edges;
mod glossary;
mod guide_paths;
mod invariants;
mod licences;
mod links;
mod manifest_fields;
mod repository;
mod sources;
mod terms;
mod vocabulary;
mod words;

/// Fails with every breach at once, since mending them one test run at a time is tedious.
#[track_caller]
fn none(rule: &str, breaches: Vec<String>) {
    assert!(breaches.is_empty(), "{rule}:\n  {}\n", breaches.join("\n  "));
}
