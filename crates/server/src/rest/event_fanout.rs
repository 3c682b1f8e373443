//! Event fan-out: one ledger reader and one shared ring buffer for all subscribers.
//!
//! A thousand waiting subscribers cost what one does, and a thousand slow ones hold no buffer of
//! their own.

mod pages;
mod ring;

use std::collections::HashMap;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use haft_model::{Actor, InvocationId, Stop};
use haft_runtime::Reader;
use tokio::sync::{Mutex, watch};

use super::event_cursor::EventCursor;
pub(super) use pages::Pages;
use pages::Shelf;
pub(super) use ring::NextEvents;
use ring::Ring;

/// An event as wire bytes, shared by all subscribers that get it.
#[derive(Debug)]
pub(super) struct WireEvent {
    pub(super) place: EventCursor,
    pub(super) frame: Bytes,
}

/// What a subscriber may see: all of its tenant, or only its own calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ear {
    tenant: String,
    caller: Option<String>,
}

impl Ear {
    pub(super) fn of(actor: &Actor) -> Ear {
        let caller = (!actor.sees_all()).then(|| actor.id.to_string());
        Ear { tenant: actor.tenant.to_string(), caller }
    }

    fn hears(&self, of: &About) -> bool {
        let theirs = of.tenant.as_ref().is_none_or(|tenant| **tenant == *self.tenant);
        // An event without a caller is for actors that see all calls.
        theirs && self.caller.as_deref().is_none_or(|caller| of.caller.as_deref() == Some(caller))
    }
}

/// Tenant and caller of an event.
#[derive(Clone, Debug, Default)]
struct About {
    tenant: Option<Arc<str>>,
    caller: Option<Arc<str>>,
}

/// Fans out ledger events to subscribers.
#[derive(Default)]
pub(crate) struct Bulletin {
    board: Mutex<Option<Arc<Board>>>,
    shelf: Arc<Shelf>,
}

/// The current ring buffer and its notifier.
pub(super) struct Board {
    ring: Lock<Ring>,
    /// Notifies of new events, and of the end.
    bell: watch::Sender<()>,
}

/// Size of the buffers, and number of subscribers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BulletinCounts {
    pub(crate) readers: usize,
    /// Bytes of all buffered events, each counted once.
    pub(crate) bytes: usize,
}

impl Bulletin {
    /// Subscribes from now on: every later entry is delivered.
    pub(super) async fn join(&self, reader: &Reader) -> Result<Follower, Stop> {
        let mut board = self.board.lock().await;
        // Subscribed before the check whether it is over: it ends without subscribers.
        let current = board.take().map(|board| (board.bell.subscribe(), board));
        let current = current.filter(|(_, board)| !board.ring().is_over());
        let (bell, current) = match current {
            Some(current) => current,
            None => {
                let last = reader.wait_past(None, Duration::ZERO).await?;
                let fresh = Arc::new(Board { ring: Lock::default(), bell: watch::Sender::new(()) });
                let pages = Pages::new(reader.clone(), last, self.shelf.clone());
                let bell = fresh.bell.subscribe();
                tokio::spawn(read_out(fresh.clone(), pages));
                (bell, fresh)
            }
        };
        let next = current.ring().end();
        *board = Some(current.clone());
        Ok(Follower { board: current, bell, next })
    }

    /// The ledger from an entry on, for a subscriber that lags.
    pub(super) fn pages(&self, reader: Reader, after: Option<u64>) -> Pages {
        Pages::new(reader, after, self.shelf.clone())
    }

    /// Current numbers.
    pub(crate) async fn counts(&self) -> BulletinCounts {
        let board = self.board.lock().await;
        let current = board.as_ref().filter(|board| !board.ring().is_over());
        let readers = current.map_or(0, |board| board.bell.receiver_count());
        let bytes = current.map_or(0, |board| board.ring().bytes()) + self.shelf.bytes();
        BulletinCounts { readers, bytes }
    }
}

impl Board {
    fn ring(&self) -> std::sync::MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A subscriber: an index into the shared buffer and nothing else.
pub(super) struct Follower {
    board: Arc<Board>,
    bell: watch::Receiver<()>,
    next: u64,
}

impl Follower {
    /// The next event that the subscriber may see, if there is one.
    pub(super) fn turn(&mut self, ear: &Ear) -> NextEvents {
        self.bell.borrow_and_update();
        self.board.ring().turn(&mut self.next, |about| ear.hears(about))
    }

    /// Waits for more.
    pub(super) async fn more(&mut self) {
        // The board keeps the sender.
        let _ = self.bell.changed().await;
    }
}

/// Publishes new events, until no subscriber is left or the ledger cannot be read.
async fn read_out(board: Arc<Board>, mut pages: Pages) {
    loop {
        let page = pages.wait().await;
        let mut ring = board.ring();
        match page {
            Ok(page) => page.iter().for_each(|event| ring.push(event.clone())),
            // The streams end, and their clients reconnect with the last event they saw.
            Err(_) => ring.end_here(),
        }
        if board.bell.receiver_count() == 0 {
            ring.end_here();
        }
        let over = ring.is_over();
        drop(ring);
        board.bell.send_replace(());
        if over {
            return;
        }
    }
}

/// Cached owners of calls.
type Owners = HashMap<InvocationId, Option<About>>;

#[cfg(test)]
mod tests;
