//! The line before the places: who holds what, who waits, and whose turn is next.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_model::Actor;
use tokio::sync::oneshot;

use super::Slot;
use super::area::Area;

/// One line, shared by those who stand in it.
pub(super) type Shared = Arc<Mutex<Line>>;

/// What one call takes while it has its turn.
#[derive(Default)]
pub(super) struct Taken {
    ticket: u64,
    areas: Vec<Area>,
    /// Whether others may have the same areas in the same way.
    shared: bool,
}

/// A call that waits.
pub(super) struct Waiter {
    actor: Arc<Actor>,
    priority: i32,
    taken: Taken,
    tell: oneshot::Sender<Slot>,
}

/// Everything that is taken together is given at once, so nobody ever holds one thing while
/// waiting for another.
#[derive(Default)]
pub(super) struct Line {
    free: usize,
    held: Vec<Taken>,
    /// In the order in which they came.
    waiting: Vec<Waiter>,
    /// The actors who wait, the one whose turn is next in front.
    round: VecDeque<Arc<Actor>>,
    tickets: u64,
}

/// Turns that were given and have yet to be told.
pub(super) type Given = Vec<(oneshot::Sender<Slot>, Slot)>;

impl Taken {
    pub(super) fn new(areas: Vec<Area>, shared: bool) -> Taken {
        Taken { ticket: 0, areas, shared }
    }

    fn clashes(&self, other: &Taken) -> bool {
        !(self.shared && other.shared)
            && self.areas.iter().any(|area| other.areas.iter().any(|held| area.overlaps(held)))
    }
}

/// The line, to look at or to change.
pub(super) fn open(line: &Shared) -> MutexGuard<'_, Line> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells those who were given a turn. The line must not be held: whoever left gives it back at once.
pub(super) fn tell(given: Given) {
    for (tell, slot) in given {
        let _ = tell.send(slot);
    }
}

impl Line {
    pub(super) fn new(places: usize) -> Line {
        Line { free: places, ..Line::default() }
    }

    /// A turn at once, or the wish back. With a place free, whoever waits does so for a lock.
    pub(super) fn at_once(&mut self, taken: Taken) -> Result<u64, Taken> {
        let clashes = |other: &Taken| taken.clashes(other);
        let blocked = self.free == 0
            || !taken.areas.is_empty()
                && (self.held.iter().any(clashes)
                    || self.waiting.iter().any(|waiter| clashes(&waiter.taken)));
        if blocked {
            return Err(taken);
        }
        Ok(self.take(taken))
    }

    fn take(&mut self, taken: Taken) -> u64 {
        self.free -= 1;
        if taken.areas.is_empty() {
            return 0;
        }
        self.tickets += 1;
        self.held.push(Taken { ticket: self.tickets, ..taken });
        self.tickets
    }

    /// Joins the end of the line.
    pub(super) fn join(
        &mut self,
        actor: Arc<Actor>,
        priority: i32,
        taken: Taken,
    ) -> (u64, oneshot::Receiver<Slot>) {
        self.tickets += 1;
        let (tell, told) = oneshot::channel();
        if !self.round.iter().any(|other| same(other, &actor)) {
            self.round.push_back(actor.clone());
        }
        let taken = Taken { ticket: self.tickets, ..taken };
        self.waiting.push(Waiter { actor, priority, taken, tell });
        (self.tickets, told)
    }

    /// Leaves the line, if it still stands there. Others may have waited behind it.
    pub(super) fn leave(&mut self, line: &Shared, ticket: u64) -> Given {
        let place = self.waiting.iter().position(|waiter| waiter.taken.ticket == ticket);
        let Some(place) = place else { return Given::new() };
        let left = self.waiting.remove(place);
        self.rotate(&left.actor, false);
        self.give(line)
    }

    /// Ends a turn.
    pub(super) fn end(&mut self, line: &Shared, ticket: u64) -> Given {
        self.free += 1;
        if ticket != 0 {
            self.held.retain(|held| held.ticket != ticket);
        }
        self.give(line)
    }

    fn give(&mut self, line: &Shared) -> Given {
        let mut given = Given::new();
        while self.free > 0
            && let Some(place) = self.next()
        {
            let waiter = self.waiting.remove(place);
            self.rotate(&waiter.actor, true);
            let ticket = self.take(waiter.taken);
            given.push((waiter.tell, Slot::new(line.clone(), ticket)));
        }
        given
    }

    /// Who is next: actors take turns, and each has what is most urgent to it first.
    fn next(&self) -> Option<usize> {
        let ready: Vec<usize> =
            (0..self.waiting.len()).filter(|place| self.is_ready(*place)).collect();
        self.round.iter().find_map(|actor| {
            let theirs = ready.iter().filter_map(|place| {
                let waiter = self.waiting.get(*place)?;
                same(&waiter.actor, actor).then_some((Reverse(waiter.priority), *place))
            });
            theirs.min().map(|(_, place)| place)
        })
    }

    /// Whether nobody holds what it wants, and nobody who came earlier waits for it.
    fn is_ready(&self, place: usize) -> bool {
        let Some(waiter) = self.waiting.get(place) else { return false };
        let clashes = |other: &Taken| waiter.taken.clashes(other);
        waiter.taken.areas.is_empty()
            || !self.held.iter().any(clashes)
                && !self.waiting.iter().take(place).any(|earlier| clashes(&earlier.taken))
    }

    /// An actor that had its turn goes to the end of the round; one that waits no more leaves it.
    fn rotate(&mut self, actor: &Actor, had_its_turn: bool) {
        let waits = self.waiting.iter().any(|waiter| same(&waiter.actor, actor));
        if waits && !had_its_turn {
            return;
        }
        let place = self.round.iter().position(|other| same(other, actor));
        let found = place.and_then(|place| self.round.remove(place));
        if let (Some(found), true) = (found, waits) {
            self.round.push_back(found);
        }
    }
}

fn same(one: &Actor, other: &Actor) -> bool {
    one.id == other.id && one.tenant == other.tenant
}
