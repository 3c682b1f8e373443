//! Places for calls: a turn is waited for, held, and given back when it is dropped.

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_model::{Actor, Code, Stop};

use super::area::Area;
use super::lock_table::LockRequest;
use super::wait_queue::{self, SharedQueue};

/// Where calls wait for their turn.
pub(crate) struct Queue {
    line: SharedQueue,
    max_parallel: usize,
}

/// A turn. It ends when this is dropped.
pub(crate) struct Slot {
    line: SharedQueue,
    wish: LockRequest,
}

/// The place of a call that waits for its caller, lent until this is dropped.
pub(crate) struct Aside(SharedQueue);

/// What a call wants before it runs.
pub(crate) struct SlotRequest<'w> {
    /// The names of what it touches.
    pub(crate) locks: &'w BTreeSet<String>,
    /// Whether others may touch the same beside it.
    pub(crate) shared: bool,
    /// Who calls: actors take turns where places are scarce.
    pub(crate) actor: Arc<Actor>,
    /// How urgent it is among the calls of its actor.
    pub(crate) priority: i32,
}

/// A place in the line that is given up when the one who stands there goes away.
struct Standing<'l> {
    line: &'l SharedQueue,
    ticket: u64,
}

impl Queue {
    pub(crate) fn new(max_parallel: usize) -> Queue {
        let max_parallel = max_parallel.max(1);
        Queue { line: wait_queue::shared(max_parallel), max_parallel }
    }

    pub(crate) fn max_parallel(&self) -> u64 {
        self.max_parallel as u64
    }

    /// Lets others have the place of a call that only waits for somebody to answer.
    pub(crate) fn aside(&self) -> Aside {
        let given = wait_queue::open(&self.line).lend(&self.line);
        wait_queue::tell(given);
        Aside(self.line.clone())
    }

    /// Waits for a turn: for a place and everything the call touches, given at once.
    pub(crate) async fn enter(&self, wanted: SlotRequest<'_>) -> Result<Slot, Stop> {
        let areas = wanted.locks.iter().map(|name| Area::of(name)).collect();
        let wish = LockRequest { areas, shared: wanted.shared };
        let (standing, told) = {
            let mut line = wait_queue::open(&self.line);
            match line.at_once(wish) {
                Ok(wish) => return Ok(Slot::new(self.line.clone(), wish)),
                Err(wish) => {
                    let (ticket, told) = line.join(wanted.actor, wanted.priority, wish);
                    (Standing { line: &self.line, ticket }, told)
                }
            }
        };
        let slot = told.await;
        drop(standing);
        slot.map_err(|_| Stop::new(Code::Internal, "the queue lost a call that waited in it"))
    }
}

impl Slot {
    pub(super) fn new(line: SharedQueue, wish: LockRequest) -> Slot {
        Slot { line, wish }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let given = wait_queue::open(&self.line).end(&self.line, &self.wish);
        wait_queue::tell(given);
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        wait_queue::open(&self.0).take_back();
    }
}

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        let given = wait_queue::open(self.line).leave(self.line, self.ticket);
        wait_queue::tell(given);
    }
}
