//! Soak test: a thousand clients wait while others call, for as long as you like.
//!
//! `scripts/show soak [MINUTES]` serves a workspace, lets 500 clients wait at `/v1/events` and 500
//! in sessions of MCP, makes 200 calls a second beside them, and then changes what is served. It
//! prints the server's memory as time passes, and ends with an error where that grows, where a
//! subscriber missed an event of a call, or where a waiting client was not notified of the change.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "what cannot be laid out should stop"
)]

#[path = "../serve/load.rs"]
#[allow(dead_code, reason = "the client is shared with the benchmark")]
mod load;
#[path = "../serve/process.rs"]
#[allow(dead_code, reason = "the processes are shared with the benchmark")]
mod process;
mod waiting;

use std::process::Command;
use std::task::Poll;
use std::time::{Duration, Instant};

use haft_testkit::Folder;
use load::{Connection, Era};
use process::Process;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use waiting::{Listener, Waiting};

/// How many wait at either place, how many listen, and how many callers make how many calls a second.
const WAITING: usize = 500;
const LISTENERS: usize = 3;
const CALLERS: usize = 20;
const RATE: usize = 200;

/// How often the memory is looked at.
const LOOK: Duration = Duration::from_secs(10);

/// The most that may be held at the end, beside what was held after a quarter of the time.
const MOST_GROWN: f64 = 1.25;

const SETTINGS: &str = "[workspace]\nname = \"soak\"\n[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n\
                        [[actor]]\nid = \"agent:idle\"\nroles = [\"agent\"]\n";

const CONTRACT: &str = "---\nname: New\nid: soak.new\ndescription: Was not there before.\nversion: 1.0.0\n\
                        inputs: { type: object }\noutputs: { type: object }\n---\n";

fn main() {
    let minutes: f64 = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(10.0);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(soak(Duration::from_secs_f64(minutes * 60.0)));
}

async fn soak(lasts: Duration) {
    let folder = Folder::new().file("haft.toml", SETTINGS);
    let token = token(&folder);
    let server = Process::haft(&folder, "time.now");
    let mut waiting = Vec::new();
    for _ in 0..WAITING {
        waiting.push(Waiting::in_session(&server.address).await);
    }
    let mut silent = Vec::new();
    for _ in 0..WAITING {
        silent.push(Listener::at(&server.address, Some(&token)).await);
    }
    let (ended, over) = watch::channel(false);
    let mut listeners = Vec::new();
    for _ in 0..LISTENERS {
        let listener = Listener::at(&server.address, None).await;
        listeners.push(tokio::spawn(listener.listen(over.clone())));
    }
    println!("{} wait, {LISTENERS} listen", 2 * WAITING);
    let calls = call(&server, lasts).await;
    let _ = ended.send(true);
    println!("{calls} calls were made, {:.0} a second", calls as f64 / lasts.as_secs_f64());
    for listener in listeners {
        let heard = listener.await.unwrap();
        assert_eq!(heard.ends, calls, "a listener missed events: {heard:?}");
    }
    println!("each of {LISTENERS} listeners heard every call end, in order and once");
    tell_all(&folder, waiting).await;
    for listener in silent {
        assert_eq!(listener.heard_so_far().await, 0, "one heard of calls that are not theirs");
    }
    println!("{WAITING} heard nothing of the calls of others, and are still there");
}

/// Makes calls at a steady rate, and prints what the server holds.
async fn call(server: &Process, lasts: Duration) -> usize {
    let began = Instant::now();
    let callers = (0..CALLERS).map(|_| async {
        let mut connection = Connection::open(server, Era::Stateless).await;
        let mut clock = interval(Duration::from_secs(CALLERS as u64) / RATE as u32);
        // A call that took longer is made up for, so that the rate is that which was promised.
        clock.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut calls = 0;
        while began.elapsed() < lasts {
            clock.tick().await;
            connection.call().await;
            calls += 1;
        }
        calls
    });
    let watch = async {
        let mut held = Vec::new();
        while began.elapsed() + LOOK < lasts {
            tokio::time::sleep(LOOK).await;
            held.push(server.kilobytes());
            let seconds = began.elapsed().as_secs();
            println!("after {seconds} s the server holds {}", server.memory());
        }
        // What it holds once it has warmed up, and at the end.
        if let (Some(early), Some(late)) = (held.get(held.len() / 4), held.last()) {
            let grown = *late as f64 / *early as f64;
            println!("at the end {grown:.2} of what it held after a quarter");
            assert!(grown < MOST_GROWN, "the server holds more and more");
        }
    };
    let (calls, ()) = tokio::join!(all(callers), watch);
    calls
}

/// Runs them beside each other and adds up.
async fn all(callers: impl Iterator<Item = impl Future<Output = usize>>) -> usize {
    let mut callers: Vec<_> = callers.map(Box::pin).collect();
    let mut calls = 0;
    std::future::poll_fn(|context| {
        callers.retain_mut(|caller| match caller.as_mut().poll(context) {
            Poll::Ready(made) => {
                calls += made;
                false
            }
            Poll::Pending => true,
        });
        if callers.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    calls
}

/// Changes what is served, and waits until every subscribed client was notified.
async fn tell_all(folder: &Folder, waiting: Vec<Waiting>) {
    let began = Instant::now();
    let place = folder.path().join(".tools/soak.new");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("TOOL.md"), CONTRACT).unwrap();
    // Only what was accepted is served.
    let mut accept = Command::new(env!("CARGO_BIN_EXE_haft"));
    accept.arg("-C").arg(folder.path()).args(["accept", "--all"]);
    assert!(accept.output().unwrap().status.success());
    for one in waiting {
        one.told_of_change().await;
    }
    println!("{WAITING} were told of a change within {:.1} s", began.elapsed().as_secs_f64());
}

/// A token of an actor that calls nothing.
fn token(folder: &Folder) -> String {
    let mut haft = Command::new(env!("CARGO_BIN_EXE_haft"));
    haft.arg("-C").arg(folder.path()).args(["token", "new", "agent:idle", "--json"]);
    let told: serde_json::Value = serde_json::from_slice(&haft.output().unwrap().stdout).unwrap();
    told["token"].as_str().expect("a token").to_owned()
}
