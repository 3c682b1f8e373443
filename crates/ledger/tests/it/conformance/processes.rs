//! Multi-process conformance: several stores, and several processes, over one folder.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use haft_ledger::{Guard, SqliteOptions, SqliteStore, Store, Wait};
use haft_testkit::Folder;

use crate::conformance::cases::{add, all, assert_chained};
use crate::conformance::damage::sound;
use crate::sample::*;

/// Variable with the folder of a child process. A test that sees it plays the child.
const FOLDER: &str = "HAFT_LEDGER_TEST_FOLDER";

/// Starts this test again in a process of its own.
fn another(test: &str, folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn assigned() -> Option<SqliteOptions> {
    std::env::var_os(FOLDER).map(SqliteOptions::at)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_in_one_process_share_one_chain() {
    let folder = Folder::new();
    let options = SqliteOptions::at(folder.path());
    let [one, two] = [(); 2].map(|()| SqliteStore::open(options.clone()).unwrap());
    let write = async |store: &SqliteStore, from: u64| {
        for number in from..from + 100 {
            let wait = if number % 3 == 0 { Wait::Queue } else { Wait::Disk };
            store.append(whole(number, 0), wait).await.unwrap();
        }
        store.flush().await.unwrap();
    };
    tokio::join!(write(&one, 0), write(&two, 1000));
    assert_eq!(all(&one).await.len(), 200);
    assert_chained(&all(&two).await);

    // Each sees the other's entries, and neither gets the other's lease.
    let (heard, _) = tokio::join!(
        one.wait_past(Some(199), Duration::from_secs(60)),
        add(&two, beginning(5000, 0)),
    );
    assert_eq!(heard.unwrap(), Some(200));
    let fence = one.lease(&id(5000), "one", at(0).into(), at(100).into()).await.unwrap().unwrap();
    assert_eq!(two.lease(&id(5000), "two", at(0).into(), at(100).into()).await.unwrap(), None);
    let taken = two.lease(&id(5000), "two", at(100).into(), at(200).into()).await.unwrap().unwrap();
    assert!(taken.0 > fence.0);
    let mut late = end(5000, 50);
    late.guards = vec![Guard::Fence(fence.0)];
    assert!(one.append(late, Wait::Disk).await.is_err());
    one.close().await.unwrap();
    two.close().await.unwrap();
    assert_eq!(sound(&options).entries, 201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_share_one_chain_and_lose_nothing() {
    if let Some(options) = assigned() {
        let store = SqliteStore::open(options).unwrap();
        let mine = u64::from(std::process::id()) * 1000;
        for number in 0..500 {
            let seq = add(&store, whole(mine + number, 0)).await;
            println!("\nwrote {seq}");
        }
        store.close().await.unwrap();
        return;
    }
    let folder = Folder::new();
    let test = "conformance::processes::two_processes_share_one_chain_and_lose_nothing";
    let children = [(); 2].map(|()| another(test, folder.path()));
    let mut seqs = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        seqs.extend(written(String::from_utf8(output.stdout).unwrap().lines()));
    }
    seqs.sort_unstable();
    assert_eq!(seqs, (0..1000).collect::<Vec<_>>());
    let options = SqliteOptions::at(folder.path());
    assert_eq!(sound(&options).entries, 1000);
    let store = SqliteStore::open(options).unwrap();
    assert_chained(&all(&store).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_process_loses_no_acknowledged_entry() {
    if let Some(options) = assigned() {
        let store = SqliteStore::open(options).unwrap();
        for number in 0..1_000_000 {
            // Some payloads are large, so that files are written as well.
            let mut call = whole(number, 0);
            if number % 10 == 0 {
                call.blobs.push(blob(&format!("{number} ").repeat(20_000), number % 20 == 0));
            }
            println!("\nwrote {}", add(&store, call).await);
        }
        return;
    }
    let folder = Folder::new();
    let test = "conformance::processes::killed_process_loses_no_acknowledged_entry";
    for round in 1..=3 {
        let mut child = another(test, folder.path());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut seqs: Vec<_> =
            lines.by_ref().filter_map(|line| seq(&line)).take(60 * round).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        seqs.extend(lines.filter_map(|line| seq(&line)));
        let options = SqliteOptions::at(folder.path());
        let entries = sound(&options).entries;
        assert!(
            seqs.iter().all(|seq| *seq < entries),
            "{entries} entries, and not all of {seqs:?}"
        );
        let store = SqliteStore::open(options).unwrap();
        assert_chained(&all(&store).await);
        add(&store, whole(round as u64 + 2_000_000, 0)).await;
    }
}

fn seq(line: &str) -> Option<u64> {
    line.strip_prefix("wrote ").and_then(|seq| seq.parse().ok())
}

fn written<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<u64> {
    lines.filter_map(seq).collect()
}
