//! Places of tools that may not run too often at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use haft_model::{Code, Stop};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The places of each tool that has a number of them. They are given in the order of asking.
#[derive(Default)]
pub(crate) struct Places(Mutex<HashMap<(String, u64), Arc<Semaphore>>>);

/// A place to wait for; none where there are as many as anybody wants.
pub(crate) struct Place(Option<Arc<Semaphore>>);

impl Places {
    /// The place that a call of a tool waits for.
    pub(crate) fn of(&self, tool: String, most: Option<u64>) -> Place {
        let Some(most) = most else { return Place(None) };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let size = usize::try_from(most).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        let made = || Arc::new(Semaphore::new(size));
        Place(Some(all.entry((tool, most)).or_insert_with(made).clone()))
    }
}

impl Place {
    /// Waits until it is free. Whoever gets it has it until this is dropped.
    pub(crate) async fn taken(self) -> Result<Option<OwnedSemaphorePermit>, Stop> {
        let Some(places) = self.0 else { return Ok(None) };
        let lost = |_| Stop::new(Code::Internal, "the places of the tool were closed");
        places.acquire_owned().await.map(Some).map_err(lost)
    }
}
