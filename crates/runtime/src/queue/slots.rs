//! Execution slots: a call waits for a slot with its locks, holds both, and releases both on drop.

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_model::{Actor, Code, Stop};

use super::area::Area;
use super::lock_table::LockRequest;
use super::wait_queue::{self, SharedQueue};

/// Queue in front of the runtime's execution slots.
pub(crate) struct Queue {
    line: SharedQueue,
    max_parallel: usize,
}

/// Held slot with its locks; dropping it releases both.
pub(crate) struct Slot {
    line: SharedQueue,
    wish: LockRequest,
}

/// Slot that a call lends while it waits for its caller; dropping this takes it back.
pub(crate) struct Aside(SharedQueue);

/// Slot and locks that a call requests before it runs.
pub(crate) struct SlotRequest<'w> {
    /// Names of the locks.
    pub(crate) locks: &'w BTreeSet<String>,
    /// Shared locks: other shared requests may hold the same areas.
    pub(crate) shared: bool,
    /// Calling actor, the unit of fair share.
    pub(crate) actor: Arc<Actor>,
    /// Priority among the calls of the same actor; higher runs first.
    pub(crate) priority: i32,
}

/// Ticket in the wait queue; dropping it leaves the queue (cancellation).
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

    /// Lends the slot of a call that only waits for an answer; the call keeps its locks.
    pub(crate) fn aside(&self) -> Aside {
        let given = wait_queue::open(&self.line).lend(&self.line);
        wait_queue::tell(given);
        Aside(self.line.clone())
    }

    /// Waits for a slot together with every lock; the queue grants them at once.
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
