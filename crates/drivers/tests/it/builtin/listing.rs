//! Tests of `fs.list`: the entries of a folder, in order.

use std::os::unix::fs::symlink;

use haft_model::{Code, EffectState};
use haft_testkit::Folder;
use serde_json::json;

use crate::builtin::stage::Stage;

#[test]
fn folder_listing_is_sorted_and_limited_by_depth() {
    let folder = Folder::new().file("b/x.txt", "123").file("b/c/y", "").file("a.txt", "1");
    symlink("nowhere", folder.path().join("z")).unwrap();
    let stage = Stage::of(folder);
    let one = json!({"path": ".", "more": false, "entries": [
        {"name": "a.txt", "kind": "file", "size": 1},
        {"name": "b", "kind": "folder"},
        {"name": "z", "kind": "link"},
    ]});
    assert_eq!(stage.run("fs.list", json!({"path": "."})).value(), (one, EffectState::None));
    let two = json!({"path": "b/", "more": false, "entries": [
        {"name": "c", "kind": "folder"},
        {"name": "c/y", "kind": "file", "size": 0},
        {"name": "x.txt", "kind": "file", "size": 3},
    ]});
    let listed = stage.run("fs.list", json!({"path": "b/", "depth": 2})).value();
    assert_eq!(listed, (two, EffectState::None));
}

#[test]
fn listing_truncates_at_thousand_entries_and_reports_more() {
    let stage = Stage::new();
    for number in 0..1001 {
        std::fs::write(stage.folder.path().join(format!("{number:04}")), "").unwrap();
    }
    let value = stage.run("fs.list", json!({"path": "."})).value().0;
    let entries = value["entries"].as_array().unwrap();
    assert_eq!((entries.len(), &value["more"]), (1000, &json!(true)));
    assert_eq!(entries[999]["name"], json!("0999"));
}

#[test]
fn what_is_no_folder_is_not_listed() {
    let stage = Stage::of(Folder::new().file("a", "x"));
    let cases = [
        ("a", Code::InputValue, "`a` is not a folder, or lies below a file"),
        ("b", Code::ResourceNotFound, "`b` does not exist"),
    ];
    for (path, code, message) in cases {
        let refusal = stage.run("fs.list", json!({"path": path})).refusal();
        assert_eq!(refusal, (code, message.to_owned(), EffectState::None));
    }
    let stop = stage.preflight("fs.list", json!({"path": ".", "depth": 6})).unwrap_err();
    assert_eq!((stop.code, stop.field.as_deref()), (Code::InputValue, Some("/depth")));
}
