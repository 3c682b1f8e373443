//! The tests that the architecture page names exist.

use crate::none;
use crate::repository::{file, files};

const HEADING: &str = "## Invariants, each with the test that holds it";

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
    let page = file("ARCHITECTURE.md");
    let rows = page.table(HEADING);
    assert!(!rows.is_empty(), "ARCHITECTURE.md has no table under `{HEADING}`");
    let sources: String = files("crates").into_iter().map(|file| file.text).collect();
    let mut breaches = Vec::new();
    for row in &rows {
        let [invariant, held_by] = row[..] else {
            panic!("the table of invariants has two columns, not {row:?}");
        };
        let gone = named(held_by).filter(|name| !is_run(&sources, name));
        breaches.extend(gone.map(|name| format!("no test is called {name} ({invariant})")));
        if named(held_by).next().is_none() {
            breaches.push(format!("no test is named for: {invariant}"));
        }
    }
    none("an invariant names the test that holds it", breaches);
}
