//! Decisions as data: the cases of `fixtures/decisions` and the table of who may do what.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a case that cannot be read fails the test"
)]

mod case;
mod file;
mod matrix;

use std::path::{Path, PathBuf};

/// Where the cases stand.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/decisions")
}

/// Whether files are to be written instead of compared.
fn blesses() -> bool {
    std::env::var_os("HAFT_BLESS").is_some()
}

#[test]
fn every_case_file_yields_its_decision_and_reasons() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    files.sort();
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in &files {
        let (cases, differences) = file::check(path);
        count += cases;
        wrong.extend(differences);
    }
    assert!(wrong.is_empty(), "{}\nreview, then run with HAFT_BLESS=1", wrong.join("\n"));
    assert!(count >= 60, "only {count} cases were found");
}
