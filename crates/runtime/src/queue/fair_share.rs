//! Whose turn is next where places are scarce: actors take turns, however much one of them wants.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use haft_model::Actor;

/// The actors who wait.
#[derive(Default)]
pub(super) struct Round {
    waits: HashMap<Who, Waits>,
    /// Those of them who have something that only a place is missing for, by their turn.
    ready: BTreeMap<u64, Who>,
    turns: u64,
}

/// An actor, told from others by name.
#[derive(Clone)]
struct Who(Arc<Actor>);

/// What one actor waits for.
#[derive(Default)]
struct Waits {
    turn: u64,
    count: usize,
    /// The most urgent first, then the oldest.
    ready: BTreeSet<(Reverse<i32>, u64)>,
}

impl Round {
    /// An actor waits for one thing more. Whoever is new has the last turn.
    pub(super) fn joined(&mut self, actor: &Arc<Actor>) {
        self.turns += 1;
        let new = || Waits { turn: self.turns, ..Waits::default() };
        self.waits.entry(Who(actor.clone())).or_insert_with(new).count += 1;
    }

    /// Nothing but a place is missing for one thing that an actor waits for.
    pub(super) fn is_ready(&mut self, actor: &Arc<Actor>, priority: i32, ticket: u64) {
        let who = Who(actor.clone());
        if let Some(waits) = self.waits.get_mut(&who) {
            waits.ready.insert((Reverse(priority), ticket));
            self.ready.insert(waits.turn, who);
        }
    }

    /// An actor stops waiting for one thing, and keeps its turn if it waits for more.
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

    /// The ticket that is next; its actor goes to the end of the round.
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
