//! Decision record rules: each record has its number and its three headings.

use std::collections::BTreeMap;

use crate::none;
use crate::repository::{File, files};

const HEADINGS: [&str; 3] = ["## Context", "## Decision", "## Consequences"];

/// The number of a record named `NNNN-title.md`.
fn number(name: &str) -> Option<&str> {
    let (number, title) = name.strip_suffix(".md")?.split_once('-')?;
    let counts = number.len() == 4 && number.bytes().all(|byte| byte.is_ascii_digit());
    (counts && !title.is_empty()).then_some(number)
}

/// What is wrong with some records.
fn breaches(records: &[File]) -> Vec<String> {
    let mut breaches = Vec::new();
    let mut numbers: BTreeMap<&str, &str> = BTreeMap::new();
    for record in records {
        let Some(number) = number(record.name()) else {
            breaches.push(format!("{} is not named NNNN-title.md", record.path));
            continue;
        };
        if let Some(other) = numbers.insert(number, &record.path) {
            breaches.push(format!("{} has the number of {other}", record.path));
        }
        let absent = |heading: &&&str| !record.text.lines().any(|line| line == **heading);
        let absent = HEADINGS.iter().filter(absent);
        breaches.extend(absent.map(|heading| format!("{} lacks `{heading}`", record.path)));
    }
    breaches
}

#[test]
fn every_record_has_a_number_and_its_headings() {
    let records = files("docs/decisions").into_iter().filter(|file| file.name() != "README.md");
    none("a decision record keeps to its form", breaches(&records.collect::<Vec<_>>()));
}

#[test]
fn a_record_out_of_form_is_found() {
    let whole = HEADINGS.join("\n");
    let record = |path: &str, text: &str| File { path: path.into(), text: text.into() };
    assert_eq!(
        breaches(&[
            record("0001-a.md", &whole),
            record("0001-b.md", &whole),
            record("0002-c.md", "## Context\n## Decision\n"),
            record("three.md", &whole),
        ]),
        [
            "0001-b.md has the number of 0001-a.md",
            "0002-c.md lacks `## Consequences`",
            "three.md is not named NNNN-title.md",
        ]
    );
}
