//! Merge tests: three versions of a file in, one file and its conflicts out.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;

const BASE: &str = "---
name: List
id: api.list
description: |-
  Lists.
  All of them.
mutates: []
risk_level: 0
inputs:
  type: object
  properties:
    limit: { type: integer, maximum: 10 }
    page: { type: integer }
implements:
  - tool: api.list
    version: ^1.0.0
    metadata:
      http: { method: GET, endpoint: /list }
  - tool: api.get
    version: ^1.0.0
---

The body.
";

fn import(text: &str) -> Import {
    let files = vec![File { path: "a/DRIVER.md".into(), text: text.into() }];
    Import {
        name: "a".into(),
        files,
        guesses: vec![],
        skipped: vec![],
        losses: vec![],
        secrets: vec![],
    }
}

fn known(text: &str) -> Base {
    Base { files: BTreeMap::from([("a/DRIVER.md".into(), text.into())]), ..Base::default() }
}

/// Joins a change of people's and one of the source, each as pairs of texts to replace.
fn joined(ours: &[(&str, &str)], theirs: &[(&str, &str)]) -> (String, Vec<(String, Value, Value)>) {
    let change = |changes: &[(&str, &str)]| {
        changes.iter().fold(BASE.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        })
    };
    let (ours, theirs) = (change(ours), change(theirs));
    let disk = Disk::from([("a/DRIVER.md".into(), ours.clone())]);
    let outcome = merge(&import(&theirs), &known(BASE), &disk, Prune::default());
    assert_eq!(outcome.base.files, known(&theirs).files);
    let text = outcome.writes.first().map_or(ours, |file| file.text.clone());
    let conflicts = outcome.conflicts.into_iter();
    (text, conflicts.map(|one| (one.field, one.yours, one.theirs)).collect())
}

#[test]
fn both_sides_change_different_fields_and_both_changes_stand() {
    let (text, conflicts) = joined(
        &[
            ("risk_level: 0", "risk_level: 1 # somebody looked"),
            ("maximum: 10", "maximum: 5"),
            ("The body.", "Our own words."),
            ("mutates: []", "# nothing\nmutates: []"),
            ("    version: ^1.0.0\n---", "    version: ^1.0.0\n    timeout_override_ms: 500\n---"),
        ],
        &[
            ("  Lists.\n", "  Lists more.\n"),
            ("    page: { type: integer }\n", "    cursor: { type: string }\n"),
            ("endpoint: /list", "endpoint: /v2/list"),
            ("  - tool: api.get\n", "  - tool: api.new\n    version: ^1.0.0\n  - tool: api.get\n"),
        ],
    );
    let expected = "---
name: List
id: api.list
description: |-
  Lists more.
  All of them.
# nothing
mutates: []
risk_level: 1 # somebody looked
inputs:
  type: object
  properties:
    limit: { type: integer, maximum: 5 }
    cursor: { type: string }
implements:
  - tool: api.list
    version: ^1.0.0
    metadata:
      http: { method: GET, endpoint: /v2/list }
  - tool: api.get
    version: ^1.0.0
    timeout_override_ms: 500
  - { tool: api.new, version: ^1.0.0 }
---

Our own words.
";
    assert_eq!((text.as_str(), conflicts), (expected, vec![]));
}

#[test]
fn conflicting_changes_keep_local_text_and_are_reported() {
    let (text, conflicts) = joined(
        &[
            ("risk_level: 0", "risk_level: 2"),
            ("The body.", "Ours."),
            ("mutates: []", "mutates: [workspace:a]"),
        ],
        &[
            ("risk_level: 0", "risk_level: 3"),
            ("The body.", "Theirs."),
            ("mutates: []", "mutates: [workspace:b]"),
        ],
    );
    assert!(
        text.contains("risk_level: 2") && text.contains("workspace:a") && text.contains("Ours.")
    );
    let expected = vec![
        ("mutates".to_owned(), json!(["workspace:a"]), json!(["workspace:b"])),
        ("risk_level".to_owned(), json!(2), json!(3)),
        ("the text".to_owned(), json!("Ours.\n"), json!("Theirs.\n")),
    ];
    assert_eq!(conflicts, expected);
}

#[test]
fn upstream_removals_apply_and_local_removals_persist() {
    let first = "  - tool: api.list\n    version: ^1.0.0\n    metadata:\n      http: { method: GET, endpoint: /list }\n";
    let (text, conflicts) = joined(
        &[("risk_level: 0\n", ""), ("    limit: { type: integer, maximum: 10 }\n", "")],
        &[
            (first, ""),
            ("mutates: []\n", ""),
            ("    page: { type: integer }\n", "    page: { type: string }\n"),
        ],
    );
    let expected = "---
name: List
id: api.list
description: |-
  Lists.
  All of them.
inputs:
  type: object
  properties:
    page: { type: string }
implements:
  - tool: api.get
    version: ^1.0.0
---

The body.
";
    assert_eq!((text.as_str(), conflicts), (expected, vec![]));
}

#[test]
fn locally_deleted_foreign_or_broken_files_are_untouched() {
    let other = BASE.replace("Lists.", "Lists more.");
    let at = |text: &str| Disk::from([("a/DRIVER.md".to_owned(), text.to_owned())]);
    let told = |base: &Base, disk: &Disk, prune: Prune| {
        let outcome = merge(&import(&other), base, disk, prune);
        let kept = outcome.kept.iter().map(|kept| kept.why.clone());
        let conflicts = outcome.conflicts.iter().map(|conflict| conflict.yours.to_string());
        let known = outcome.base.files.len();
        (outcome.writes.len(), kept.chain(conflicts).collect::<Vec<_>>().join(""), known)
    };
    let calm = Prune::default();
    let (none, known) = (Base::default(), known(BASE));
    assert_eq!(told(&none, &Disk::new(), calm), (1, String::new(), 1));
    assert_eq!(told(&known, &at(BASE), calm), (1, String::new(), 1));
    assert_eq!(told(&known, &at(&other), calm), (0, String::new(), 1));
    let gone = "it was deleted here, and stays deleted".to_owned();
    assert_eq!(told(&known, &Disk::new(), calm), (0, gone, 1));
    let foreign = "\"a file that no import made\"".to_owned();
    assert_eq!(told(&none, &at(BASE), calm), (0, foreign, 0));
    let overwrite = Prune { overwrite: true, ..calm };
    assert_eq!(told(&none, &at(BASE), overwrite), (1, String::new(), 1));
    let broken = "\"something that cannot be read\"".to_owned();
    assert_eq!(told(&known, &at("---\n{"), calm), (0, broken, 1));
}

#[test]
fn prune_removes_only_unmodified_vanished_files() {
    let none = Import { files: vec![], ..import(BASE) };
    let at = |text: &str| Disk::from([("a/DRIVER.md".to_owned(), text.to_owned())]);
    let prune = Prune { vanished: true, ..Prune::default() };
    let edited = BASE.replace("Lists.", "Lists ours.");
    for (text, prune, removed, known_after) in
        [(BASE, Prune::default(), 0, 1), (BASE, prune, 1, 0), (&edited, prune, 0, 1)]
    {
        let outcome = merge(&none, &known(BASE), &at(text), prune);
        assert_eq!((outcome.removals.len(), outcome.base.files.len()), (removed, known_after));
        assert_eq!(outcome.kept.len(), 1 - removed);
    }
}
