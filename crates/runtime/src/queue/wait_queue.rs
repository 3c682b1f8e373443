//! Wait queue in front of the slots: holds the waiting calls and grants slots in fair-share order.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use haft_model::Actor;
use tokio::sync::oneshot;

use super::fair_share::Round;
use super::lock_table::{Ground, LockRequest};
use super::slots::Slot;
use super::sync::{Mutex, MutexGuard};

/// Wait queue, shared by the calls that wait in it and by the slots they hold.
pub(super) type SharedQueue = Arc<Mutex<WaitQueue>>;

/// A waiting call.
struct Waiter {
    actor: Arc<Actor>,
    priority: i32,
    wish: LockRequest,
    /// The call holds all its locks and lacks only a slot.
    ready: bool,
    tell: oneshot::Sender<Slot>,
}

/// INVARIANT: the queue grants all locks of a call at once, so no call holds one lock while it
/// waits for another: locks cannot deadlock.
#[derive(Default)]
pub(super) struct WaitQueue {
    free: usize,
    /// Lent slots that the next ending calls return.
    owed: usize,
    ground: Ground,
    waiting: HashMap<u64, Waiter>,
    round: Round,
    tickets: u64,
}

/// Granted slots whose waiters have yet to be notified.
pub(super) type GrantedTurns = Vec<(oneshot::Sender<Slot>, Slot)>;

/// Creates a wait queue with this many slots.
pub(super) fn shared(places: usize) -> SharedQueue {
    Arc::new(Mutex::new(WaitQueue { free: places, ..WaitQueue::default() }))
}

/// Locks the wait queue; a poisoned mutex stays usable.
pub(super) fn open(line: &SharedQueue) -> MutexGuard<'_, WaitQueue> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notifies the waiters of granted slots. The caller must not hold the queue's lock: a slot whose
/// waiter has left releases itself here.
pub(super) fn tell(given: GrantedTurns) {
    for (tell, slot) in given {
        let _ = tell.send(slot);
    }
}

impl WaitQueue {
    /// Grants a slot without waiting, or returns the request. While a slot is free, every waiter
    /// waits for a lock.
    pub(super) fn at_once(&mut self, wish: LockRequest) -> Result<LockRequest, LockRequest> {
        if self.free == 0 || !self.ground.is_free(&wish, u64::MAX) {
            return Err(wish);
        }
        self.free -= 1;
        self.ground.hold(&wish);
        Ok(wish)
    }

    /// Appends a call to the queue.
    pub(super) fn join(
        &mut self,
        actor: Arc<Actor>,
        priority: i32,
        wish: LockRequest,
    ) -> (u64, oneshot::Receiver<Slot>) {
        self.tickets += 1;
        let ticket = self.tickets;
        let (tell, told) = oneshot::channel();
        self.round.joined(&actor);
        let ready = self.ground.is_free(&wish, ticket);
        match ready {
            true => {
                self.ground.hold(&wish);
                self.round.is_ready(&actor, priority, ticket);
            }
            false => self.ground.wait(&wish, ticket),
        }
        self.waiting.insert(ticket, Waiter { actor, priority, wish, ready, tell });
        (ticket, told)
    }

    /// Removes a call that still waits, and grants what it held up.
    pub(super) fn leave(&mut self, line: &SharedQueue, ticket: u64) -> GrantedTurns {
        let Some(left) = self.waiting.remove(&ticket) else { return GrantedTurns::new() };
        self.round.left(&left.actor, left.priority, ticket);
        match left.ready {
            true => self.ground.let_go(&left.wish),
            false => self.ground.wait_no_more(&left.wish, ticket),
        }
        self.look_again(&left.wish);
        self.give(line)
    }

    /// Releases a slot and its locks.
    pub(super) fn end(&mut self, line: &SharedQueue, wish: &LockRequest) -> GrantedTurns {
        match self.owed {
            0 => self.free += 1,
            _ => self.owed -= 1,
        }
        self.ground.let_go(wish);
        self.look_again(wish);
        self.give(line)
    }

    /// Lends the slot of a call that only waits; the call keeps its locks.
    pub(super) fn lend(&mut self, line: &SharedQueue) -> GrantedTurns {
        self.free += 1;
        self.give(line)
    }

    /// Takes a lent slot back: a free one, or that of the next call to end.
    pub(super) fn take_back(&mut self) {
        match self.free {
            0 => self.owed += 1,
            _ => self.free -= 1,
        }
    }

    /// After a release, acquires the locks of the waiters that now have no conflict, in ticket
    /// order.
    fn look_again(&mut self, given_back: &LockRequest) {
        for ticket in self.ground.first_around(given_back) {
            let Some(waiter) = self.waiting.get_mut(&ticket) else { continue };
            if self.ground.is_free(&waiter.wish, ticket) {
                waiter.ready = true;
                self.ground.wait_no_more(&waiter.wish, ticket);
                self.ground.hold(&waiter.wish);
                self.round.is_ready(&waiter.actor, waiter.priority, ticket);
            }
        }
    }

    /// Grants free slots: actors take turns, each with its highest priority first.
    fn give(&mut self, line: &SharedQueue) -> GrantedTurns {
        let mut given = GrantedTurns::new();
        while self.free > 0
            && let Some(waiter) = self.round.next().and_then(|next| self.waiting.remove(&next))
        {
            self.free -= 1;
            given.push((waiter.tell, Slot::new(line.clone(), waiter.wish)));
        }
        given
    }
}
