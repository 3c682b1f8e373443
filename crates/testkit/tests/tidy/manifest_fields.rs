//! Manifest fields: every field of a shape is read by code, or listed as recorded or as a remark.

use std::collections::BTreeSet;

use crate::none;
use crate::repository::{File, file, files};

/// The page of the fields that no code acts on.
const PAGE: &str = "docs/recorded-fields.md";

/// The shapes, which name every field.
const SHAPES: &str = "crates/contract/src/shape/documents";

/// The names of the fields in a table of shapes.
fn names(text: &str) -> BTreeSet<&str> {
    let rows = ["required(", "optional(", "maybe("].iter();
    rows.flat_map(|row| text.split(row).skip(1))
        .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next())
        .collect()
}

/// The words in code type in a page.
fn listed(page: &str) -> BTreeSet<&str> {
    page.split('`').skip(1).step_by(2).collect()
}

/// Whether code reads a field: by its name as text, or as a field of a struct.
fn is_read(name: &str, code: &str) -> bool {
    let snake: String = name
        .chars()
        .flat_map(|letter| match letter.is_ascii_uppercase() {
            true => vec!['_', letter.to_ascii_lowercase()],
            false => vec![letter],
        })
        .collect();
    let ends = |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
    code.contains(&format!("\"{name}\"")) || code.split(&format!(".{snake}")).skip(1).any(ends)
}

/// The code that may read a field: neither shapes nor tests nor what writes manifests.
fn reads(file: &File) -> bool {
    let elsewhere = ["crates/import/", "crates/testkit/", "crates/contract/src/shape/"];
    file.is_rust()
        && file.path.contains("/src/")
        && !file.path.contains("/tests")
        && elsewhere.iter().all(|folder| !file.path.starts_with(folder))
}

#[test]
fn every_manifest_field_is_read_or_listed() {
    let code: Vec<String> =
        files("crates").into_iter().filter(reads).map(|file| file.text).collect();
    let code = code.join("\n");
    let page = file(PAGE);
    let listed = listed(&page.text);
    let mut unread = Vec::new();
    for shape in files(SHAPES) {
        let own = names(&shape.text);
        let silent = own.iter().filter(|name| !listed.contains(*name) && !is_read(name, &code));
        unread.extend(silent.map(|name| format!("{}: `{name}`", shape.path)));
    }
    none("a field of a manifest that no code reads is listed in docs/recorded-fields.md", unread);
}

#[test]
fn field_that_no_code_reads_is_reported() {
    let shape = "required(\"kept\", \"\", Flag, \"A.\"), optional(\n \"lostField\", \"\", Flag)";
    assert_eq!(names(shape), BTreeSet::from(["kept", "lostField"]));
    assert!(is_read("kept", "value.kept;") && is_read("kept", "get(\"kept\")"));
    assert!(is_read("lostField", "value.lost_field)"));
    assert!(!is_read("lostField", "value.lost_fields)") && !is_read("kept", "kept: bool"));
    assert_eq!(listed("| `a` `b` | c |"), BTreeSet::from(["a", "b"]));
}
