//! Outage conformance: accepted entries survive a store that is down, and withdrawn ones are never
//! written.

use std::time::{Duration, Instant};

use haft_ledger::{Error, SqliteOptions, SqliteStore, Store, Wait};
use haft_testkit::Folder;
use rusqlite::Connection;

use crate::conformance::cases::all;
use crate::conformance::damage::sound;
use crate::sample::*;

/// A store, and a connection of a foreign program.
fn opened(folder: &Folder) -> (SqliteStore, Connection) {
    let options = SqliteOptions::at(folder.path());
    let store = SqliteStore::open(options.clone()).unwrap();
    (store, Connection::open(options.db).unwrap())
}

/// The invocations of all entries, in order.
async fn invocations(store: &SqliteStore) -> Vec<String> {
    let entries = all(store).await;
    let of = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["metadata"]["haft"]["invocation"].as_str().unwrap().to_owned()
    };
    entries.iter().map(|entry| of(&entry.line)).collect()
}

fn cause(fault: &Error) -> &str {
    match fault {
        Error::Unwritable { cause } => cause,
        other => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accepted_entries_outlast_an_outage_in_order() {
    let folder = Folder::new();
    let (store, other) = opened(&folder);
    store.append(whole(1, 0), Wait::Disk).await.unwrap();
    other.execute_batch("ALTER TABLE entries RENAME TO elsewhere").unwrap();

    // A read is answered before the failure is known, and counted afterwards.
    store.append(whole(2, 0), Wait::Queue).await.unwrap();
    assert!(store.flush().await.is_err());
    assert_eq!((store.health().is_up(), store.health().pending()), (false, 1));
    store.append(whole(3, 0), Wait::Queue).await.unwrap();
    let refused = store.append(whole(4, 0), Wait::Disk).await.unwrap_err();
    let outage = store.health().outage().unwrap();
    assert_eq!((cause(&refused), store.health().pending()), (outage.cause.as_str(), 2));
    assert!(store.probe().await.is_err());

    other.execute_batch("ALTER TABLE elsewhere RENAME TO entries").unwrap();
    store.flush().await.unwrap();
    assert_eq!((store.health().outage(), store.health().pending()), (None, 0));
    assert_eq!(store.health().lost(), 0);
    store.append(whole(5, 0), Wait::Disk).await.unwrap();
    let kept = [1, 2, 3, 5].map(|number| id(number).to_string());
    assert_eq!(invocations(&store).await, kept);
    drop(other);
    store.close().await.unwrap();
    sound(&SqliteOptions::at(folder.path()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outage_ends_by_itself() {
    let folder = Folder::new();
    let (store, other) = opened(&folder);
    let mut changes = store.health().changes();
    other.execute_batch("ALTER TABLE entries RENAME TO elsewhere").unwrap();
    assert!(store.append(whole(1, 0), Wait::Disk).await.is_err());
    other.execute_batch("ALTER TABLE elsewhere RENAME TO entries").unwrap();
    let up = changes.wait_for(Option::is_none);
    tokio::time::timeout(Duration::from_secs(60), up).await.unwrap().unwrap();
    store.append(whole(2, 0), Wait::Disk).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accepted_entries_that_are_never_written_count_as_lost() {
    let folder = Folder::new();
    let (store, other) = opened(&folder);
    other.execute_batch("ALTER TABLE entries RENAME TO elsewhere").unwrap();
    store.append(whole(1, 0), Wait::Queue).await.unwrap();
    assert!(store.close().await.is_err(), "closing does not hide it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entry_at_fault_is_given_up_alone() {
    let folder = Folder::new();
    let (store, other) = opened(&folder);
    let trigger = format!(
        "CREATE TRIGGER picky BEFORE INSERT ON entries WHEN NEW.invocation = '{}'
         BEGIN SELECT RAISE(ABORT, 'not that one'); END",
        id(2)
    );
    other.execute_batch(&trigger).unwrap();
    for number in 1..=3 {
        store.append(whole(number, 0), Wait::Queue).await.unwrap();
    }
    let flushed = store.flush().await.unwrap_err();
    assert!(cause(&flushed).contains("not that one"), "{flushed}");
    assert_eq!((store.health().is_up(), store.health().lost()), (true, 1));
    assert_eq!(invocations(&store).await, [1, 3].map(|number| id(number).to_string()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locked_store_never_writes_what_was_withdrawn() {
    let folder = Folder::new();
    let (store, other) = opened(&folder);
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let soon = || Instant::now() + Duration::from_millis(100);
    // The caller of the withdrawn one learns that it is not written; the other may still be.
    let withdrawn = store.append(whole(1, 0), Wait::Until(soon()));
    let left = store.append(whole(2, 0), Wait::Disk);
    let left = tokio::time::timeout(Duration::from_millis(100), left);
    let (withdrawn, left) = tokio::join!(withdrawn, left);
    assert!(cause(&withdrawn.unwrap_err()).contains("in time"));
    assert!(left.is_err(), "it waits");
    other.execute_batch("ROLLBACK").unwrap();
    store.append(whole(3, 0), Wait::Until(Instant::now() + Duration::from_secs(60))).await.unwrap();
    assert_eq!(invocations(&store).await, [2, 3].map(|number| id(number).to_string()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleted_store_takes_nothing_and_is_not_made_again() {
    for beside in [false, true] {
        let folder = Folder::new();
        let options = SqliteOptions::at(folder.path());
        let store = SqliteStore::open(options.clone()).unwrap();
        store.append(whole(1, 0), Wait::Disk).await.unwrap();
        std::fs::remove_file(&options.db).unwrap();
        if beside {
            std::fs::write(&options.db, "another file").unwrap();
        }
        store.append(whole(2, 0), Wait::Queue).await.unwrap();
        assert!(store.flush().await.is_err());
        let refused = store.append(whole(3, 0), Wait::Disk).await.unwrap_err();
        let words = if beside { "another file was put in its place" } else { "it was deleted" };
        assert!(cause(&refused).contains(words), "{refused}");
        assert!(!store.health().is_up());
        drop(store);
        let there = std::fs::read(&options.db).ok();
        assert_eq!(there, beside.then(|| b"another file".to_vec()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn store_that_was_moved_away_and_back_works_again() {
    let folder = Folder::new();
    let options = SqliteOptions::at(folder.path());
    let store = SqliteStore::open(options.clone()).unwrap();
    store.append(whole(1, 0), Wait::Disk).await.unwrap();
    let away = folder.path().join("away.db");
    std::fs::rename(&options.db, &away).unwrap();
    store.append(whole(2, 0), Wait::Queue).await.unwrap();
    assert!(store.flush().await.is_err());
    std::fs::rename(&away, &options.db).unwrap();
    store.flush().await.unwrap();
    assert_eq!(invocations(&store).await, [1, 2].map(|number| id(number).to_string()));
}
