//! Store identity tests: a missing, replaced or restored store does not pass for a new one.

use std::fs;
use std::path::Path;

use haft_testkit::Folder;
use serde_json::Value;

use crate::stage::{command, done, finished, json, run, started};

fn workspace() -> Folder {
    Folder::new().file("haft.toml", "[workspace]\nname = \"shop\"\n")
}

/// The exit code, and all that was said.
fn said(folder: &Folder, line: &str) -> (i32, String) {
    let ran = run(folder, line);
    let text = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (ran.status.code().unwrap(), text)
}

/// Runs a command that must not go on without the store, and says why.
#[track_caller]
fn refused(folder: &Folder, line: &str, why: &str) {
    let (exit, text) = said(folder, line);
    assert_eq!(exit, 1, "haft {line}: {text}");
    assert!(text.contains(why) && text.contains("haft store new --accept-loss"), "{text}");
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copied(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

#[test]
fn deleted_store_is_refused_until_its_loss_is_accepted() {
    let folder = workspace();
    // Nothing was lost where there was nothing.
    done(&folder, "runs");
    done(&folder, "call time.now");
    fs::remove_dir_all(folder.path().join(".haft")).unwrap();
    for line in ["call time.now", "runs", "events", "audit export --output out", "audit rebuild"] {
        refused(&folder, line, "is missing, and this machine remembers one since");
        assert!(!folder.path().join(".haft/haft.db").exists(), "haft {line} made a new one");
    }
    let (exit, doctor) = said(&folder, "doctor");
    assert_eq!(exit, 1);
    assert!(doctor.contains("haft store new --accept-loss"), "{doctor}");
    assert_eq!(run(&folder, "audit verify").status.code(), Some(1));
    assert_eq!(run(&folder, "store new").status.code(), Some(2), "nobody accepts by mistake");

    done(&folder, "store new --accept-loss");
    done(&folder, "call time.now");
    done(&folder, "audit verify");
    let (_, events) = said(&folder, "events --json");
    assert!(events.contains("user:ana accepts the loss"), "{events}");
    let (exit, again) = said(&folder, "store new --accept-loss");
    assert_eq!(exit, 1);
    assert!(again.contains("nothing is lost"), "{again}");
}

#[test]
fn replaced_store_is_refused_and_its_workspace_may_move() {
    let [folder, other] = [workspace(), workspace()];
    for one in [&folder, &other] {
        done(one, "call time.now");
    }
    // The store moves along with its workspace, and another clone begins anew.
    let moved = Folder::new();
    copied(folder.path(), moved.path());
    done(&moved, "call time.now");
    done(&workspace(), "call time.now");

    fs::remove_dir_all(folder.path().join(".haft")).unwrap();
    copied(&other.path().join(".haft"), &folder.path().join(".haft"));
    refused(&folder, "call time.now", "is not the one that this machine remembers");
    let (exit, found) = json(&folder, "audit verify --json");
    assert_eq!((exit, found["findings"][0]["code"].as_str()), (1, Some("store.replaced")));
    done(&folder, "store new --accept-loss");
    done(&folder, "call time.now");
}

#[test]
fn older_copy_of_a_store_is_told_by_verify() {
    let folder = workspace();
    done(&folder, "call time.now");
    let backup = Folder::new();
    copied(&folder.path().join(".haft"), backup.path());
    done(&folder, "call time.now");
    let (exit, whole) = json(&folder, "audit verify --json");
    assert_eq!(exit, 0, "{whole}");
    fs::remove_dir_all(folder.path().join(".haft")).unwrap();
    copied(backup.path(), &folder.path().join(".haft"));

    let codes = |found: &Value| found["findings"][0]["code"].as_str().map(str::to_owned);
    let (exit, found) = json(&folder, "audit verify --json");
    assert_eq!((exit, codes(&found).as_deref()), (1, Some("chain.rolled_back")));
    done(&folder, "store new --accept-loss");
    done(&folder, "audit verify");

    // An auditor who holds an earlier checkpoint and a key detects it anywhere.
    let key = whole["keys"][0].as_str().unwrap();
    let out = folder.path().join("out").display().to_string();
    done(&folder, &format!("audit export --output {out}"));
    done(&folder, &format!("audit verify {out} --key {key}"));
    let head = format!("999:{}", "0".repeat(64));
    for pin in [format!("--head {head}"), format!("--key {}", "0".repeat(64))] {
        let line = format!("audit verify {out} {pin}");
        assert_eq!(run(&folder, &line).status.code(), Some(1), "{line}");
    }
}

#[test]
fn unwritable_state_folder_is_a_warning_of_doctor() {
    let folder = workspace();
    let line = |line: &str| {
        let mut command = command(&folder, line);
        command.env("XDG_STATE_HOME", "/dev/null/nowhere");
        finished(started(command), line)
    };
    assert!(line("call time.now").status.success());
    let doctor = String::from_utf8(line("doctor").stdout).unwrap();
    assert!(doctor.contains("nothing remembers it"), "{doctor}");
    // haft.toml may name a file of its own.
    let own = "[workspace]\nname = \"shop\"\n[store]\nidentity_file = \".config/store.json\"\n";
    let folder = Folder::new().file("haft.toml", own);
    done(&folder, "call time.now");
    assert!(folder.path().join(".config/store.json").is_file());
    fs::remove_dir_all(folder.path().join(".haft")).unwrap();
    refused(&folder, "call time.now", "is missing");
}

#[test]
fn log_cut_before_any_verify_is_told() {
    let folder = workspace();
    done(&folder, "call time.now");
    let backup = Folder::new();
    copied(&folder.path().join(".haft"), backup.path());
    done(&folder, "call time.now");
    fs::remove_dir_all(folder.path().join(".haft")).unwrap();
    copied(backup.path(), &folder.path().join(".haft"));
    let rolled_back = || {
        let (exit, found) = json(&folder, "audit verify --json");
        (exit, found["findings"][0]["code"].as_str().map(str::to_owned))
    };
    assert_eq!(rolled_back(), (1, Some("chain.rolled_back".to_owned())));
    // A log that grows again, and is exported, does not cover the traces.
    for _ in 0..3 {
        done(&folder, "call time.now");
    }
    done(&folder, &format!("audit export --output {}", folder.path().join("out").display()));
    assert_eq!(rolled_back(), (1, Some("chain.rolled_back".to_owned())));
}

#[test]
fn second_signing_key_is_told_until_it_is_pinned() {
    let folder = workspace();
    done(&folder, "call time.now");
    let (_, first) = json(&folder, "audit verify --json");
    fs::remove_file(folder.path().join(".haft/audit.key")).unwrap();
    done(&folder, "call time.now");
    let (exit, found) = json(&folder, "audit verify --json");
    let findings = found["findings"].as_array().unwrap().iter();
    let codes: Vec<_> = findings.filter_map(|one| one["code"].as_str()).collect();
    assert_eq!((exit, codes), (1, vec!["key.foreign", "key.changed"]), "{found:#}");
    let keys = found["keys"].as_array().unwrap().iter().filter_map(Value::as_str);
    let [second] = keys.filter(|key| *key != first["keys"][0]).collect::<Vec<_>>()[..] else {
        panic!("{found:#}");
    };
    done(&folder, &format!("audit verify --key {second}"));
    // It was accepted for good.
    done(&folder, "audit verify");
}

#[test]
fn damaged_memo_is_refused_and_not_taken_for_none() {
    let file = ".config/store.json";
    let own = format!("[workspace]\nname = \"shop\"\n[store]\nidentity_file = \"{file}\"\n");
    let folder = Folder::new().file("haft.toml", own);
    let memo = folder.path().join(file);
    done(&folder, "call time.now");
    let kept = fs::read(&memo).unwrap();
    let damages: [&dyn Fn(); 4] = [
        &|| fs::write(&memo, "").unwrap(),
        &|| fs::write(&memo, &kept[..kept.len() / 2]).unwrap(),
        &|| fs::create_dir(&memo).unwrap(),
        &|| std::os::unix::fs::symlink("nowhere", &memo).unwrap(),
    ];
    for (number, damage) in damages.iter().enumerate() {
        match memo.is_dir() {
            true => fs::remove_dir(&memo).unwrap(),
            false => fs::remove_file(&memo).unwrap(),
        }
        damage();
        // With the store and without it.
        refused(&folder, "call time.now", "cannot be read");
        let aside = folder.path().join("aside");
        fs::rename(folder.path().join(".haft"), &aside).unwrap();
        for line in ["call time.now", "runs"] {
            refused(&folder, line, "cannot be read");
            let made = folder.path().join(".haft/haft.db").exists();
            assert!(!made, "{number}: haft {line} made a store");
        }
        drop(fs::remove_dir_all(folder.path().join(".haft")));
        fs::rename(&aside, folder.path().join(".haft")).unwrap();
    }
    fs::remove_file(&memo).unwrap();
    fs::write(&memo, "{").unwrap();
    done(&folder, "store new --accept-loss");
    done(&folder, "call time.now");
}
