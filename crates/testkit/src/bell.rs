//! Counting waker: counts the wake-ups of a task.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

/// Counts how often the waiting task is woken.
#[derive(Debug, Default)]
pub struct Bell(AtomicUsize);

impl Bell {
    /// How many wake-ups it has counted so far.
    pub fn rang(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
