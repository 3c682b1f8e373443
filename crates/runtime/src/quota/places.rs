//! Concurrency limits of tools and drivers: one semaphore per limit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use haft_model::{Code, Stop};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Owner of a concurrency limit: a tool, or a driver pattern by its position in haft.toml.
/// INVARIANT: every call acquires in this order, so calls never deadlock on each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PlaceOf {
    Tool(String),
    Drivers(usize, String),
}

/// Semaphores of all concurrency limits; each grants in first-come order.
#[derive(Default)]
pub(crate) struct Places(Mutex<HashMap<(PlaceOf, u64), Arc<Semaphore>>>);

/// Semaphores that a call acquires; empty without a concurrency limit.
pub(crate) struct AwaitedSlots(Vec<Arc<Semaphore>>);

impl Places {
    /// Semaphores for the given limits, each with its number of permits.
    pub(crate) fn of(&self, mut needed: Vec<(PlaceOf, u64)>) -> AwaitedSlots {
        if needed.is_empty() {
            return AwaitedSlots(Vec::new());
        }
        needed.sort();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut place = |(whose, most): (PlaceOf, u64)| {
            let size = usize::try_from(most).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
            all.entry((whose, most)).or_insert_with(|| Arc::new(Semaphore::new(size))).clone()
        };
        AwaitedSlots(needed.into_iter().map(&mut place).collect())
    }
}

impl AwaitedSlots {
    /// Acquires all permits, one after the other; dropping the result releases them.
    pub(crate) async fn taken(self) -> Result<Vec<OwnedSemaphorePermit>, Stop> {
        let mut taken = Vec::with_capacity(self.0.len());
        for places in self.0 {
            let lost = |_| Stop::new(Code::Internal, "the places of a tool were closed");
            taken.push(places.acquire_owned().await.map_err(lost)?);
        }
        Ok(taken)
    }
}
