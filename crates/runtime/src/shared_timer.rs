//! A pulse that all who wait share, so that none of them needs a timer of its own: to set one wakes
//! the thread that waits for sockets, which costs more than many calls do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// A pulse that beats while somebody waits for it.
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

/// Somebody who waits.
struct Waiting<'h>(&'h Heart);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

impl SharedTimer {
    /// One that beats every so often.
    pub fn new(every: Duration) -> SharedTimer {
        SharedTimer { every, heart: Arc::default() }
    }

    /// Waits until a moment has passed, and up to one beat longer.
    pub async fn past(&self, then: Instant) {
        self.heart.waiting.fetch_add(1, Ordering::AcqRel);
        let _waiting = Waiting(&self.heart);
        loop {
            // Before the heart is looked at, so that no beat falls between.
            let ring = self.heart.rings.notified();
            self.go_on();
            ring.await;
            if Instant::now() >= then {
                return;
            }
        }
    }

    /// Lets the heart beat, unless it does.
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
                // Whoever came meanwhile may have taken it for beating.
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
