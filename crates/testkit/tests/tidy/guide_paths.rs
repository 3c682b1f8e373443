//! Paths of the code guide: every file that `docs/guide/find-your-way.md` names exists.

use crate::none;
use crate::repository::{file, root};

/// The page that leads through the code.
const PAGE: &str = "docs/guide/find-your-way.md";

/// The paths in code type on a line that begin with `crates/`.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|code| code.starts_with("crates/"))
}

/// The paths of a page that do not exist, as `line: path`.
fn missing(page: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut missing = Vec::new();
    for (line, at) in page.lines().zip(1..) {
        let gone = paths(line).filter(|path| !exists(path));
        missing.extend(gone.map(|path| format!("{at}: {path}")));
    }
    missing
}

#[test]
fn every_path_of_the_code_guide_exists() {
    let page = file(PAGE);
    assert!(page.text.lines().flat_map(paths).next().is_some(), "{PAGE} names no path");
    let root = root();
    let gone = missing(&page.text, |path| root.join(path).exists());
    none("docs/guide/find-your-way.md names files that exist", gone);
}

#[test]
fn missing_path_of_a_page_is_reported() {
    let page = "| 1 | `crates/a.rs` | reads `crates/gone.rs` |\n`fixtures/b` and crates/c.rs\n\
                `crates/a.rs`, `crates/old`\n";
    let exists = |path: &str| path == "crates/a.rs";
    assert_eq!(missing(page, exists), ["1: crates/gone.rs", "3: crates/old"]);
}
