//! Whether a store can keep what it is given: one answer, shared by all that use the store.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use haft_model::Timestamp;
use tokio::sync::watch;

/// The health of a store. It is down from the first append that failed until one works again.
///
/// Asking costs one load of an atomic while the store is up, because every call asks.
#[derive(Debug, Default)]
pub struct StoreHealth {
    down: AtomicBool,
    outage: watch::Sender<Option<Outage>>,
    pending: AtomicU64,
    lost: AtomicU64,
}

/// Why a store cannot keep anything at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// What went wrong.
    pub cause: String,
    /// When it was first seen.
    pub since: Timestamp,
}

impl StoreHealth {
    /// Why the store cannot be used; none while it works.
    pub fn outage(&self) -> Option<Outage> {
        match self.down.load(Ordering::Acquire) {
            true => self.outage.borrow().clone(),
            false => None,
        }
    }

    /// Whether the last append worked, as far as this process knows.
    pub fn is_up(&self) -> bool {
        !self.down.load(Ordering::Acquire)
    }

    /// Notes that the store cannot be written. An outage keeps the time when it began.
    pub fn fail(&self, cause: impl Into<String>) {
        let cause = cause.into();
        self.outage.send_if_modified(|outage| {
            let known = outage.as_ref().is_some_and(|outage| outage.cause == cause);
            let since = outage.as_ref().map_or_else(Timestamp::now, |outage| outage.since);
            *outage = Some(Outage { cause, since });
            self.down.store(true, Ordering::Release);
            !known
        });
    }

    /// Notes that the store was written.
    pub fn recover(&self) {
        if !self.is_up() {
            self.outage.send_modify(|outage| {
                *outage = None;
                self.down.store(false, Ordering::Release);
            });
        }
    }

    /// How many entries were accepted without being on the disk when writing failed. They are
    /// written when the store can be written again.
    pub fn pending(&self) -> u64 {
        self.pending.load(Ordering::Relaxed)
    }

    /// How many accepted entries were given up since this process began.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Says how many accepted entries wait for the store.
    pub fn set_pending(&self, count: usize) {
        self.pending.store(count as u64, Ordering::Relaxed);
    }

    /// Counts accepted entries that were given up.
    pub fn lose(&self, count: usize) {
        self.lost.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Hears whenever the store goes down, for another reason too, and when it is up again.
    pub fn changes(&self) -> watch::Receiver<Option<Outage>> {
        self.outage.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outage_keeps_its_beginning_until_an_append_works() {
        let health = StoreHealth::default();
        assert!(health.is_up() && health.outage().is_none());
        health.fail("the disk is full");
        let first = health.outage().unwrap();
        health.fail("another program holds it");
        let later = health.outage().unwrap();
        assert_eq!((later.cause.as_str(), later.since), ("another program holds it", first.since));
        health.recover();
        assert!(health.is_up() && health.outage().is_none());
    }
}
