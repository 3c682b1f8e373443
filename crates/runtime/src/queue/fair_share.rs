//! Fair-share queue: actors take turns for free slots, regardless of how many calls each one
//! queues.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use haft_model::Actor;

/// Round-robin state of the actors with waiting calls.
#[derive(Default)]
pub(super) struct Round {
    waits: HashMap<Who, Waits>,
    /// Actors with a call that lacks only a slot, by turn number.
    ready: BTreeMap<u64, Who>,
    turns: u64,
}

/// Actor, identified by id and tenant.
#[derive(Clone)]
struct Who(Arc<Actor>);

/// Waiting calls of one actor.
#[derive(Default)]
struct Waits {
    turn: u64,
    count: usize,
    /// Tickets that lack only a slot: highest priority first, then oldest.
    ready: BTreeSet<(Reverse<i32>, u64)>,
}

impl Round {
    /// Adds one waiting call to an actor; a new actor gets the last turn.
    pub(super) fn joined(&mut self, actor: &Arc<Actor>) {
        self.turns += 1;
        let new = || Waits { turn: self.turns, ..Waits::default() };
        self.waits.entry(Who(actor.clone())).or_insert_with(new).count += 1;
    }

    /// Marks a call as holding its locks and lacking only a slot.
    pub(super) fn is_ready(&mut self, actor: &Arc<Actor>, priority: i32, ticket: u64) {
        let who = Who(actor.clone());
        if let Some(waits) = self.waits.get_mut(&who) {
            waits.ready.insert((Reverse(priority), ticket));
            self.ready.insert(waits.turn, who);
        }
    }

    /// Removes one waiting call; the actor keeps its turn while it has others.
    pub(super) fn left(&mut self, actor: &Arc<Actor>, priority: i32, ticket: u64) {
        let who = Who(actor.clone());
        let Some(waits) = self.waits.get_mut(&who) else { return };
        waits.ready.remove(&(Reverse(priority), ticket));
        waits.count = waits.count.saturating_sub(1);
        if waits.ready.is_empty() {
            self.ready.remove(&waits.turn);
        }
        if waits.count == 0 {
            self.waits.remove(&who);
        }
    }

    /// Pops the next ticket and moves its actor to the end of the round.
    pub(super) fn next(&mut self) -> Option<u64> {
        let (_, who) = self.ready.pop_first()?;
        let waits = self.waits.get_mut(&who)?;
        let (_, ticket) = waits.ready.pop_first()?;
        self.turns += 1;
        waits.turn = self.turns;
        waits.count = waits.count.saturating_sub(1);
        match (waits.count, waits.ready.is_empty()) {
            (0, _) => {
                self.waits.remove(&who);
            }
            (_, false) => {
                self.ready.insert(waits.turn, who);
            }
            (_, true) => {}
        }
        Some(ticket)
    }
}

impl PartialEq for Who {
    fn eq(&self, other: &Who) -> bool {
        self.0.id == other.0.id && self.0.tenant == other.0.tenant
    }
}

impl Eq for Who {}

impl Hash for Who {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.id.as_str().hash(state);
        self.0.tenant.hash(state);
    }
}
