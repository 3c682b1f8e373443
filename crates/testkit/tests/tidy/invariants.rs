//! Invariant rules: the tests that the architecture page and the threat model name exist.

use crate::none;
use crate::repository::{file, files};

/// Tables whose last column names tests: the page and the heading.
const TABLES: [(&str, &str); 2] = [
    ("ARCHITECTURE.md", "## Invariants, each with the test that holds it"),
    ("docs/operate/security.md", "## What is defended, and by which test"),
];

/// The names in code type that a cell holds and that can be those of tests.
fn named(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2).filter(|name| name.contains('_'))
}

/// Whether a test of that name is run: a function, or a case in the list of a macro.
fn is_run(sources: &str, name: &str) -> bool {
    sources.contains(&format!("fn {name}()")) || sources.contains(&format!("::{name},"))
}

#[test]
fn every_invariant_is_held_by_a_test_that_exists() {
    let sources = ["crates", "fuzz"].into_iter().flat_map(files);
    let sources: String = sources.map(|file| file.text).collect();
    let mut breaches = Vec::new();
    for (path, heading) in TABLES {
        let page = file(path);
        let rows = page.table(heading);
        assert!(!rows.is_empty(), "{path} has no table under `{heading}`");
        for row in &rows {
            let [invariant, .., held_by] = row[..] else {
                panic!("the table of {path} has two columns at least, not {row:?}");
            };
            let gone = named(held_by).filter(|name| !is_run(&sources, name));
            breaches.extend(gone.map(|name| format!("no test is called {name} ({invariant})")));
            if named(held_by).next().is_none() {
                breaches.push(format!("no test is named for: {invariant}"));
            }
        }
    }
    none("an invariant names the test that holds it", breaches);
}
