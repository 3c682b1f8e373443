//! Ledger benchmark: appends to a store on disk, and reads its lists when they are long.
//!
//! `cargo bench -p haft-ledger --bench append`. Disks differ and are shared, so every figure stands
//! beside a ratio to what the same disk does in the same run: writing the same bytes to a file and
//! syncing it. `HAFT_BENCH_RUNS` sets how many calls the lists are read from.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot set itself up should stop")]

#[path = "../tests/it/sample.rs"]
#[allow(dead_code, unreachable_pub, reason = "the tests use more of it")]
mod sample;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_ledger::{
    Draft, MemoryStore, RunFilter, SqliteOptions, SqliteStore, Store, UseFilter, Wait,
};
use haft_model::Status;
use sample::{at, id, whole};

const QUEUED: u64 = 20_000;
const CALLERS: u64 = 64;
const EACH: u64 = 300;

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    println!("one entry is a whole call: {} bytes, 12 facts", line_length().await);
    let sync = fsync(&folder.path().join("plain"));
    println!("write 4 KiB and wait for the disk: {:.0}/s", 1.0 / sync);
    memory().await;
    queued(folder.path()).await;
    durable(folder.path(), 1, sync).await;
    durable(folder.path(), CALLERS, sync).await;
    lists(folder.path()).await;
}

async fn line_length() -> usize {
    let store = MemoryStore::new();
    store.append(whole(1, 0), Wait::Disk).await.unwrap();
    store.entries(None, 1).await.unwrap().iter().map(|entry| entry.line.len()).sum()
}

/// Seconds for a small durable write without a store.
fn fsync(path: &Path) -> f64 {
    let mut file = File::create(path).unwrap();
    let begin = Instant::now();
    let mut times = 0;
    while begin.elapsed() < Duration::from_secs(2) {
        file.write_all(&[7; 4096]).unwrap();
        file.sync_data().unwrap();
        times += 1;
    }
    begin.elapsed().as_secs_f64() / f64::from(times)
}

fn drafts(from: u64, count: u64) -> Vec<Draft> {
    (from..from + count).map(|number| whole(number, number as i64)).collect()
}

fn report(what: &str, count: u64, took: Duration) -> f64 {
    let rate = count as f64 / took.as_secs_f64();
    println!("{what}: {rate:.0}/s, {:.1} µs each", 1e6 / rate);
    rate
}

/// Cost of building an entry without a disk: the median, because the machine is shared.
async fn memory() {
    let store = MemoryStore::new();
    let mut each = Vec::new();
    for number in 0..QUEUED {
        let draft = whole(number, number as i64);
        let begin = Instant::now();
        store.append(draft, Wait::Queue).await.unwrap();
        each.push(begin.elapsed());
    }
    each.sort_unstable();
    let median = each.get(each.len() / 2).copied().unwrap_or_default();
    println!("in memory: {median:.1?} each");
}

async fn queued(folder: &Path) {
    let store = SqliteStore::open(SqliteOptions::at(folder.join("queued"))).unwrap();
    let drafts = drafts(0, QUEUED);
    let begin = Instant::now();
    for draft in drafts {
        store.append(draft, Wait::Queue).await.unwrap();
    }
    store.flush().await.unwrap();
    report("on disk, queued by one caller, flushed at the end", QUEUED, begin.elapsed());
    store.close().await.unwrap();
}

async fn durable(folder: &Path, callers: u64, sync: f64) {
    let place = folder.join(format!("durable-{callers}"));
    let store = Arc::new(SqliteStore::open(SqliteOptions::at(place)).unwrap());
    let all: Vec<_> = (0..callers).map(|caller| drafts(caller * EACH, EACH)).collect();
    let begin = Instant::now();
    let tasks: Vec<_> = all
        .into_iter()
        .map(|drafts| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut slowest = Duration::ZERO;
                for draft in drafts {
                    let begin = Instant::now();
                    store.append(draft, Wait::Disk).await.unwrap();
                    slowest = slowest.max(begin.elapsed());
                }
                slowest
            })
        })
        .collect();
    let mut slowest = Duration::ZERO;
    for task in tasks {
        slowest = slowest.max(task.await.unwrap());
    }
    let what = format!("on disk, {callers} callers who wait for the disk");
    let rate = report(&what, callers * EACH, begin.elapsed());
    println!("  ratio to the plain write {:.2}, slowest {slowest:.1?}", rate * sync);
}

async fn lists(folder: &Path) {
    let count = std::env::var("HAFT_BENCH_RUNS").ok().and_then(|it| it.parse().ok());
    let count: u64 = count.unwrap_or(50_000);
    let store = SqliteStore::open(SqliteOptions::at(folder.join("lists"))).unwrap();
    for number in 0..count {
        let mut draft = whole(number, number as i64);
        draft.facts.drain(2..11);
        draft.blobs.clear();
        store.append(draft, Wait::Queue).await.unwrap();
    }
    store.flush().await.unwrap();
    println!("lists of {count} calls:");
    let text = |text: &str| Some(text.to_owned());
    let any = RunFilter::default;
    for (what, filter) in [
        ("newest", any()),
        ("a page in the middle", RunFilter { before: Some(id(count / 2)), ..any() }),
        ("of a tool", RunFilter { tool: text("shop.charge"), ..any() }),
        ("of an actor nobody knows", RunFilter { actor: text("agent:none"), ..any() }),
        ("open", RunFilter { open: true, ..any() }),
        ("failed", RunFilter { status: vec![Status::Failed, Status::Denied], ..any() }),
        ("unknown effects", RunFilter { unknown: true, ..any() }),
    ] {
        let begin = Instant::now();
        let found = store.runs(&filter).await.unwrap().len();
        println!("  {what:<26} {found:>3} runs in {:.2?}", begin.elapsed());
    }
    let begin = Instant::now();
    let found = store.story(&id(count / 3)).await.unwrap().len();
    println!("  {:<26} {found:>3} entries in {:.2?}", "a story", begin.elapsed());
    let since = at(count as i64 - 10_000);
    let filter = UseFilter { after: None, since, actor: text("agent:ana"), tenant: None };
    let begin = Instant::now();
    let found = store.uses(&filter).await.unwrap().len();
    println!("  {:<26} {found} in {:.2?}", "uses", begin.elapsed());
    store.close().await.unwrap();
}
