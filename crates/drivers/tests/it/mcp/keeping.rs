//! Tests of pooled servers: started once, shared by calls with the same sandbox, never left behind.

use std::time::{Duration, Instant};

use haft_driver::Cancel;
use haft_model::{Code, Content, EffectState, Tri};
use serde_json::json;

use crate::mcp::stage::Stage;

#[test]
fn a_server_is_started_once_for_many_calls() {
    let mut stage = Stage::reading("journal", &[]);
    stage.run(json!({})).output();
    let expected = [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/list",
        "tools/call",
        "tools/call",
    ];
    assert_eq!(stage.journal(), expected);
}

#[test]
fn read_only_tool_never_runs_in_writable_process() {
    let mut stage = Stage::writing("add", &[]);
    stage.run(json!({"line": 1})).output();
    assert_eq!(stage.effects(), 1);
    stage.read_only = Tri::Yes;
    let failure = stage.run(json!({"line": 2})).failure();
    assert_eq!(failure.stop.message, "`add` failed: Read-only file system (os error 30)");
    assert_eq!(stage.effects(), 1);
}

/// The pooled process outlives a call, so it is inspected after each call.
#[test]
fn server_writing_governing_file_is_killed_and_file_quarantined() {
    let mut stage = Stage::writing("add", &[]);
    stage.run(json!({"line": 1})).output();
    let fate = stage.run(json!({"line": 2, "also": ".cli/p/CLI.md"})).fate();
    assert_eq!(fate, (Code::SandboxViolation, EffectState::Committed, 1));
    assert!(!stage.folder.path().join(".cli").exists());
    let kept = std::fs::read_dir(stage.folder.path().join(".haft/quarantine")).unwrap();
    let kept: Vec<_> = kept.map(|run| run.unwrap().path().join(".cli/p/CLI.md")).collect();
    assert!(kept.iter().all(|path| path.exists()) && kept.len() == 1, "{kept:?}");
    let before = Instant::now();
    while stage.run(json!({"line": 3})).result.is_err() {
        assert!(before.elapsed() < Duration::from_secs(5), "it is left alone for a moment");
    }
    assert_eq!(stage.effects(), 3);
}

/// A person accepts between two calls: the lock file stays as they wrote it.
#[test]
fn kept_server_cannot_write_lock_after_acceptance() {
    let mut stage = Stage::writing("add", &[]);
    let root = std::fs::canonicalize(stage.folder.path()).unwrap();
    std::fs::write(root.join("haft.lock"), "before").unwrap();
    stage.run(json!({"line": 1})).output();
    haft_sandbox::write_rule(&root, "haft.lock", b"accepted").unwrap();
    stage.run(json!({"line": 2, "also": "haft.lock"})).failure();
    assert_eq!(stage.folder.read("haft.lock"), "accepted");
}

/// An editor saves the settings between two calls: the next call gets a process that cannot write
/// them.
#[test]
fn kept_server_is_renewed_after_settings_were_replaced() {
    let mut stage = Stage::writing("add", &[]);
    let root = stage.folder.path().to_owned();
    std::fs::write(root.join("haft.toml"), "before").unwrap();
    stage.run(json!({"line": 1})).output();
    std::fs::write(root.join("beside"), "of a person").unwrap();
    std::fs::rename(root.join("beside"), root.join("haft.toml")).unwrap();
    stage.run(json!({"line": 2})).output();
    stage.run(json!({"line": 3, "also": "haft.toml"})).failure();
    assert_eq!(stage.folder.read("haft.toml"), "of a person");
}

/// git rewrites its configuration between two calls: what the server could write is restored.
#[test]
fn call_after_replaced_git_config_is_refused_once() {
    let mut stage = Stage::writing("add", &[]);
    let root = stage.folder.path().to_owned();
    std::fs::create_dir(root.join(".git")).unwrap();
    std::fs::write(root.join(".git/config"), "before").unwrap();
    stage.run(json!({"line": 1})).output();
    std::fs::write(root.join("beside"), "other").unwrap();
    std::fs::rename(root.join("beside"), root.join(".git/config")).unwrap();
    let fate = stage.run(json!({"line": 2})).fate();
    assert_eq!(fate, (Code::SandboxViolation, EffectState::NotSubmitted, 0));
    assert_eq!(stage.folder.read(".git/config"), "before");
    stage.run(json!({"line": 3})).output();
    assert_eq!(stage.effects(), 2);
}

#[test]
fn a_server_that_ended_is_started_again() {
    let mut stage = Stage::writing("add", &[]);
    let fate = stage.run(json!({"line": 1, "then": "leave"})).fate();
    assert_eq!(fate, (Code::DependencyUnavailable, EffectState::Unknown, 1));
    let before = Instant::now();
    while let Err(failure) = stage.run(json!({"line": 2})).result {
        // The pool backs off for a moment.
        assert_eq!(failure.effect, EffectState::NotSubmitted);
        assert!(before.elapsed() < Duration::from_secs(5));
    }
    assert_eq!(stage.effects(), 2);
}

#[test]
fn a_server_that_cannot_begin_says_why() {
    let mut stage = Stage::reading("echo", &["stillborn"]);
    let failure = stage.run(json!({"text": ""})).failure();
    let words =
        "the server of driver `test` cannot be talked with, it ended with code 7: no such database";
    assert_eq!(
        (failure.stop.code, failure.stop.message.as_str()),
        (Code::DependencyUnavailable, words)
    );
    assert_eq!(failure.effect, EffectState::NotSubmitted);
    let mut stage = Stage::reading("echo", &[]);
    stage.manifest["server"]["path"] = json!("./no/such/program");
    let failure = stage.run(json!({"text": ""})).failure();
    assert_eq!(failure.stop.code, Code::SetupRequired, "{}", failure.stop.message);
}

#[test]
fn cancellation_reaches_the_server_which_keeps_running() {
    for era in ["legacy", "modern"] {
        let mut stage = Stage::writing("hang", &[era]);
        let cancel = Cancel::new();
        let mut submitted = || {
            let cancel = cancel.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(100));
                cancel.cancel();
            });
            Ok(())
        };
        let ended = stage.run_around(json!({}), &cancel, &mut submitted);
        assert_eq!(ended.fate(), (Code::CanceledCaller, EffectState::Unknown, 1));
        // The same process answers the next call, and has received the cancellation.
        let heard = stage.journal();
        let told = heard.iter().any(|heard| heard.starts_with("notifications/cancelled"));
        assert!(told, "{heard:?}");
    }
}

#[test]
fn released_server_leaves_no_process() {
    let mut stage = Stage::writing("env", &[]);
    stage.manifest["server"]["env"] = json!({"MARK": "here"});
    let output = stage.run(json!({"text": "MARK"})).output();
    assert_eq!(output.content, [Content::text("here")]);
    stage.let_go();
    let before = Instant::now();
    while running(stage.folder.path()) {
        assert!(before.elapsed() < Duration::from_secs(5), "it goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether any process has its working directory in a folder.
fn running(folder: &std::path::Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let folders =
        processes.filter_map(|process| std::fs::read_link(process.path().join("cwd")).ok());
    folders.into_iter().any(|cwd| cwd == folder)
}
