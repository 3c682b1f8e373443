//! Keyed pool: single-flight creation, exponential backoff and idle eviction.
//!
//! Each key has at most one item, created on first use. A broken item is created again after a
//! backoff that doubles with each failure. An item without callers is evicted after the idle time.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;

use haft_model::{Actor, ActorId, Blame, Code, Stop};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// First backoff after a failure; it doubles with each failure up to the longest.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How long an item must work before its earlier failures are forgotten.
const HOLDS: Duration = Duration::from_secs(60);

/// A key compared field by field; in a formatted text one caller's names could read as another's.
pub(crate) trait PoolKey: Clone + Eq + Hash + Send + Sync + 'static {}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> PoolKey for K {}

/// The actor whose calls alone may use an item, as the part of a key that separates users.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ItemOwner {
    tenant: Arc<str>,
    actor: ActorId,
}

impl ItemOwner {
    pub(crate) fn new(actor: &Actor) -> ItemOwner {
        ItemOwner { tenant: actor.tenant.clone(), actor: actor.id.clone() }
    }
}

/// A pool with at most one item per key.
pub(crate) struct KeyedPool<K, T> {
    places: Arc<Places<K, T>>,
    idle: Duration,
    /// How many items are being created.
    making: AtomicUsize,
}

/// Counts one creation until it ends, also by cancellation.
struct Making<'k>(&'k AtomicUsize);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The slot of each key.
type Places<K, T> = StdMutex<HashMap<K, Arc<Mutex<PoolSlot<T>>>>>;

/// The item of a key, and its failures.
struct PoolSlot<T> {
    there: Option<Arc<T>>,
    made: Instant,
    wanted: Instant,
    /// Consecutive failures, and the end of the backoff.
    broke: u32,
    not_before: Instant,
}

impl<K: PoolKey, T: Send + Sync + 'static> KeyedPool<K, T> {
    /// Builds an empty pool that evicts items unused for `idle`.
    pub(crate) fn new(idle: Duration) -> KeyedPool<K, T> {
        KeyedPool { places: Arc::default(), idle, making: AtomicUsize::new(0) }
    }

    /// The item of a key, created if absent. Concurrent callers wait for the same creation.
    pub(crate) async fn get<F>(
        &self,
        key: &K,
        make: impl FnOnce() -> F + Send,
    ) -> Result<Arc<T>, Stop>
    where
        F: Future<Output = Result<T, Stop>> + Send,
    {
        let place = self.place(key);
        let mut place = place.lock().await;
        place.wanted = Instant::now();
        if let Some(there) = &place.there {
            return Ok(there.clone());
        }
        place.ready()?;
        self.making.fetch_add(1, Ordering::Relaxed);
        let making = Making(&self.making);
        let made = make().await;
        drop(making);
        match made {
            Ok(made) => {
                let made = Arc::new(made);
                (place.there, place.made) = (Some(made.clone()), Instant::now());
                self.let_go_when_idle(key);
                Ok(made)
            }
            Err(stop) => {
                place.broken();
                Err(stop)
            }
        }
    }

    /// Whether an item is being created while none is ready. It never blocks.
    pub(crate) fn is_only_making(&self) -> bool {
        let there = |place: &Arc<Mutex<PoolSlot<T>>>| {
            place.try_lock().is_ok_and(|place| place.there.is_some())
        };
        self.making.load(Ordering::Relaxed) > 0
            && !self.places.lock().unwrap_or_else(PoisonError::into_inner).values().any(there)
    }

    /// Reports a broken item and starts the backoff. A repeated report of the same item is ignored.
    pub(crate) async fn broke(&self, key: &K, broken: &Arc<T>) {
        let place = self.place(key);
        let mut place = place.lock().await;
        if place.there.as_ref().is_some_and(|there| Arc::ptr_eq(there, broken)) {
            place.broken();
        }
    }

    /// Removes an item without a backoff for the next.
    pub(crate) async fn let_go(&self, key: &K, done: &Arc<T>) {
        let place = self.place(key);
        let mut place = place.lock().await;
        if place.there.as_ref().is_some_and(|there| Arc::ptr_eq(there, done)) {
            place.there = None;
        }
    }

    fn place(&self, key: &K) -> Arc<Mutex<PoolSlot<T>>> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = places.get(key) {
            return place.clone();
        }
        places.entry(key.clone()).or_insert_with(|| Arc::new(Mutex::new(PoolSlot::new()))).clone()
    }

    fn let_go_when_idle(&self, key: &K) {
        let (places, key, idle) = (Arc::downgrade(&self.places), key.clone(), self.idle);
        tokio::spawn(async move {
            let mut until = Instant::now() + idle;
            loop {
                tokio::time::sleep_until(until).await;
                let Some(places) = places.upgrade() else { return };
                let found =
                    places.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
                let Some(place) = found else { return };
                let mut place = place.lock().await;
                until = place.wanted + idle;
                // A caller that uses the item holds a reference.
                let in_use = place.there.as_ref().is_some_and(|there| Arc::strong_count(there) > 1);
                if in_use {
                    until = Instant::now() + idle;
                } else if until <= Instant::now() {
                    place.there = None;
                    return;
                }
            }
        });
    }
}

impl<T> PoolSlot<T> {
    fn new() -> PoolSlot<T> {
        let now = Instant::now();
        PoolSlot { there: None, made: now, wanted: now, broke: 0, not_before: now }
    }

    fn ready(&self) -> Result<(), Stop> {
        let pause = self.not_before.saturating_duration_since(Instant::now());
        if pause.is_zero() {
            return Ok(());
        }
        let words = format!("it broke {} times in a row and is left alone for a while", self.broke);
        let stop = Stop::new(Code::DependencyUnavailable, words).blaming(Blame::Backoff);
        Err(stop.help(format!("try again in {} ms", pause.as_millis() + 1)))
    }

    fn broken(&mut self) {
        let held = self.there.take().is_some() && self.made.elapsed() >= HOLDS;
        self.broke = if held { 1 } else { self.broke + 1 };
        let pause = FIRST_PAUSE.saturating_mul(1 << (self.broke - 1).min(16)).min(LONGEST_PAUSE);
        self.not_before = Instant::now() + pause;
    }
}

#[cfg(test)]
mod tests;
