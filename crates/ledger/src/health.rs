//! Store health: one up/down state, shared by all users of a store.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use haft_model::Timestamp;
use tokio::sync::watch;

/// Health of a store. It is down from the first failed append until one succeeds again.
///
/// A check costs one atomic load while the store is up, because every call makes it.
#[derive(Debug, Default)]
pub struct StoreHealth {
    down: AtomicBool,
    outage: watch::Sender<Option<Outage>>,
    pending: AtomicU64,
    lost: AtomicU64,
}

/// Why a store cannot be written at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Cause, in one line.
    pub cause: String,
    /// When the outage began.
    pub since: Timestamp,
}

impl StoreHealth {
    /// The current outage; `None` while the store works.
    pub fn outage(&self) -> Option<Outage> {
        match self.down.load(Ordering::Acquire) {
            true => self.outage.borrow().clone(),
            false => None,
        }
    }

    /// Whether the last append succeeded, as far as this process knows.
    pub fn is_up(&self) -> bool {
        !self.down.load(Ordering::Acquire)
    }

    /// Reports a failed write. An outage keeps the time when it began.
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

    /// Reports a successful write.
    pub fn recover(&self) {
        if !self.is_up() {
            self.outage.send_modify(|outage| {
                *outage = None;
                self.down.store(false, Ordering::Release);
            });
        }
    }

    /// Number of accepted entries that were not on disk when writing failed. They are written when
    /// the store recovers.
    pub fn pending(&self) -> u64 {
        self.pending.load(Ordering::Relaxed)
    }

    /// Number of accepted entries that were lost since this process began.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Sets the number of accepted entries that wait for the store.
    pub fn set_pending(&self, count: usize) {
        self.pending.store(count as u64, Ordering::Relaxed);
    }

    /// Counts accepted entries that were lost.
    pub fn lose(&self, count: usize) {
        self.lost.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Notifies on every change of the outage, and on recovery.
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
