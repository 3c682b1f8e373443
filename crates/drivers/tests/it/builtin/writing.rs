//! Tests of `fs.write`: atomic, inside the workspace, never over governing files.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use haft_model::{Code, Digest, EffectState, Stop};
use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::builtin::stage::Stage;

/// Every file and folder below the workspace, with the text of the files.
fn all(stage: &Stage) -> Vec<(String, Option<String>)> {
    fn add(
        root: &std::path::Path,
        at: &std::path::Path,
        found: &mut Vec<(String, Option<String>)>,
    ) {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if path.is_dir() {
                found.push((name, None));
                add(root, &path, found);
            } else {
                found.push((name, Some(fs::read_to_string(&path).unwrap())));
            }
        }
    }
    let mut found = Vec::new();
    add(stage.folder.path(), stage.folder.path(), &mut found);
    found.sort();
    found
}

fn answer(path: &str, size: u64, created: bool, bytes: &[u8]) -> (Value, EffectState) {
    let digest = Digest::of_bytes(bytes);
    let value = json!({"path": path, "size": size, "created": created, "digest": digest});
    (value, EffectState::Committed)
}

#[test]
fn a_file_is_made_replaced_and_added_to() {
    let stage = Stage::of(Folder::new().file("old", "before"));
    let write = |input: Value| {
        let ended = stage.run("fs.write", input);
        assert_eq!(ended.submissions, 1);
        ended.value()
    };
    assert_eq!(write(json!({"path": "old", "content": "now"})), answer("old", 3, false, b"now"));
    assert_eq!(
        write(
            json!({"path": "a/b/new", "content": "/wA=", "encoding": "base64", "mode": "create"})
        ),
        answer("a/b/new", 2, true, b"\xff\0")
    );
    assert_eq!(
        write(json!({"path": "old", "content": "!", "mode": "append"})),
        answer("old", 4, false, b"!")
    );
    assert_eq!(
        write(json!({"path": "c/log", "content": "1\n", "mode": "append"})),
        answer("c/log", 2, true, b"1\n")
    );
    assert_eq!(write(json!({"path": "empty", "content": ""})), answer("empty", 0, true, b""));
    assert_eq!(stage.folder.read("old"), "now!");
    assert_eq!(fs::read(stage.folder.path().join("a/b/new")).unwrap(), b"\xff\0");
    assert_eq!(stage.folder.read("c/log"), "1\n");
    assert_eq!(stage.folder.read("empty"), "");
    assert_eq!(fs::read_dir(stage.folder.path()).unwrap().count(), 4);
}

#[test]
fn a_file_that_is_replaced_keeps_its_permissions() {
    let stage = Stage::of(Folder::new().file("a", "1"));
    let path = stage.folder.path().join("a");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    stage.run("fs.write", json!({"path": "a", "content": "2"})).value();
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o7777, 0o750);
}

#[test]
fn forbidden_write_is_refused_before_submission() {
    let folder = Folder::new().file("a/b", "1").file(".tools/x/TOOL.md", "t").file("haft.toml", "");
    symlink("haft.toml", folder.path().join("settings")).unwrap();
    symlink(".tools/x", folder.path().join("tool")).unwrap();
    let stage = Stage::of(folder);
    let before = all(&stage);
    let rules = "governs the workspace, so no tool may write it";
    let cases = [
        ("a", "replace", Code::InputValue, "is a folder"),
        ("a/b", "create", Code::Conflict, "exists already"),
        ("a/b/c", "replace", Code::InputValue, "is not a folder, or lies below a file"),
        ("haft.toml", "append", Code::SandboxViolation, rules),
        ("./haft.lock", "create", Code::SandboxViolation, rules),
        ("HAFT.toml", "create", Code::SandboxViolation, rules),
        ("x/../.tools/x/TOOL.md", "replace", Code::SandboxViolation, rules),
        (".drivers/d/DRIVER.md", "create", Code::SandboxViolation, rules),
        (".policy/p", "create", Code::SandboxViolation, rules),
        (".actions/a", "create", Code::SandboxViolation, rules),
        ("GOVERNANCE.md", "create", Code::SandboxViolation, rules),
        ("settings", "replace", Code::SandboxViolation, rules),
        ("settings", "append", Code::SandboxViolation, rules),
        ("tool/TOOL.md", "replace", Code::SandboxViolation, rules),
        ("tool/new/TOOL.md", "create", Code::SandboxViolation, rules),
    ];
    for (path, mode, code, why) in cases {
        let ended = stage.run("fs.write", json!({"path": path, "content": "x", "mode": mode}));
        assert_eq!(ended.submissions, 0, "{path}");
        let expected = (code, format!("`{path}` {why}"), EffectState::NotSubmitted);
        assert_eq!(ended.refusal(), expected, "{path} {mode}");
    }
    assert_eq!(all(&stage), before);
    stage.run("fs.write", json!({"path": "a/haft.toml", "content": "x"})).value();
}

