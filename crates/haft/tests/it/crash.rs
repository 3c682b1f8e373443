//! Crash tests: a process killed at any write of an approved call loses nothing and runs nothing
//! twice.
//!
//! The test starts itself again as a child whose store kills the process at the n-th write, before
//! or after it, and then looks at what the next process makes of it.

mod dying;
mod load;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use haft::{Host, HostOptions, StoreChoice};
use haft_ledger::{QuestionFilter, RunFilter, SqliteStore, verify_store};
use haft_model::{Call, EffectState, QuestionState, Status};
use haft_runtime::{CallOptions, Options, Patience, Reply};
use haft_testkit::Folder;
use serde_json::json;

use crate::meddled::MeddledStore;
use dying::{Killer, When};

/// More writes than a call makes: beyond the last one nothing is killed and everything succeeds.
const MOST_WRITES: usize = 14;

/// What a child is told.
const ORDERS: &str = "HAFT_TEST_CHILD";

#[test]
fn call_killed_while_asking_is_neither_lost_nor_duplicated() {
    every_death("ask");
}

#[test]
fn call_killed_during_approval_or_run_is_not_duplicated() {
    every_death("approve");
}

/// Not a test of its own: what a child does when it is told to.
#[test]
fn child() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let orders: Vec<&str> = orders.split('|').collect();
    let [folder, step, at, when] = orders.as_slice() else { panic!("{orders:?}") };
    if *step == "live" {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        return runtime.block_on(load::live(Path::new(folder), at.parse().unwrap()));
    }
    let when = if *when == "before" { When::Before } else { When::After };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(act(Path::new(folder), step, at.parse().unwrap(), when));
}

/// Kills a step of the story at each of its writes in turn.
fn every_death(step: &str) {
    for when in ["before", "after"] {
        for at in 1..=MOST_WRITES {
            let folder = Folder::new().file("haft.toml", "[workspace]\nname = \"crash\"\n");
            if step == "approve" {
                start(&folder, "ask", 0, when);
            }
            start(&folder, step, at, when);
            start(&folder, "settle", 0, when);
            let what = format!("killed {when} write {at} of {step}");
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(check(&folder, &what, step == "approve"));
        }
    }
}

fn start(folder: &Folder, step: &str, at: usize, when: &str) {
    let orders = format!("{}|{step}|{at}|{when}", folder.path().display());
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--test-threads", "1"])
        .env(ORDERS, orders)
        .output()
        .unwrap();
    let died = !child.status.success();
    assert!(!died || at > 0, "{step}: {}", String::from_utf8_lossy(&child.stdout));
}

fn open(folder: &Path, at: usize, when: When) -> Host {
    let workspace = haft::Workspace::load(folder, haft::LoadOptions::default()).unwrap();
    let store = SqliteStore::open(workspace.store_files().unwrap()).unwrap();
    let options = HostOptions {
        store: StoreChoice::Given(Arc::new(MeddledStore::new(
            Arc::new(store),
            Killer::new(at, when),
        ))),
        runtime: Options {
            lease: Duration::from_millis(200),
            look: Duration::from_millis(10),
            ..Options::default()
        },
        ..HostOptions::default()
    };
    Host::open(folder, options).unwrap()
}

async fn act(folder: &Path, step: &str, at: usize, when: When) {
    let host = open(folder, at, when);
    match step {
        "ask" => {
            let input = json!({"path": "log.txt", "content": "once\n", "mode": "append"});
            let call = Call::new(host.actor("agent:crash"), "fs.write", input);
            let manner = CallOptions { patience: Patience::Leave, ..CallOptions::default() };
            host.runtime().call(call, manner).await;
        }
        "approve" => approve(&host).await,
        "settle" => {
            // The next process recovers the call once the dead one's lease expires, then its inbox.
            tokio::time::sleep(Duration::from_millis(250)).await;
            host.runtime().recover().await.unwrap();
            approve(&host).await;
        }
        other => panic!("{other}"),
    }
    host.flush().await.unwrap();
}

/// Says yes to whatever is open.
async fn approve(host: &Host) {
    let filter = QuestionFilter { open: true, ..QuestionFilter::default() };
    for record in host.runtime().questions(&filter).await.unwrap() {
        assert_eq!(record.state, QuestionState::Open);
        let reply = Reply {
            by: host.owner("ana"),
            approves: true,
            reason: None,
            edited_input: None,
            content: None,
            always: false,
            channel: "inbox".into(),
        };
        if record.answers.is_empty() {
            host.runtime().answer_and_run(&record.question.id, reply).await.unwrap();
        }
    }
}

/// What has to hold at the end, wherever the process died.
async fn check(folder: &Folder, what: &str, was_asked: bool) {
    let host = open(folder.path(), 0, When::Before);
    let runs = host.reader().runs(&RunFilter::default()).await.unwrap();
    assert!(runs.len() <= 1, "{what}: {runs:?}");
    assert!(!was_asked || runs.len() == 1, "{what}: the call was lost");
    let written = std::fs::read_to_string(folder.path().join("log.txt")).unwrap_or_default();
    let lines = written.lines().count();
    for run in &runs {
        match (run.status, run.effect_state) {
            (Status::Succeeded, EffectState::Committed) => assert_eq!(lines, 1, "{what}"),
            (Status::Failed, EffectState::Unknown) => assert!(lines <= 1, "{what}"),
            (Status::Failed, EffectState::None | EffectState::NotSubmitted) => {
                assert_eq!(lines, 0, "{what}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
    if runs.is_empty() {
        assert_eq!(lines, 0, "{what}");
    }
    let files = host.workspace().store_files().unwrap();
    drop(host);
    let verified = verify_store(&files);
    assert!(verified.findings.is_empty(), "{what}: {:?}", verified.findings);
}
