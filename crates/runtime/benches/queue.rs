//! Benchmark of the call queue: 10,000 calls wait for 1,000 locks, compared with as many messages
//! through a channel in the same run.
//!
//! It includes the runtime's source files, because the runtime does not export its queue.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot set itself up should stop")]
#![allow(clippy::indexing_slicing, reason = "there are as many actors as the case says")]

#[path = "../src/queue/area.rs"]
mod area;
#[path = "../src/queue/fair_share.rs"]
mod fair_share;
#[path = "../src/queue/lock_table.rs"]
mod lock_table;
#[path = "../src/queue/slots.rs"]
#[allow(dead_code, reason = "nobody lends a place here")]
mod slots;
#[path = "../src/queue/sync.rs"]
mod sync;
#[path = "../src/queue/wait_queue.rs"]
#[allow(dead_code, reason = "nobody lends a place here")]
mod wait_queue;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_model::Actor;
use slots::{Queue, SlotRequest};

const CALLS: usize = 10_000;
const ROUNDS: usize = 15;
const TARGET: Duration = Duration::from_micros(10);

/// Locks that the calls of one case take.
struct Case {
    name: &'static str,
    lock: fn(usize) -> Option<String>,
    actors: usize,
}

const CASES: [Case; 4] = [
    Case {
        name: "1,000 locks",
        lock: |call| Some(format!("file:src/{}", call % 1_000)),
        actors: 4,
    },
    Case { name: "no locks", lock: |_| None, actors: 4 },
    Case { name: "one lock for all", lock: |_| Some("workspace:*".to_owned()), actors: 4 },
    Case {
        name: "1,000 locks, 1,000 actors",
        lock: |call| Some(format!("file:{}", call * 7 % 1_000)),
        actors: 1_000,
    },
];

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let channel = median(|| runtime.block_on(through_a_channel()));
    println!("a message through a channel: {} ns", channel.as_nanos());
    let mut slow = false;
    for case in &CASES {
        let queue = median(|| runtime.block_on(through_the_queue(case)));
        let ratio = queue.as_secs_f64() / channel.as_secs_f64();
        let found = if queue <= TARGET { "within" } else { "above" };
        println!(
            "{}: {} ns a call, {ratio:.1} times a message, {found} {TARGET:?}",
            case.name,
            queue.as_nanos()
        );
        slow |= queue > TARGET;
    }
    if slow {
        std::process::exit(1);
    }
}

/// Median time per call over several rounds.
fn median(mut round: impl FnMut() -> Duration) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| round() / CALLS as u32).collect();
    times.sort_unstable();
    times.get(ROUNDS / 2).copied().unwrap_or_default()
}

/// Enqueues every call before the first slot is free, so it measures waiting, waking and leaving.
async fn through_the_queue(case: &Case) -> Duration {
    let queue = Arc::new(Queue::new(10));
    assert_eq!(queue.max_parallel(), 10);
    let actors: Vec<Arc<Actor>> = (0..case.actors)
        .map(|number| Arc::new(Actor::new(format!("agent:{number}").as_str(), "local", [])))
        .collect();
    let calls: Vec<(BTreeSet<String>, Arc<Actor>)> = (0..CALLS)
        .map(|call| ((case.lock)(call).into_iter().collect(), actors[call % case.actors].clone()))
        .collect();
    let began = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for (locks, actor) in calls {
        let queue = queue.clone();
        tasks.spawn(async move {
            let wanted = SlotRequest { locks: &locks, shared: false, actor, priority: 0 };
            let slot = queue.enter(wanted).await;
            // Yields to other tasks, as a working driver does.
            tokio::task::yield_now().await;
            drop(slot);
        });
    }
    while tasks.join_next().await.is_some() {}
    began.elapsed()
}

/// The same tasks, each waiting for a message instead of a slot.
async fn through_a_channel() -> Duration {
    let (sender, mut receiver) = tokio::sync::mpsc::channel::<usize>(10);
    let began = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for call in 0..CALLS {
        let sender = sender.clone();
        tasks.spawn(async move {
            let _ = sender.send(call).await;
            tokio::task::yield_now().await;
        });
    }
    drop(sender);
    while receiver.recv().await.is_some() {}
    while tasks.join_next().await.is_some() {}
    began.elapsed()
}
