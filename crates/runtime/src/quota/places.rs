//! Places of tools and drivers that may not run too often at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use haft_model::{Code, Stop};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Whose places: those of a tool, then those of drivers in the order of haft.toml. Everybody waits
/// for them in this order, so nobody waits for somebody who waits for them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PlaceOf {
    Tool(String),
    Drivers(usize, String),
}

/// The places of everything that has a number of them. They are given in the order of asking.
#[derive(Default)]
pub(crate) struct Places(Mutex<HashMap<(PlaceOf, u64), Arc<Semaphore>>>);

/// The places that a call waits for; none where there are as many as anybody wants.
pub(crate) struct AwaitedSlots(Vec<Arc<Semaphore>>);

impl Places {
    /// The places that a call needs, each with how many there are.
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
    /// Waits until all are free, one after the other. Whoever gets them has them until this is
    /// dropped.
    pub(crate) async fn taken(self) -> Result<Vec<OwnedSemaphorePermit>, Stop> {
        let mut taken = Vec::with_capacity(self.0.len());
        for places in self.0 {
            let lost = |_| Stop::new(Code::Internal, "the places of a tool were closed");
            taken.push(places.acquire_owned().await.map_err(lost)?);
        }
        Ok(taken)
    }
}
