//! Model test of the wait queue: a plain implementation that scans every call must admit the same
//! calls.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use haft_model::Actor;
use tokio::sync::oneshot;

use super::area::Area;
use super::lock_table::LockRequest;
use super::slots::Slot;
use super::tests::{Dice, overlap};
use super::wait_queue::{SharedQueue, open, shared};

const NAMES: [&str; 12] = [
    "file:a",
    "file:a/b",
    "file:a/b/c",
    "file:ab",
    "file:b",
    "file:a/*",
    "file:a*",
    "file:*",
    "file:",
    "workspace:x",
    "workspace:*",
    "tool:é",
];

#[derive(Clone, Debug)]
struct Guest {
    number: u64,
    who: &'static str,
    priority: i32,
    names: Vec<&'static str>,
    shared: bool,
}

impl Guest {
    fn clashes(&self, other: &Guest) -> bool {
        !(self.shared && other.shared)
            && self.names.iter().any(|one| other.names.iter().any(|two| overlap(one, two)))
    }
}

/// Reference implementation of the queue's rules.
#[derive(Default)]
struct Plain {
    free: usize,
    inside: Vec<Guest>,
    waiting: Vec<Guest>,
    round: Vec<&'static str>,
}

impl Plain {
    fn comes(&mut self, guest: Guest) -> bool {
        let clash = |other: &Guest| guest.clashes(other);
        if self.free > 0 && !self.inside.iter().any(clash) && !self.waiting.iter().any(clash) {
            self.free -= 1;
            self.inside.push(guest);
            return true;
        }
        if !self.round.contains(&guest.who) {
            self.round.push(guest.who);
        }
        self.waiting.push(guest);
        false
    }

    fn goes(&mut self, number: u64) -> Vec<u64> {
        if let Some(at) = self.waiting.iter().position(|guest| guest.number == number) {
            let who = self.waiting.remove(at).who;
            if !self.waiting.iter().any(|guest| guest.who == who) {
                self.round.retain(|other| *other != who);
            }
        } else {
            self.inside.retain(|guest| guest.number != number);
            self.free += 1;
        }
        let mut given = Vec::new();
        while self.free > 0
            && let Some(at) = self.next()
        {
            let guest = self.waiting.remove(at);
            self.round.retain(|other| *other != guest.who);
            if self.waiting.iter().any(|other| other.who == guest.who) {
                self.round.push(guest.who);
            }
            self.free -= 1;
            given.push(guest.number);
            self.inside.push(guest);
        }
        given
    }

    fn next(&self) -> Option<usize> {
        let ready = |at: &usize| {
            let guest = &self.waiting[*at];
            !self.inside.iter().chain(&self.waiting[..*at]).any(|other| guest.clashes(other))
        };
        let ready: Vec<usize> = (0..self.waiting.len()).filter(ready).collect();
        self.round.iter().find_map(|who| {
            let theirs = ready.iter().copied().filter(|at| self.waiting[*at].who == *who);
            theirs.min_by_key(|at| (Reverse(self.waiting[*at].priority), *at))
        })
    }
}

/// The wait queue under test, driven without tasks.
struct Real {
    line: SharedQueue,
    inside: BTreeMap<u64, Slot>,
    waiting: BTreeMap<u64, (u64, oneshot::Receiver<Slot>)>,
}

impl Real {
    fn comes(&mut self, guest: &Guest) -> bool {
        let areas = guest.names.iter().map(|name| Area::of(name)).collect();
        let wish = LockRequest { areas, shared: guest.shared };
        let came = open(&self.line).at_once(wish);
        match came {
            Ok(wish) => {
                self.inside.insert(guest.number, Slot::new(self.line.clone(), wish));
                true
            }
            Err(wish) => {
                let actor = Arc::new(Actor::new(guest.who, "local", []));
                let waits = open(&self.line).join(actor, guest.priority, wish);
                self.waiting.insert(guest.number, waits);
                false
            }
        }
    }

    fn goes(&mut self, number: u64) -> Vec<u64> {
        let given = match self.waiting.remove(&number) {
            Some((ticket, _told)) => open(&self.line).leave(&self.line, ticket),
            None => {
                drop(self.inside.remove(&number));
                Vec::new()
            }
        };
        super::wait_queue::tell(given);
        let told = |(number, (_, told)): (&u64, &mut (u64, oneshot::Receiver<Slot>))| {
            Some((*number, told.try_recv().ok()?))
        };
        let given: BTreeMap<u64, Slot> = self.waiting.iter_mut().filter_map(told).collect();
        let numbers = given.keys().copied().collect();
        self.waiting.retain(|number, _| !given.contains_key(number));
        self.inside.extend(given);
        numbers
    }
}

#[test]
fn wait_queue_admits_as_reference_model_does() {
    let mut let_in = 0;
    for seed in 0..1500 {
        let mut dice = Dice(seed);
        let places = 1 + dice.roll(4) as usize;
        let mut plain = Plain { free: places, ..Plain::default() };
        let mut real =
            Real { line: shared(places), inside: BTreeMap::new(), waiting: BTreeMap::new() };
        let mut present: Vec<u64> = Vec::new();
        for number in 0..60 {
            if dice.roll(2) == 0 && !present.is_empty() {
                let goes = present.swap_remove(dice.roll(present.len() as u64) as usize);
                let mut expected = plain.goes(goes);
                expected.sort_unstable();
                assert_eq!(real.goes(goes), expected, "seed {seed}, {goes} goes");
                let_in += expected.len();
                continue;
            }
            let guest = Guest {
                number,
                who: ["ann", "bob", "cleo"][dice.roll(3) as usize],
                priority: dice.roll(3) as i32,
                names: (0..dice.roll(4)).map(|_| NAMES[dice.roll(12) as usize]).collect(),
                shared: dice.roll(2) == 0,
            };
            present.push(number);
            let came = real.comes(&guest);
            assert_eq!(came, plain.comes(guest.clone()), "seed {seed}, {guest:?} comes");
        }
    }
    assert!(let_in > 5_000, "hardly anybody waited, so hardly anything was shown: {let_in}");
}
