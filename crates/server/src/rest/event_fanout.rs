//! One reader of the ledger and one buffer for everyone who follows it: a thousand who wait cost what one
//! does, and a thousand who do not read hold nothing of their own.

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

/// An event as everyone hears it: the bytes that go over the wire, shared by all to whom they go.
#[derive(Debug)]
pub(super) struct WireEvent {
    pub(super) place: EventCursor,
    pub(super) frame: Bytes,
}

/// What a follower may hear of: of their tenant all, or only what they called themselves.
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
        // What is no one's call is the business of those who see all.
        theirs && self.caller.as_deref().is_none_or(|caller| of.caller.as_deref() == Some(caller))
    }
}

/// Whose business an event is.
#[derive(Clone, Debug, Default)]
struct About {
    tenant: Option<Arc<str>>,
    caller: Option<Arc<str>>,
}

/// Where what is recorded is read out.
#[derive(Default)]
pub(crate) struct Bulletin {
    board: Mutex<Option<Arc<Board>>>,
    shelf: Arc<Shelf>,
}

/// What is read out to those who follow now.
pub(super) struct Board {
    ring: Lock<Ring>,
    /// Rings when there is more, or no more.
    bell: watch::Sender<()>,
}

/// How much the buffer holds, and for how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BulletinCounts {
    pub(crate) readers: usize,
    /// The bytes of all events that wait for anyone, each counted once.
    pub(crate) bytes: usize,
}

impl Bulletin {
    /// What comes from now on: an entry that is not in the ledger yet will be heard.
    pub(super) async fn join(&self, reader: &Reader) -> Result<Follower, Stop> {
        let mut board = self.board.lock().await;
        // Subscribed before it is asked whether it is over: it ends where no one is.
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

    /// The ledger from a place on, for a follower who is behind.
    pub(super) fn pages(&self, reader: Reader, after: Option<u64>) -> Pages {
        Pages::new(reader, after, self.shelf.clone())
    }

    /// How much there is.
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

/// One who follows, by a number in the shared buffer and nothing else.
pub(super) struct Follower {
    board: Arc<Board>,
    bell: watch::Receiver<()>,
    next: u64,
}

impl Follower {
    /// The next event that an ear may hear, if there is one.
    pub(super) fn turn(&mut self, ear: &Ear) -> NextEvents {
        self.bell.borrow_and_update();
        self.board.ring().turn(&mut self.next, |about| ear.hears(about))
    }

    /// Waits until there is more.
    pub(super) async fn more(&mut self) {
        // The board keeps the other end.
        let _ = self.bell.changed().await;
    }
}

/// Tells what comes, until no one follows or the ledger cannot be read.
async fn read_out(board: Arc<Board>, mut pages: Pages) {
    loop {
        let page = pages.wait().await;
        let mut ring = board.ring();
        match page {
            Ok(page) => page.iter().for_each(|event| ring.push(event.clone())),
            // Their streams end, and they come back with the last that they heard.
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

/// Whose calls there are, as far as it was looked up.
type Owners = HashMap<InvocationId, Option<About>>;

#[cfg(test)]
mod tests;
