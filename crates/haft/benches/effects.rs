//! Idempotency benchmark: the cost of at-most-once effects, and of recovery after a crash.
//!
//! `cargo bench -p haft --bench effects` prints figures and, because machines differ, ratios:
//! deduplicated writes against writes that are not, in the same run.

#![allow(clippy::expect_used, reason = "a benchmark that cannot set itself up should stop")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft::{Definitions, Host, HostOptions, LoadOptions, Tool, define_driver, schemars};
use haft_model::Call;
use haft_runtime::{CallOptions, Options};
use haft_testkit::{Folder, processor_time};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The allocator of the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many callers write together, how many writes they make in a round, and how many rounds each
/// way gets.
const CALLERS: usize = 64;
const WRITES: usize = 8_000;
const ROUNDS: usize = 5;

/// How many calls are open, and how many of them each process had that died.
const OPEN: usize = 10_000;
const AT_ONCE: usize = 1_000;

const SETTINGS: &str =
    "[workspace]\nname = \"bench\"\nautonomy = 1\n[limits]\nmax_parallel = 1000\n";

#[derive(Deserialize, schemars::JsonSchema)]
struct Count {
    n: u64,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Counted {
    n: u64,
}

/// The deduplication of calls.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// Off.
    Off,
    /// By the intent of the call.
    Intent,
    /// By an idempotency key.
    Key,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        at_most_once().await;
        cleared_up().await;
    });
}

fn open(folder: &Path, lease: Duration) -> Host {
    let tool = |id: &str, mode: Value| {
        Tool::<Count, Counted>::builder(id)
            .description("Counts.")
            .mutates(["workspace:*"])
            .risk(1u8)
            .approval(haft_model::ApprovalClass::Auto)
            .extra("concurrency", json!({ "safe": true }))
            .extra("idempotency", mode)
            .define()
            .expect("a tool")
    };
    let (on, off) = (tool("count.on", json!({})), tool("count.off", json!({ "mode": "none" })));
    let hang = tool("count.hang", json!({}));
    let driver = define_driver("bench")
        .implement(&on, |args: haft::Args<Count>| async move { Ok(Counted { n: args.input.n }) })
        .implement(&off, |args: haft::Args<Count>| async move { Ok(Counted { n: args.input.n }) })
        .implement(&hang, |_: haft::Args<Count>| std::future::pending())
        .define()
        .expect("a driver");
    let definitions = Definitions::new().tool(&on).tool(&off).tool(&hang).driver(&driver);
    let load = LoadOptions { definitions, ..LoadOptions::default() };
    let runtime = Options { lease, ..Options::default() };
    Host::open(folder, HostOptions { load, runtime, ..HostOptions::default() }).expect("a host")
}

async fn at_most_once() {
    let folder = Folder::new().file("haft.toml", SETTINGS);
    let host = Arc::new(open(folder.path(), Duration::from_secs(10)));
    let ways = [Way::Off, Way::Intent, Way::Key];
    let mut rates = ways.map(|_| Vec::new());
    let mut costs = ways.map(|_| Vec::new());
    round(&host, Way::Off, 0).await;
    for number in 1..=ROUNDS {
        for ((way, rates), costs) in ways.iter().zip(&mut rates).zip(&mut costs) {
            let before = processor_time("self");
            rates.push(round(&host, *way, number).await);
            costs.push((processor_time("self") - before).as_secs_f64() * 1e6 / WRITES as f64);
        }
    }
    let [off, intent, key] = rates.map(median);
    println!(
        "durable writes by {CALLERS} callers: {off:.0}/s; recognised when sent again by intent \
         {intent:.0}/s ({:.2} of that), by key {key:.0}/s ({:.2})",
        intent / off,
        key / off
    );
    let [off, intent, key] = costs.map(median);
    println!(
        "processor time of each: {off:.0} µs; by intent {intent:.0} µs ({:.2} as many in the same \
         time), by key {key:.0} µs ({:.2})",
        off / intent,
        off / key
    );
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(ROUNDS / 2).copied().unwrap_or_default()
}

/// One round of writes, as writes a second.
async fn round(host: &Arc<Host>, way: Way, number: usize) -> f64 {
    let began = Instant::now();
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let host = host.clone();
            tokio::spawn(async move {
                let actor = host.actor(&format!("agent:bench{caller}"));
                for n in 0..WRITES / CALLERS {
                    let tool = if way == Way::Off { "count.off" } else { "count.on" };
                    let mut call = Call::new(actor.clone(), tool, json!({ "n": n }));
                    call.key = (way == Way::Key).then(|| format!("{number}-{n}"));
                    let envelope = host.call(call).await;
                    assert!(!envelope.is_error && !envelope.replayed, "{:?}", envelope.error);
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.expect("a caller");
    }
    WRITES as f64 / began.elapsed().as_secs_f64()
}

/// Ten processes with a thousand calls each die; the next one settles what they left.
async fn cleared_up() {
    let folder = Folder::new().file("haft.toml", SETTINGS);
    let lease = Duration::from_secs(2);
    for process in 0..OPEN / AT_ONCE {
        die(&Arc::new(open(folder.path(), lease)), process).await;
    }
    tokio::time::sleep(lease * 2).await;
    let next = open(folder.path(), lease);
    let began = Instant::now();
    let settled = next.runtime().recover().await.expect("recovered").len();
    let took = began.elapsed();
    assert_eq!(settled, OPEN);
    println!(
        "recovery of {OPEN} open calls: {took:.1?}, {:.0} µs each",
        took.as_secs_f64() * 1e6 / OPEN as f64
    );
}

/// Makes a thousand calls, and lets go of them once all are on record.
async fn die(host: &Arc<Host>, process: usize) {
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..AT_ONCE {
        let host = host.clone();
        calls.spawn(async move {
            let input = json!({ "n": process * AT_ONCE + n });
            let call = Call::new(host.actor("agent:bench"), "count.hang", input);
            host.runtime().call(call, CallOptions::default()).await
        });
    }
    let filter = haft_ledger::RunFilter { open: true, most: OPEN, ..Default::default() };
    while host.reader().runs(&filter).await.expect("runs").len() < (process + 1) * AT_ONCE {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    calls.shutdown().await;
}
