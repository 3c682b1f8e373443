//! Property tests of the queue: no two running calls hold conflicting locks.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use haft_model::Actor;

use super::area::Area;
use super::slots::{Queue, Slot, SlotRequest};

/// Deterministic pseudo-random numbers: the same seed yields the same sequence.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

pub(crate) fn overlap(one: &str, other: &str) -> bool {
    let other = Area::of(other);
    Area::of(one).overlaps(other.fixed(), other.is_open())
}

fn actor(name: &str) -> Arc<Actor> {
    Arc::new(Actor::new(name, "local", []))
}

async fn enter(queue: &Queue, who: &str, locks: &[&str], shared: bool, priority: i32) -> Slot {
    let locks: BTreeSet<String> = locks.iter().map(|name| (*name).to_owned()).collect();
    queue.enter(SlotRequest { locks: &locks, shared, actor: actor(who), priority }).await.unwrap()
}

const NAMES: [&str; 7] =
    ["file:a", "file:a/b", "file:a/b/c", "file:b", "file:*", "workspace:*", "workspace:x"];

/// A call that requests a slot.
#[derive(Clone)]
struct Guest {
    index: usize,
    who: &'static str,
    names: Vec<&'static str>,
    shared: bool,
    priority: i32,
    naps: u64,
    gives_up: bool,
}

impl Guest {
    fn random(index: usize, dice: &mut Dice) -> Guest {
        Guest {
            index,
            who: ["ann", "bob", "cleo"][dice.roll(3) as usize],
            names: (0..dice.roll(4)).map(|_| NAMES[dice.roll(7) as usize]).collect(),
            shared: dice.roll(2) == 0,
            priority: dice.roll(3) as i32,
            naps: dice.roll(4),
            gives_up: dice.roll(8) == 0,
        }
    }

    fn may_meet(&self, other: &Guest) -> bool {
        let touches = |name: &&str| other.names.iter().any(|held| overlap(name, held));
        self.shared && other.shared || !self.names.iter().any(touches)
    }

    /// Waits for a slot, checks for conflicting holders, and leaves after a while.
    async fn visits(self, queue: Arc<Queue>, inside: Arc<Mutex<Vec<Guest>>>, places: usize) {
        let slot = tokio::select! {
            biased;
            slot = enter(&queue, self.who, &self.names, self.shared, self.priority) => slot,
            () = tokio::task::yield_now(), if self.gives_up => return,
        };
        {
            let mut inside = inside.lock().unwrap();
            for other in inside.iter() {
                assert!(self.may_meet(other), "{} meets {}", self.index, other.index);
            }
            inside.push(self.clone());
            assert!(inside.len() <= places);
        }
        for _ in 0..self.naps {
            tokio::task::yield_now().await;
        }
        inside.lock().unwrap().retain(|other| other.index != self.index);
        drop(slot);
    }
}

#[tokio::test]
async fn random_calls_all_get_turns_without_lock_conflicts() {
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let places = 1 + dice.roll(4) as usize;
        let queue = Arc::new(Queue::new(places));
        let inside: Arc<Mutex<Vec<Guest>>> = Arc::default();
        let mut tasks = tokio::task::JoinSet::new();
        for index in 0..40 {
            let guest = Guest::random(index, &mut dice);
            tasks.spawn(guest.visits(queue.clone(), inside.clone(), places));
        }
        let all = async {
            while let Some(ended) = tasks.join_next().await {
                ended.unwrap()
            }
        };
        let patience = std::time::Duration::from_secs(20);
        tokio::time::timeout(patience, all).await.unwrap_or_else(|_| panic!("seed {seed} hangs"));
    }
}

/// Admits the waiters one at a time and returns the order of admission.
async fn admitted(waiters: &[(&'static str, &'static str, &[&str], i32)]) -> Vec<&'static str> {
    let queue = Arc::new(Queue::new(1));
    let first = enter(&queue, "somebody", &[], true, 0).await;
    let seen: Arc<Mutex<Vec<&'static str>>> = Arc::default();
    let mut tasks = tokio::task::JoinSet::new();
    for (label, who, locks, priority) in waiters {
        let locks: Vec<String> = locks.iter().map(|lock| (*lock).to_owned()).collect();
        let (queue, seen, label, who, priority) =
            (queue.clone(), seen.clone(), *label, *who, *priority);
        tasks.spawn(async move {
            let locks: Vec<&str> = locks.iter().map(String::as_str).collect();
            let _slot = enter(&queue, who, &locks, false, priority).await;
            seen.lock().unwrap().push(label);
        });
        // Tasks on a single-threaded runtime start in the order of spawning.
        tokio::task::yield_now().await;
    }
    drop(first);
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    Arc::into_inner(seen).unwrap().into_inner().unwrap()
}

