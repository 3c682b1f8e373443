//! Worker slots: numbers the exclusive workers, so that the same few are reused.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

/// Most exclusive workers at a time.
const MOST: usize = 8;

/// The slot numbers in use.
pub(super) struct Slots {
    taken: Mutex<BTreeSet<usize>>,
    room: Semaphore,
}

/// A slot number held by one call.
pub(super) struct Slot<'a> {
    slots: &'a Slots,
    pub(super) number: usize,
    _room: Option<SemaphorePermit<'a>>,
}

impl Default for Slots {
    fn default() -> Slots {
        Slots { taken: Mutex::default(), room: Semaphore::new(MOST) }
    }
}

impl Slots {
    /// Takes the lowest free slot number, and waits for one if all are taken.
    pub(super) async fn take(&self) -> Slot<'_> {
        let room = self.room.acquire().await.ok();
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let number = (0..).find(|number| !taken.contains(number)).unwrap_or_default();
        taken.insert(number);
        Slot { slots: self, number, _room: room }
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.slots.taken.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_lowest_free_number_is_taken() {
        let slots = Slots::default();
        let (first, second) = (slots.take().await, slots.take().await);
        assert_eq!((first.number, second.number), (0, 1));
        drop(first);
        assert_eq!(slots.take().await.number, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn full_slots_make_caller_wait() {
        let slots = Slots::default();
        let mut taken = Vec::new();
        for _ in 0..MOST {
            taken.push(slots.take().await);
        }
        let soon = std::time::Duration::from_millis(1);
        assert!(tokio::time::timeout(soon, slots.take()).await.is_err());
        taken.remove(3);
        assert_eq!(slots.take().await.number, 3);
    }
}
