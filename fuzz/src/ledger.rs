//! Fuzz target for ledger recovery: a damaged store opens or refuses, and never verifies as another
//! log.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use haft_ledger::{Draft, SqliteOptions, SqliteStore, Store, Wait, verify_store};
use haft_model::{Event, Fact, Note, Timestamp};
use tempfile::TempDir;

/// The files of a process that died with its log in the write-ahead log, and the lines it had.
struct Crashed {
    folder: TempDir,
    lines: Vec<String>,
}

/// Damages a copy of a crashed store as the bytes say, opens it, and holds it against the undamaged one.
///
/// Each edit takes six bytes: the file, what to do with it, where (three bytes), and a value.
pub fn ledger_recovery(data: &[u8]) {
    let crashed = crashed();
    let Ok(copy) = tempfile::tempdir() else { return };
    let files = copied(crashed.folder.path(), copy.path());
    for edit in data.chunks_exact(6).take(64) {
        let [file, act, a, b, c, value] = *edit else { continue };
        if let Some(path) = files.get(file as usize % files.len().max(1)) {
            damage(path, act, u32::from_be_bytes([0, a, b, c]) as usize, value);
        }
    }
    let options = SqliteOptions::at(copy.path());
    let opened = SqliteStore::open(options.clone());
    let lines = opened.ok().and_then(|store| {
        let entries = runtime().block_on(store.entries(None, usize::MAX)).ok();
        let _ = runtime().block_on(store.close());
        entries.map(|entries| entries.into_iter().map(|entry| entry.line).collect::<Vec<_>>())
    });
    if !verify_store(&options).is_sound() {
        return;
    }
    if let Some(lines) = lines {
        assert!(
            crashed.lines.starts_with(&lines),
            "a log that verifies is a prefix of what was written"
        );
    }
}

fn damage(path: &Path, act: u8, at: usize, value: u8) {
    let Ok(mut bytes) = fs::read(path) else { return };
    let at = at % bytes.len().max(1);
    match (act % 4, bytes.get_mut(at)) {
        (0, Some(byte)) => *byte ^= value | 1,
        (1, _) => bytes.truncate(at),
        (2, Some(_)) => {
            let end = (at + usize::from(value)).min(bytes.len());
            bytes.iter_mut().take(end).skip(at).for_each(|byte| *byte = 0);
        }
        (3, Some(_)) => bytes.extend_from_within(at..),
        _ => {}
    }
    let _ = fs::write(path, bytes);
}

/// Copies a folder of files, and gives their new paths in the order of their names.
fn copied(from: &Path, to: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(from).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    let files = files.iter().filter(|path| path.is_file());
    let copies = files.filter_map(|path| {
        let copy = to.join(path.file_name()?);
        fs::copy(path, &copy).ok()?;
        // The index of the write-ahead log is made again by the next process: damage to it means nothing.
        (path.extension() != Some("db-shm".as_ref())).then_some(copy)
    });
    copies.collect()
}

#[expect(clippy::unwrap_used, reason = "a target that cannot write its store has failed")]
fn crashed() -> &'static Crashed {
    static CRASHED: OnceLock<Crashed> = OnceLock::new();
    CRASHED.get_or_init(|| {
        let live = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(SqliteOptions::at(live.path())).unwrap();
        runtime().block_on(async {
            for number in 0..12 {
                let at = Timestamp::from_millisecond(1_790_000_000_000 + number * 10).unwrap();
                let event = Event::Note(Note { text: format!("entry {number}") });
                let facts = vec![Fact { at, phases: Vec::new(), event }];
                store.append(Draft { facts, ..Draft::default() }, Wait::Disk).await.unwrap();
            }
        });
        let entries = runtime().block_on(store.entries(None, usize::MAX)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        copied(live.path(), folder.path());
        runtime().block_on(store.close()).unwrap();
        Crashed { folder, lines: entries.into_iter().map(|entry| entry.line).collect() }
    })
}

#[expect(clippy::unwrap_used, reason = "a target without an executor has failed")]
fn runtime() -> &'static tokio::runtime::Runtime {
    static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
    })
}