#[tokio::test]
async fn actors_take_turns_regardless_of_queue_length() {
    let order = admitted(&[
        ("ann 1", "ann", &[], 0),
        ("ann 2", "ann", &[], 0),
        ("ann 3", "ann", &[], 0),
        ("bob 1", "bob", &[], 0),
        ("bob 2", "bob", &[], 0),
        ("cleo 1", "cleo", &[], 0),
    ])
    .await;
    assert_eq!(order, ["ann 1", "bob 1", "cleo 1", "ann 2", "bob 2", "ann 3"]);
}

#[tokio::test]
async fn priority_orders_calls_of_actor_but_respects_locks() {
    let order = admitted(&[
        ("usual", "ann", &["file:a"], 0),
        ("urgent", "ann", &[], 5),
        ("urgent and behind", "ann", &["file:a/b"], 9),
    ])
    .await;
    assert_eq!(order, ["urgent", "usual", "urgent and behind"]);
}

#[tokio::test]
async fn exclusive_waiter_is_not_overtaken_by_shared_ones() {
    let queue = Queue::new(8);
    let reader = enter(&queue, "ann", &["file:a"], true, 0).await;
    let beside = enter(&queue, "ann", &["file:a"], true, 0).await;
    let mut writer = std::pin::pin!(enter(&queue, "bob", &["file:a"], false, 0));
    assert!(is_pending(&mut writer).await);
    let mut late = std::pin::pin!(enter(&queue, "ann", &["file:a/b"], true, 0));
    assert!(is_pending(&mut late).await);
    drop((reader, beside));
    let written = writer.await;
    assert!(is_pending(&mut late).await);
    drop(written);
    late.await;
}

async fn is_pending<F: Future>(future: &mut std::pin::Pin<&mut F>) -> bool {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(future.as_mut().poll(context).is_pending())
    })
    .await
}

#[tokio::test]
async fn dropped_waiter_no_longer_blocks_those_behind() {
    let queue = Queue::new(8);
    let _reader = enter(&queue, "ann", &["file:a"], true, 0).await;
    let mut late = std::pin::pin!(enter(&queue, "ann", &["file:a/b"], true, 0));
    {
        let mut writer = std::pin::pin!(enter(&queue, "bob", &["file:a"], false, 0));
        assert!(is_pending(&mut writer).await);
        assert!(is_pending(&mut late).await);
    }
    assert!(!is_pending(&mut late).await);
}

#[test]
fn lock_covers_descendants_but_not_siblings() {
    let cases = [
        ("file:a", "file:a", true),
        ("file:a", "file:a/b", true),
        ("file:a", "file:ab", false),
        ("file:a", "file:b", false),
        ("file:a/b", "file:a/c", false),
        ("file:a", "note:a", false),
        ("file:./a//b/", "file:a/b", true),
        ("file:a/../b", "file:b", true),
        ("workspace:*", "workspace:src/a", true),
        ("workspace:*", "workspace:*", true),
        ("workspace:*", "file:a", false),
        ("workspace:", "workspace:a", true),
        ("file:src/*", "file:src/a", true),
        ("file:src/*", "file:src", true),
        ("file:src/*", "file:srcs", false),
        ("file:src/**", "file:lib/a", false),
        ("file:s*", "file:src/a", true),
        ("file:src/a*", "file:src", true),
        ("file:src/*", "file:src/deep/*", true),
        ("tool:note.show@1", "tool:note.show@2", false),
    ];
    for (one, other, expected) in cases {
        assert_eq!(
            (overlap(one, other), overlap(other, one)),
            (expected, expected),
            "{one} {other}"
        );
    }
}

#[tokio::test]
async fn call_waiting_for_caller_lends_and_regains_slot() {
    let queue = Queue::new(1);
    let asking = enter(&queue, "ann", &["file:a"], false, 0).await;
    let aside = queue.aside();
    // Another call runs meanwhile, unless its locks conflict.
    let other = enter(&queue, "bob", &["file:b"], false, 0).await;
    let full = |names: &'static [&'static str]| {
        tokio::time::timeout(std::time::Duration::ZERO, enter(&queue, "cleo", names, false, 0))
    };
    assert!(full(&["file:a"]).await.is_err());
    drop(aside);
    drop(other);
    // The lent slot went back to the first call.
    assert!(full(&["file:b"]).await.is_err());
    drop(asking);
    assert!(full(&["file:b"]).await.is_ok());
}
