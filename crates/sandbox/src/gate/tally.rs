//! Traffic accounting of the gate: bytes per host, and refused connections.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Whom;
use crate::RefusedAccess;

/// Most refusals that are reported.
pub(crate) const MOST_TRIED: usize = 32;

/// Most hosts whose bytes are counted separately.
const MOST_REACHED: usize = 64;

/// The traffic of a program with one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostTraffic {
    /// The host name or address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Bytes sent to the host.
    pub sent: u64,
    /// Bytes received from the host.
    pub received: u64,
}

/// The traffic accounts of one gate, shared by its connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrafficBook(Arc<Mutex<Books>>);

#[derive(Debug, Default)]
struct Books {
    tried: Vec<RefusedAccess>,
    reached: BTreeMap<(String, u16), Traffic>,
}

/// Byte counters of both directions.
#[derive(Clone, Debug, Default)]
pub(super) struct Traffic {
    pub(super) sent: Arc<AtomicU64>,
    pub(super) received: Arc<AtomicU64>,
}

impl TrafficBook {
    pub(super) fn refused(&self, whom: &Whom, why: &str) {
        let tried =
            RefusedAccess::Host { host: whom.host.clone(), port: whom.port, why: why.to_owned() };
        let mut books = self.books();
        if books.tried.len() < MOST_TRIED && !books.tried.contains(&tried) {
            books.tried.push(tried);
        }
    }

    /// The counters of a host; past the limit, counters that are not reported.
    pub(super) fn traffic(&self, whom: &Whom) -> Traffic {
        let mut books = self.books();
        let key = (whom.host.clone(), whom.port);
        if books.reached.len() >= MOST_REACHED && !books.reached.contains_key(&key) {
            return Traffic::default();
        }
        books.reached.entry(key).or_default().clone()
    }

    pub(crate) fn tried(&self) -> Vec<RefusedAccess> {
        self.books().tried.clone()
    }

    pub(crate) fn reached(&self) -> Vec<HostTraffic> {
        let books = self.books();
        let told = books.reached.iter().map(|((host, port), traffic)| HostTraffic {
            host: host.clone(),
            port: *port,
            sent: traffic.sent.load(Ordering::Relaxed),
            received: traffic.received.load(Ordering::Relaxed),
        });
        told.collect()
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
