//! Test support: reads a document and prints its diagnostics, one per line.

use crate::{ParsedManifest, Reading, Report, Source, read};

/// Reads a file that holds this frontmatter.
pub(crate) fn reading(file: &str, frontmatter: &str) -> Reading {
    let source = Source::new(file, format!("---\n{frontmatter}\n---\n"));
    let report = Report::new(&source);
    read(&source, report)
}

/// What a good file turned out to be.
pub(crate) fn good(file: &str, frontmatter: &str) -> ParsedManifest {
    let reading = reading(file, frontmatter);
    assert_eq!(lines(&reading), Vec::<String>::new());
    reading.manifest.unwrap()
}

/// Code, line and message of everything that is wrong. The first line of the frontmatter is line 2.
pub(crate) fn lines(reading: &Reading) -> Vec<String> {
    let line =
        |found: &crate::Diagnostic| format!("{} {} {}", found.code, found.line, found.message);
    reading.diagnostics.iter().map(line).collect()
}

/// Reads bad frontmatters, each a change of a good one, and compares everything that is found.
pub(crate) fn check(file: &str, cases: &[(&str, &[&str])]) {
    for (frontmatter, expected) in cases {
        assert_eq!(lines(&reading(file, frontmatter)), *expected, "{frontmatter}");
    }
}
