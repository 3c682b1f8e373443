//! Model checking of the queue: explores task schedules and finds deadlocks and lost wakeups.
//!
//! It includes the runtime's source files; only the mutex is replaced, so that a scheduler picks
//! the next task after each step.

#![expect(clippy::unwrap_used, reason = "a turn that cannot be had fails the test")]

#[path = "../../src/queue/area.rs"]
mod area;
#[path = "../../src/queue/fair_share.rs"]
mod fair_share;
#[path = "../../src/queue/lock_table.rs"]
mod lock_table;
#[path = "../../src/queue/slots.rs"]
mod slots;
#[path = "../../src/queue/wait_queue.rs"]
mod wait_queue;
mod sync {
    pub(super) use shuttle::sync::{Mutex, MutexGuard};
}

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_model::Actor;
use shuttle::future::{block_on, spawn, yield_now};
use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};
use slots::{Queue, SlotRequest};

/// A call: actor, locks, shared, priority, and whether it cancels its wait.
#[derive(Clone, Copy)]
struct Guest(&'static str, &'static [&'static str], bool, i32, bool);

/// Priority of the call that lends its slot at the end.
const URGENT: i32 = 5;

/// Writers and readers of nested paths, two of which cancel.
const CROWD: [Guest; 6] = [
    Guest("ann", &["file:a", "file:b"], false, 0, false),
    Guest("bob", &["file:b", "file:a/x"], false, 1, false),
    Guest("ann", &["file:a/x"], true, 2, true),
    Guest("cleo", &["file:*"], false, 0, true),
    Guest("bob", &["file:b"], true, 0, false),
    Guest("cleo", &[], true, URGENT, false),
];

/// Enough for a conflict over two locks, and few enough to try every schedule up to a bound.
const PAIR: [Guest; 3] = [
    Guest("ann", &["file:a", "file:b"], false, 0, false),
    Guest("bob", &["file:b", "file:a"], false, 0, false),
    Guest("ann", &["file:a"], true, 1, true),
];

/// Calls that hold a slot now.
#[derive(Default)]
struct Inside(std::sync::Mutex<Vec<Guest>>);

impl Inside {
    fn enters(&self, guest: Guest, places: usize) {
        let mut inside = self.0.lock().unwrap();
        for other in inside.iter() {
            let overlap = |one: &&str, two: &&str| {
                let two = area::Area::of(two);
                area::Area::of(one).overlaps(two.fixed(), two.is_open())
            };
            let touch = guest.1.iter().any(|one| other.1.iter().any(|two| overlap(one, two)));
            assert!(!touch || guest.2 && other.2, "two have the same");
        }
        inside.push(guest);
        assert!(inside.len() <= places, "more are inside than there are places");
    }

    fn leaves(&self, guest: Guest) {
        let mut inside = self.0.lock().unwrap();
        let at =
            inside.iter().position(|other| std::ptr::eq(other.1, guest.1) && other.3 == guest.3);
        inside.swap_remove(at.unwrap());
    }
}

async fn visit(guest: Guest, queue: Arc<Queue>, inside: Arc<Inside>, places: usize) {
    let locks: BTreeSet<String> = guest.1.iter().map(|name| (*name).to_owned()).collect();
    let actor = Arc::new(Actor::new(guest.0, "local", []));
    let wanted = SlotRequest { locks: &locks, shared: guest.2, actor, priority: guest.3 };
    let slot = tokio::select! {
        biased;
        slot = queue.enter(wanted) => slot.unwrap(),
        () = yield_now(), if guest.4 => return,
    };
    inside.enters(guest, places);
    yield_now().await;
    inside.leaves(guest);
    if guest.3 == URGENT {
        let aside = queue.aside();
        yield_now().await;
        drop(aside);
    }
    drop(slot);
}

/// All calls start at once and all have to end. The scheduler reports a call that is never woken as
/// a deadlock.
fn all_visit(guests: &'static [Guest], places: usize) {
    let queue = Arc::new(Queue::new(places));
    assert_eq!(queue.max_parallel(), places as u64);
    let inside = Arc::<Inside>::default();
    let visits: Vec<_> = guests
        .iter()
        .map(|guest| spawn(visit(*guest, queue.clone(), inside.clone(), places)))
        .collect();
    block_on(async {
        for visit in visits {
            visit.await.unwrap();
        }
    });
}

/// Number of schedules that a scheduler tried.
fn tried(
    scheduler: impl shuttle::scheduler::Scheduler + 'static,
    guests: &'static [Guest],
    places: usize,
) -> usize {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    Runner::new(scheduler, Config::new()).run(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        all_visit(guests, places);
    });
    count.load(Ordering::Relaxed)
}

#[test]
fn in_thousands_of_random_orders_everybody_gets_a_turn() {
    for places in 1..=3 {
        let random = RandomScheduler::new_from_seed(places as u64, 700);
        assert_eq!(tried(random, &CROWD, places), 700);
        let adverse = PctScheduler::new_from_seed(places as u64, 3, 300);
        assert_eq!(tried(adverse, &CROWD, places), 300);
    }
}

#[test]
fn first_two_thousand_schedules_never_deadlock() {
    for places in 1..=2 {
        let every = DfsScheduler::new(Some(2_000), false);
        assert!(tried(every, &PAIR, places) >= 1_000);
    }
}
