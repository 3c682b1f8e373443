//! Server benchmark: the cost of a call through Haft, beside servers that do nothing but answer.
//!
//! `cargo bench -p haft-cli --bench serve` starts six servers, each a process of its own, and calls
//! them in turns over streamable HTTP: `haft serve` with a builtin tool against a bare server of the
//! library, and `haft serve` before an MCP server against a gateway that only passes calls on, once
//! before a server that does nothing either and once before one of npm. Haft validates, judges and
//! records every call; the others do not. It prints calls a second, processor time and the ratios, and
//! then how soon a server with a hundred tools answers and what it holds.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a benchmark that cannot set itself up should stop"
)]

mod bare;
mod begin;
#[allow(dead_code, reason = "the client is shared with the show")]
mod load;
mod process;

use std::time::Duration;

use load::Era;
use process::Process;
use serde_json::json;

/// The allocator of the binary, for the other servers as well.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long a turn takes, and how many turns each server gets.
const TURN: Duration = Duration::from_millis(700);
const TURNS: usize = 9;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    match std::env::args().nth(1).as_deref() {
        Some("bare") => runtime.block_on(bare::serve(bare::Clock)),
        Some("gateway") => {
            let program: Vec<String> = std::env::args().skip(2).collect();
            runtime.block_on(async { bare::serve(bare::Gateway::start(&program).await).await })
        }
        Some("backend") => runtime.block_on(bare::speak()),
        _ => compare(),
    }
}

fn compare() {
    let (builtin, backend, everything) = (begin::builtin(), begin::backend(), begin::everything());
    let this = std::env::current_exe().unwrap();
    let bare = Process::itself(&["bare"]);
    let gateway = Process::itself(&["gateway", this.to_str().unwrap(), "backend"]);
    let haft = Process::haft(&builtin, "time.now");
    let before = Process::haft(&backend, "time_now");
    let program = everything.path().join(begin::EVERYTHING);
    let theirs = Process::itself(&["gateway", "node", program.to_str().unwrap()]);
    let theirs = theirs.called("echo", json!({"message": "unix_ms"}));
    let ours = Process::haft(&everything, "echo").called("echo", json!({"message": "unix_ms"}));
    // Many callers leave more behind than one does: disks to be written, caches to be filled again.
    for callers in [1, 16] {
        for era in [Era::Sessions, Era::Stateless] {
            println!("{era:?}, {callers} at a time");
            race("a builtin tool", [("bare server", &bare), ("haft", &haft)], era, callers);
            race("a backend's tool", [("gateway", &gateway), ("haft", &before)], era, callers);
            race("a tool in Node", [("gateway", &theirs), ("haft", &ours)], era, callers);
        }
    }
    println!(
        "held: bare {}, gateway {}, haft {} and {}",
        bare.memory(),
        gateway.memory(),
        haft.memory(),
        before.memory()
    );
    drop((bare, gateway, haft, before, theirs, ours));
    begin::measure();
}

/// Calls two servers in turns and prints what each made of it.
fn race(what: &str, servers: [(&str, &Process); 2], era: Era, callers: usize) {
    let mut turns: [Vec<load::Turn>; 2] = Default::default();
    for turn in 0..=TURNS {
        for (index, (_, server)) in servers.iter().enumerate() {
            let made = load::turn(server, era, callers, TURN);
            // The first turn warms up.
            if turn > 0 {
                turns[index].push(made);
            }
        }
    }
    let [theirs, ours] = turns.map(load::Turn::median);
    for ((name, _), turn) in servers.iter().zip([&theirs, &ours]) {
        println!(
            "  {what}, {name}: {:.0} calls/s, {:.0} µs of processor a call",
            turn.rate, turn.processor
        );
    }
    println!(
        "  {what}: {:.2} of its calls/s, {:.2} of its processor time",
        ours.rate / theirs.rate,
        ours.processor / theirs.processor
    );
}
