//! A waker that counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

/// Counts how often whoever waits is woken.
#[derive(Debug, Default)]
pub struct Bell(AtomicUsize);

impl Bell {
    /// How often it was, so far.
    pub fn rang(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
