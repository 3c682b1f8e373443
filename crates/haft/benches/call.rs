//! Call benchmark: the cost of a call through the whole pipeline, with its ledger on the disk.
//!
//! `cargo bench -p haft --bench call` prints figures and, because machines differ, ratios: a read
//! against only planning it, a durable write against a plain write and sync of a file.
//! `cargo bench -p haft --bench call -- soak DIR CALLS` makes many reads in a workspace that stays.

#![allow(clippy::expect_used, reason = "a benchmark that cannot set itself up should stop")]
#![allow(clippy::indexing_slicing, reason = "there are as many times as calls")]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft::{Definitions, Host, HostOptions, LoadOptions, Tool, define_driver, schemars};
use haft_model::{Actor, Call, Envelope};
use haft_testkit::{Folder, processor_time};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The allocator of the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many reads are timed one by one.
const READS: usize = 20_000;

/// How many reads are made in a row, with the ledger caught up at the end.
const SUSTAINED: usize = 50_000;

/// How many writes the callers make together, and how many callers there are.
const WRITES: usize = 20_000;
const CALLERS: usize = 64;

#[derive(Deserialize, schemars::JsonSchema)]
struct Count {
    n: u64,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Counted {
    n: u64,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let arguments: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let [word, folder, calls] = arguments.as_slice()
        && word == "soak"
    {
        runtime.block_on(soak(folder, calls.parse().expect("a number of calls")));
        return;
    }
    runtime.block_on(async {
        let folder = Folder::new().file("haft.toml", SETTINGS).file("note.txt", "a short note\n");
        let host = Arc::new(open(folder.path()));
        reads(&host, "time.now", json!({})).await;
        reads(&host, "fs.read", json!({"path": "note.txt"})).await;
        sustained(&host).await;
        memory(&host).await;
        writes(&host, &folder).await;
    });
}

/// Writes by agents are allowed, so that no approval is needed.
const SETTINGS: &str = "[workspace]\nname = \"bench\"\nautonomy = 1\n[limits]\nmax_parallel = 64\n";

fn open(folder: &Path) -> Host {
    let tool = Tool::<Count, Counted>::builder("count.add")
        .description("Counts.")
        .mutates(["workspace:*"])
        .risk(1u8)
        .approval(haft_model::ApprovalClass::Auto)
        .extra("concurrency", json!({ "safe": true }))
        .define()
        .expect("a tool");
    let driver = define_driver("bench")
        .implement(&tool, |args: haft::Args<Count>| async move { Ok(Counted { n: args.input.n }) })
        .define()
        .expect("a driver");
    let definitions = Definitions::new().tool(&tool).driver(&driver);
    let load = LoadOptions { definitions, ..LoadOptions::default() };
    Host::open(folder, HostOptions { load, ..HostOptions::default() }).expect("a host")
}

fn agent(host: &Host) -> Actor {
    host.actor("agent:bench")
}

async fn one(host: &Host, actor: &Actor, tool: &str, input: serde_json::Value) -> Envelope {
    let envelope = host.call(Call::new(actor.clone(), tool, input)).await;
    assert!(!envelope.is_error, "{:?}", envelope.error);
    envelope
}

async fn reads(host: &Host, tool: &str, input: serde_json::Value) {
    let actor = agent(host);
    for _ in 0..1000 {
        one(host, &actor, tool, input.clone()).await;
    }
    host.flush().await.expect("flushed");
    let mut times: Vec<Duration> = Vec::with_capacity(READS);
    for _ in 0..READS {
        let began = Instant::now();
        one(host, &actor, tool, input.clone()).await;
        times.push(began.elapsed());
    }
    host.flush().await.expect("flushed");
    times.sort();
    let at = |share: usize| times[times.len() * share / 100];
    let plan = planning(host, &actor, tool, &input);
    println!(
        "{tool}: median {:.1?}, 90% {:.1?}, 99% {:.1?}; {:.1} times the {plan:.1?} of planning it",
        at(50),
        at(90),
        at(99),
        at(50).as_secs_f64() / plan.as_secs_f64()
    );
}

/// The median time of validating and routing the same call, which nothing can do without.
fn planning(host: &Host, actor: &Actor, tool: &str, input: &serde_json::Value) -> Duration {
    let workspace = host.workspace();
    let today = haft_model::utc_day(haft_model::Timestamp::now());
    let mut times: Vec<Duration> = (0..READS)
        .map(|_| {
            let call = Call::new(actor.clone(), tool, input.clone());
            let began = Instant::now();
            std::hint::black_box(workspace.snapshot().plan(call, today).expect("a plan"));
            began.elapsed()
        })
        .collect();
    times.sort();
    times[READS / 2]
}

async fn sustained(host: &Host) {
    let actor = agent(host);
    let cpu = processor_time("self");
    let began = Instant::now();
    for _ in 0..SUSTAINED {
        one(host, &actor, "time.now", json!({})).await;
    }
    host.flush().await.expect("flushed");
    let (wall, cpu) = (began.elapsed(), processor_time("self") - cpu);
    println!(
        "sustained reads, ledger caught up: {:.0}/s, {:.1} µs of processor each ({:.0}/s on one core)",
        SUSTAINED as f64 / wall.as_secs_f64(),
        cpu.as_secs_f64() * 1e6 / SUSTAINED as f64,
        SUSTAINED as f64 / cpu.as_secs_f64()
    );
}

async fn memory(host: &Host) {
    let actor = agent(host);
    let before = resident();
    for _ in 0..SUSTAINED {
        one(host, &actor, "time.now", json!({})).await;
    }
    host.flush().await.expect("flushed");
    println!("memory: {before} MB before and {} MB after {SUSTAINED} more reads", resident());
}

/// Many reads in a workspace that stays, with memory looked at on the way.
async fn soak(folder: &str, calls: usize) {
    std::fs::create_dir_all(folder).expect("a folder");
    std::fs::write(Path::new(folder).join("haft.toml"), SETTINGS).expect("settings");
    let host = open(Path::new(folder));
    let actor = agent(&host);
    let began = Instant::now();
    for call in 0..calls {
        if call % (calls / 10).max(1) == 0 {
            println!("{call} calls: {} MB, {:.0} s", resident(), began.elapsed().as_secs_f64());
        }
        one(&host, &actor, "time.now", json!({})).await;
    }
    host.flush().await.expect("flushed");
    println!("{calls} calls: {} MB, {:.0} s", resident(), began.elapsed().as_secs_f64());
}

async fn writes(host: &Arc<Host>, folder: &Folder) {
    let began = Instant::now();
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let host = host.clone();
            tokio::spawn(async move {
                let actor = host.actor(&format!("agent:bench{caller}"));
                for n in 0..WRITES / CALLERS {
                    one(&host, &actor, "count.add", json!({ "n": n })).await;
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.expect("a caller");
    }
    let durable = (WRITES / CALLERS * CALLERS) as f64 / began.elapsed().as_secs_f64();
    let plain = synced(folder);
    println!(
        "durable writes at {CALLERS} callers: {durable:.0}/s, {:.1} times the {plain:.0}/s of a synced file",
        durable / plain
    );
}

/// How often a second one line can be put into a file and synced.
fn synced(folder: &Folder) -> f64 {
    let mut file = File::create(folder.path().join("synced")).expect("a file");
    let began = Instant::now();
    let mut count = 0;
    while began.elapsed() < Duration::from_secs(1) {
        file.write_all(&[b'x'; 4096]).expect("written");
        file.sync_data().expect("synced");
        count += 1;
    }
    f64::from(count) / began.elapsed().as_secs_f64()
}

/// Resident memory in megabytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
}
