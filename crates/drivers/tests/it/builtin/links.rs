//! Tests of symlinks: a tool follows only those that stay inside the workspace, under any race.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use haft_model::Code;
use haft_testkit::Folder;
use serde_json::json;

use crate::builtin::stage::Stage;

const SECRET: &str = "outside";

/// A workspace `w` beside a folder `out`, both below one folder.
fn beside() -> (Folder, Stage) {
    let folder = Folder::new().file("out/secret.txt", SECRET).file("w/in.txt", "inside");
    let clock = || haft_model::Timestamp::UNIX_EPOCH;
    let guard = haft_sandbox::AddressGuard::public();
    let builtin = haft_drivers::Builtin::new(folder.path().join("w"), guard, clock);
    (folder, Stage { builtin, ..Stage::new() })
}

#[test]
fn a_link_that_stays_inside_is_followed() {
    let (folder, stage) = beside();
    let w = folder.path().join("w");
    fs::create_dir_all(w.join("a/b")).unwrap();
    fs::write(w.join("a/b/c.txt"), "deep").unwrap();
    symlink("in.txt", w.join("file")).unwrap();
    symlink("a/b", w.join("folder")).unwrap();
    symlink("../../in.txt", w.join("a/b/up")).unwrap();
    symlink("folder/./c.txt", w.join("chain")).unwrap();
    let cases = [
        ("file", "inside"),
        ("folder/c.txt", "deep"),
        ("folder/up", "inside"),
        ("chain", "deep"),
        ("folder/../in.txt", "inside"),
    ];
    for (path, content) in cases {
        let value = stage.run("fs.read", json!({"path": path})).value().0;
        assert_eq!(value["content"], json!(content), "{path}");
    }
    let listed = stage.run("fs.list", json!({"path": "folder"})).value().0;
    let expected = json!([{"name": "c.txt", "kind": "file", "size": 4},
                          {"name": "up", "kind": "link"}]);
    assert_eq!(listed["entries"], expected);
    stage.run("fs.write", json!({"path": "file", "content": "new"})).value();
    assert_eq!(fs::read_to_string(w.join("in.txt")).unwrap(), "new");
    assert!(w.join("file").is_symlink());
}

#[test]
fn symlink_out_of_workspace_is_refused_by_every_tool() {
    let (folder, stage) = beside();
    let w = folder.path().join("w");
    fs::create_dir(w.join("a")).unwrap();
    symlink("../out/secret.txt", w.join("file")).unwrap();
    symlink("../out", w.join("folder")).unwrap();
    symlink(folder.path().join("out"), w.join("absolute")).unwrap();
    symlink(w.join("in.txt"), w.join("absolute-inside")).unwrap();
    symlink("../folder", w.join("a/chain")).unwrap();
    symlink("../../out/new.txt", w.join("a/dangling")).unwrap();
    symlink("missing/../../out/secret.txt", w.join("odd")).unwrap();
    let paths = [
        "file",
        "folder/secret.txt",
        "absolute/secret.txt",
        "absolute-inside",
        "a/chain/secret.txt",
        "a/dangling",
        "folder/new/deeper.txt",
    ];
    for path in paths {
        for tool in ["fs.read", "fs.write", "fs.list", "text.search"] {
            let input = json!({"path": path, "content": "x", "pattern": "."});
            let (code, message, _) = stage.run(tool, input).refusal();
            let expected = format!("`{path}` leads out of the workspace");
            assert_eq!((code, message), (Code::SandboxViolation, expected), "{tool} {path}");
        }
    }
    let (code, ..) = stage.run("fs.read", json!({"path": "odd"})).refusal();
    assert_eq!(code, Code::ResourceNotFound);
    let found = stage.run("text.search", json!({"path": ".", "pattern": SECRET})).value().0;
    assert_eq!(found["matches"], json!([]));
    let out: Vec<_> = fs::read_dir(folder.path().join("out")).unwrap().collect();
    assert_eq!(out.len(), 1);
    assert_eq!(folder.read("out/secret.txt"), SECRET);
}

#[test]
fn links_in_a_circle_end() {
    let (folder, stage) = beside();
    let w = folder.path().join("w");
    symlink("two", w.join("one")).unwrap();
    symlink("one", w.join("two")).unwrap();
    symlink(".", w.join("here")).unwrap();
    let (code, message, _) = stage.run("fs.read", json!({"path": "one"})).refusal();
    assert_eq!((code, message.as_str()), (Code::InputValue, "`one` goes through too many links"));
    let found = stage.run("text.search", json!({"path": "here/here", "pattern": "in"})).value().0;
    let expected = json!([{"path": "here/here/in.txt", "line": 1, "text": "inside"}]);
    assert_eq!(found["matches"], expected);
}