#[test]
fn preflight_refuses_what_can_never_be_written() {
    let stage = Stage::new();
    let cases = [
        (json!({"path": "a/", "content": ""}), Code::InputValue, "/path"),
        (json!({"path": ".", "content": ""}), Code::InputValue, "/path"),
        (json!({"path": "../a", "content": ""}), Code::InputValue, "/path"),
        (json!({"path": "haft.toml", "content": ""}), Code::SandboxViolation, "/path"),
        (json!({"path": ".haft/a", "content": ""}), Code::SandboxViolation, "/path"),
        (json!({"path": "a"}), Code::InputValue, "/content"),
        (json!({"path": "a", "content": "?", "encoding": "base64"}), Code::InputValue, "/content"),
        (json!({"path": "a", "content": "", "encoding": "x"}), Code::InputValue, "/encoding"),
        (json!({"path": "a", "content": "", "mode": "x"}), Code::InputValue, "/mode"),
    ];
    for (input, code, field) in cases {
        let stop = stage.preflight("fs.write", input.clone()).unwrap_err();
        assert_eq!((stop.code, stop.field.as_deref()), (code, Some(field)), "{input}");
    }
}

#[test]
fn unrecorded_submission_leaves_files_unchanged() {
    let stage = Stage::of(Folder::new().file("a", "1"));
    let before = all(&stage);
    for (path, mode) in [("a", "replace"), ("a", "append"), ("b/c", "create"), ("d", "append")] {
        let input = json!({"path": path, "content": "2", "mode": mode});
        let mut refuse = |_: &_| Err(Stop::new(Code::Internal, "the disk is full"));
        let failure = stage.run_around("fs.write", input, &mut refuse).failure();
        assert_eq!(
            (failure.stop.code, failure.effect),
            (Code::Internal, EffectState::NotSubmitted)
        );
        assert_eq!(all(&stage), before, "{path} {mode}");
    }
}

#[test]
fn write_failing_after_submission_leaves_nothing_behind() {
    let stage = Stage::of(Folder::new().file("a", "1"));
    let before = all(&stage);
    for (path, mode) in [("a", "replace"), ("a", "append"), ("b/c/d", "create"), ("e/f", "append")]
    {
        let input = json!({"path": path, "content": "2", "mode": mode});
        let ended = stage.run_around("fs.write", input, &mut |cancel| {
            cancel.cancel();
            Ok(())
        });
        let expected =
            (Code::CanceledCaller, "it was called off".to_owned(), EffectState::NotCommitted);
        assert_eq!(ended.refusal(), expected, "{path} {mode}");
        assert_eq!(all(&stage), before, "{path} {mode}");
    }
}

#[test]
fn create_does_not_overwrite_file_that_appeared_meanwhile() {
    let stage = Stage::new();
    let target = stage.folder.path().join("a");
    let input = json!({"path": "a", "content": "mine", "mode": "create"});
    let ended = stage.run_around("fs.write", input, &mut |_| {
        fs::write(&target, "theirs").unwrap();
        Ok(())
    });
    let expected = (Code::Conflict, "`a` exists already".to_owned(), EffectState::NotCommitted);
    assert_eq!(ended.refusal(), expected);
    assert_eq!(all(&stage), [("a".to_owned(), Some("theirs".to_owned()))]);
}

#[test]
fn write_does_not_replace_folder_that_appeared_meanwhile() {
    let stage = Stage::of(Folder::new().file("b", "1"));
    let (target, other) = (stage.folder.path().join("a/x"), stage.folder.path().join("b"));
    let ended = stage.run_around("fs.write", json!({"path": "a", "content": "x"}), &mut |_| {
        fs::create_dir_all(&target).unwrap();
        fs::remove_file(&other).unwrap();
        Ok(())
    });
    let expected = (Code::InputValue, "`a` is a folder".to_owned(), EffectState::NotCommitted);
    assert_eq!(ended.refusal(), expected);
    assert_eq!(all(&stage), [("a".to_owned(), None), ("a/x".to_owned(), None)]);
}

#[test]
fn write_uses_folders_and_files_that_appeared_meanwhile() {
    let stage = Stage::new();
    let theirs = stage.folder.path().join("a/theirs");
    for (mode, path, written) in [("replace", "a/b/c", "x"), ("append", "a/theirs", "1x")] {
        let input = json!({"path": path, "content": "x", "mode": mode});
        let ended = stage.run_around("fs.write", input, &mut |_| {
            fs::create_dir_all(theirs.parent().unwrap()).unwrap();
            fs::write(&theirs, "1").unwrap();
            Ok(())
        });
        ended.value();
        assert_eq!(stage.folder.read(path), written);
        fs::remove_dir_all(stage.folder.path().join("a")).unwrap();
    }
}
