//! Shared timer: one periodic tick wakes all waiters.
//!
//! A timer per waiter would wake the I/O thread each time, which costs more than many calls do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Periodic tick that runs only while a task waits for it.
#[derive(Clone, Debug)]
pub struct SharedTimer {
    every: Duration,
    heart: Arc<Heart>,
}

#[derive(Debug, Default)]
struct Heart {
    rings: Notify,
    waiting: AtomicUsize,
    beats: AtomicBool,
}

/// Guard that counts a waiting task.
struct Waiting<'h>(&'h Heart);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

impl SharedTimer {
    /// A timer that ticks once per `every`.
    pub fn new(every: Duration) -> SharedTimer {
        SharedTimer { every, heart: Arc::default() }
    }

    /// Waits until `then` has passed, rounded up to the next tick.
    pub async fn past(&self, then: Instant) {
        self.heart.waiting.fetch_add(1, Ordering::AcqRel);
        let _waiting = Waiting(&self.heart);
        loop {
            // Registers before it starts the ticker, so that no tick is missed.
            let ring = self.heart.rings.notified();
            self.go_on();
            ring.await;
            if Instant::now() >= then {
                return;
            }
        }
    }

    /// Starts the ticker, unless it runs.
    fn go_on(&self) {
        if self.heart.beats.swap(true, Ordering::AcqRel) {
            return;
        }
        let (heart, every) = (self.heart.clone(), self.every);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                heart.rings.notify_waiters();
                if heart.waiting.load(Ordering::Acquire) > 0 {
                    continue;
                }
                heart.beats.store(false, Ordering::Release);
                // A task that came meanwhile may have seen the ticker as running.
                let anybody = heart.waiting.load(Ordering::Acquire) > 0;
                if !anybody || heart.beats.swap(true, Ordering::AcqRel) {
                    return;
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn shared_timer_wakes_waiters_and_stops_when_idle() {
        let second = Duration::from_secs(1);
        let pulse = SharedTimer::new(second);
        for round in 0..3 {
            let began = Instant::now();
            let (one, other) =
                (pulse.past(began), pulse.past(began + second + Duration::from_millis(1)));
            let (first, last) = tokio::join!(
                async {
                    one.await;
                    began.elapsed()
                },
                async {
                    other.await;
                    began.elapsed()
                }
            );
            assert!(first <= second, "round {round}: {first:?}");
            assert!(last > second && last <= second * 3, "round {round}: {last:?}");
            tokio::time::sleep(second * 2).await;
            assert!(!pulse.heart.beats.load(Ordering::Acquire), "round {round}");
        }
    }
}