#[test]
fn the_folder_of_haft_is_closed_in_every_spelling() {
    let (folder, stage) = beside();
    let w = folder.path().join("w");
    fs::create_dir_all(w.join(".haft/sub")).unwrap();
    fs::create_dir_all(w.join("a/.haft")).unwrap();
    fs::write(w.join(".haft/store"), "kept").unwrap();
    symlink(".haft", w.join("link")).unwrap();
    symlink("../.haft/store", w.join("a/file")).unwrap();
    symlink(".haft/new", w.join("dangling")).unwrap();
    let paths = [
        ".haft",
        ".haft/store",
        "./.haft/store",
        "a/../.haft/store",
        ".HAFT/store",
        ".Haft",
        ".haft/sub/../store",
        "link",
        "link/store",
        "link/sub/x",
        "a/file",
        "a/.haft/x",
        "dangling",
    ];
    for path in paths {
        for tool in ["fs.read", "fs.write", "fs.list", "text.search"] {
            let input = json!({"path": path, "content": "x", "pattern": "."});
            let (code, message, _) = stage.run(tool, input).refusal();
            let expected = format!("`{path}` belongs to Haft itself");
            assert_eq!((code, message), (Code::SandboxViolation, expected), "{tool} {path}");
        }
    }
    let listed = stage.run("fs.list", json!({"path": ".", "depth": 5})).value().0;
    assert!(!listed.to_string().contains(".haft"), "{listed}");
    let found = stage.run("text.search", json!({"path": ".", "pattern": "kept"})).value().0;
    assert_eq!(found["matches"], json!([]));
    assert_eq!(folder.read("w/.haft/store"), "kept");
}

#[test]
fn symlinked_state_folder_is_closed_under_its_target_name() {
    let (folder, stage) = beside();
    let w = folder.path().join("w");
    fs::create_dir(w.join("state")).unwrap();
    fs::write(w.join("state/store"), "kept").unwrap();
    symlink("state", w.join(".haft")).unwrap();
    for tool in ["fs.read", "fs.write"] {
        let input = json!({"path": "state/store", "content": "x"});
        let (code, ..) = stage.run(tool, input).refusal();
        assert_eq!(code, Code::SandboxViolation, "{tool}");
    }
    let (code, ..) = stage.run("fs.list", json!({"path": "state"})).refusal();
    assert_eq!(code, Code::SandboxViolation);
    let listed = stage.run("fs.list", json!({"path": ".", "depth": 5})).value().0;
    let expected = json!([{"name": "in.txt", "kind": "file", "size": 6},
                          {"name": "state", "kind": "folder"}]);
    assert_eq!((&listed["entries"], &listed["more"]), (&expected, &json!(false)));
    let found = stage.run("text.search", json!({"path": ".", "pattern": "kept"})).value().0;
    assert_eq!(found["matches"], json!([]));
}

/// Sets the stop flag on drop, also when the test fails.
struct Stopping<'a>(&'a AtomicBool);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// While `work` runs, swaps `w/a` between a folder inside and a symlink to the folder outside, and
/// `w/f` between a file and a symlink to the file outside.
fn while_swapping(folder: &Folder, work: impl FnOnce()) {
    let w = folder.path().join("w");
    fs::create_dir(w.join("good")).unwrap();
    fs::write(w.join("good/secret.txt"), "inside").unwrap();
    symlink("good", w.join("a")).unwrap();
    fs::write(w.join("f"), "inside").unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let next = w.join("next");
            while !stop.load(Ordering::Relaxed) {
                for target in ["../out", "good"] {
                    symlink(target, &next).unwrap();
                    fs::rename(&next, w.join("a")).unwrap();
                }
                symlink("../out/secret.txt", &next).unwrap();
                fs::rename(&next, w.join("f")).unwrap();
                fs::write(&next, "inside").unwrap();
                fs::rename(&next, w.join("f")).unwrap();
            }
        });
        let _stopping = Stopping(&stop);
        work();
    });
}

#[test]
fn symlink_swapped_during_read_never_escapes_workspace() {
    let (folder, stage) = beside();
    while_swapping(&folder, || {
        for turn in 0..4000 {
            let path = ["a/secret.txt", "f"][turn % 2];
            match stage.run("fs.read", json!({"path": path})).result {
                Ok(output) => assert_eq!(output.structured.unwrap()["content"], json!("inside")),
                Err(failure) => assert_refused(&failure),
            }
        }
    });
}

/// The path leads out, or became a symlink between the check and the use.
fn assert_refused(failure: &haft_driver::Failure) {
    let codes = [Code::SandboxViolation, Code::InputValue];
    assert!(codes.contains(&failure.stop.code), "{failure:?}");
}

#[test]
fn symlink_swapped_during_write_never_escapes_workspace() {
    let (folder, stage) = beside();
    while_swapping(&folder, || {
        for turn in 0..200 {
            let mode = ["replace", "append"][turn / 4 % 2];
            let path = ["a/secret.txt", "a/new.txt", "a/deep/er.txt", "f"][turn % 4];
            let input = json!({"path": path, "content": "inside", "mode": mode});
            if let Err(failure) = stage.run("fs.write", input).result {
                assert_refused(&failure);
            }
        }
    });
    let out: Vec<_> = fs::read_dir(folder.path().join("out")).unwrap().collect();
    assert_eq!((out.len(), folder.read("out/secret.txt").as_str()), (1, SECRET));
}
