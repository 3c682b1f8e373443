//! The line before the places: who waits, and whose turn is next.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use haft_model::Actor;
use tokio::sync::oneshot;

use super::fair_share::Round;
use super::lock_table::{Ground, LockRequest};
use super::slots::Slot;
use super::sync::{Mutex, MutexGuard};

/// One line, shared by those who stand in it.
pub(super) type SharedQueue = Arc<Mutex<WaitQueue>>;

/// A call that waits.
struct Waiter {
    actor: Arc<Actor>,
    priority: i32,
    wish: LockRequest,
    /// Whether everything it touches is its own already, and only a place is missing.
    ready: bool,
    tell: oneshot::Sender<Slot>,
}

/// Everything that is taken together is given at once, so nobody ever holds one thing while
/// waiting for another.
#[derive(Default)]
pub(super) struct WaitQueue {
    free: usize,
    /// Places that were lent and are taken back from whoever ends next.
    owed: usize,
    ground: Ground,
    waiting: HashMap<u64, Waiter>,
    round: Round,
    tickets: u64,
}

/// Turns that were given and have yet to be told.
pub(super) type GrantedTurns = Vec<(oneshot::Sender<Slot>, Slot)>;

/// A line before so many places.
pub(super) fn shared(places: usize) -> SharedQueue {
    Arc::new(Mutex::new(WaitQueue { free: places, ..WaitQueue::default() }))
}

/// The line, to look at or to change.
pub(super) fn open(line: &SharedQueue) -> MutexGuard<'_, WaitQueue> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells those who were given a turn. The line must not be held: whoever left gives it back at once.
pub(super) fn tell(given: GrantedTurns) {
    for (tell, slot) in given {
        let _ = tell.send(slot);
    }
}

impl WaitQueue {
    /// A turn at once, or the wish back. With a place free, whoever waits does so for a lock.
    pub(super) fn at_once(&mut self, wish: LockRequest) -> Result<LockRequest, LockRequest> {
        if self.free == 0 || !self.ground.is_free(&wish, u64::MAX) {
            return Err(wish);
        }
        self.free -= 1;
        self.ground.hold(&wish);
        Ok(wish)
    }

    /// Joins the end of the line.
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

    /// Leaves the line, if it still stands there. Others may have waited behind it.
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

    /// Ends a turn.
    pub(super) fn end(&mut self, line: &SharedQueue, wish: &LockRequest) -> GrantedTurns {
        match self.owed {
            0 => self.free += 1,
            _ => self.owed -= 1,
        }
        self.ground.let_go(wish);
        self.look_again(wish);
        self.give(line)
    }

    /// Lets somebody else have the place of a call that only waits; it keeps what it touches.
    pub(super) fn lend(&mut self, line: &SharedQueue) -> GrantedTurns {
        self.free += 1;
        self.give(line)
    }

    /// Takes a place back that was lent: a free one, or that of whoever ends next.
    pub(super) fn take_back(&mut self) {
        match self.free {
            0 => self.owed += 1,
            _ => self.free -= 1,
        }
    }

    /// Something was given back: whoever waited for nothing else has it now, the earlier first.
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

    /// Gives free places away: actors take turns, and each has what is most urgent to it first.
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
