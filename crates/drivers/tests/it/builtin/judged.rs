//! Tests of time-of-check to time-of-use: the authorized target against the file at execution.

use std::fs;
use std::os::unix::fs::symlink;

use haft_driver::{Driver as _, PathTarget, TargetKinds};
use haft_model::Code;
use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::builtin::stage::{Stage, plan};
use crate::guards::guard;

fn stage() -> Stage {
    let folder =
        Folder::new().file("keys/a", "secret").file("docs/x", "open").file("docs/y", "open");
    Stage::of(folder)
}

#[test]
fn targets_are_told_by_where_links_lead() {
    let stage = stage();
    symlink("../keys", stage.folder.path().join("docs/up")).unwrap();
    symlink("/etc", stage.folder.path().join("out")).unwrap();
    let told = |tool: &str, input: Value, kinds| stage.builtin.targets(&plan(tool, input), kinds);
    for (path, expected) in [
        ("docs/./x", PathTarget::Resolved("docs/x".into())),
        ("docs/up/a", PathTarget::Resolved("keys/a".into())),
        ("docs/up/new/b", PathTarget::Resolved("keys/new/b".into())),
        (".", PathTarget::Resolved(String::new())),
        ("out/passwd", PathTarget::Unresolved),
        ("../x", PathTarget::Unresolved),
    ] {
        let targets = told("fs.write", json!({ "path": path }), TargetKinds::ALL);
        assert_eq!(targets.paths, [expected], "{path}");
    }
    let url = json!({ "url": "HTTPS://a.Example:443/./b" });
    assert_eq!(told("http.fetch", url, TargetKinds::ALL).urls, ["https://a.example/b"]);
    let nothing = told("fs.read", json!({ "path": "docs/x" }), TargetKinds::default());
    assert!(nothing.is_empty());
}

#[test]
fn path_that_became_a_link_after_judging_is_refused() {
    for tool in ["fs.read", "fs.write", "text.search"] {
        for target in ["../keys/a", "y"] {
            let stage = stage();
            let input = json!({ "path": "docs/x", "pattern": ".", "content": "spoiled" });
            let plan = plan(tool, input.clone());
            let targets = stage.builtin.targets(&plan, TargetKinds::ALL);
            let guard = guard(&plan, &targets, json!({ "verdict": "deny", "path": "keys/*" }));
            fs::remove_file(stage.folder.path().join("docs/x")).unwrap();
            symlink(target, stage.folder.path().join("docs/x")).unwrap();
            let failure = stage.run_held(tool, input, guard).failure();
            assert_eq!(failure.stop.code, Code::InputMutation, "{tool} {target}");
            assert_eq!(stage.folder.read("keys/a") + &stage.folder.read("docs/y"), "secretopen");
        }
    }
}

#[test]
fn asked_path_that_was_answered_is_used() {
    let stage = stage();
    for (verdict, path, code) in
        [("ask", "keys/*", None), ("deny", "keys/*", Some(Code::PermissionDenied))]
    {
        let input = json!({ "path": "keys/a" });
        let plan = plan("fs.read", input.clone());
        let targets = stage.builtin.targets(&plan, TargetKinds::ALL);
        let guard = guard(&plan, &targets, json!({ "verdict": verdict, "path": path }));
        let ended = stage.run_held("fs.read", input, guard);
        assert_eq!(ended.result.err().map(|failure| failure.stop.code), code, "{verdict}");
    }
}
