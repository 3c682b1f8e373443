//! The time that an attempt has. It stands still while people are asked on its behalf.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// The time that an attempt has: until a moment, or so much of it while it stands still.
#[derive(Clone, Debug)]
pub struct Allowance(Arc<watch::Sender<Hand>>);

#[derive(Clone, Copy, Debug)]
enum Hand {
    Until(Instant),
    Left(Duration),
}

impl Allowance {
    /// Time until a moment.
    pub fn until(deadline: Instant) -> Allowance {
        Allowance(Arc::new(watch::Sender::new(Hand::Until(deadline))))
    }

    /// Lets it stand still.
    pub fn hold(&self) {
        self.0.send_modify(|hand| {
            if let Hand::Until(end) = *hand {
                *hand = Hand::Left(end.saturating_duration_since(Instant::now()));
            }
        });
    }

    /// Lets it go on, with what was left of it.
    pub fn go_on(&self) {
        self.0.send_modify(|hand| {
            if let Hand::Left(left) = *hand {
                *hand = Hand::Until(Instant::now() + left);
            }
        });
    }

    /// Waits until it is over.
    pub async fn over(&self) {
        let mut changed = self.0.subscribe();
        loop {
            let hand = *changed.borrow_and_update();
            match hand {
                Hand::Until(end) => tokio::select! {
                    () = tokio::time::sleep_until(end.into()) => return,
                    _ = changed.changed() => {}
                },
                // The sender is ours, so that somebody can always let it go on.
                Hand::Left(_) => drop(changed.changed().await),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_stands_still_while_people_are_asked() {
        let second = Duration::from_secs(1);
        let time = Allowance::until(Instant::now() + second);
        time.hold();
        let held = tokio::time::timeout(second * 60, time.over()).await;
        assert!(held.is_err(), "it stands still");
        time.go_on();
        let over = tokio::time::timeout(second * 2, time.over()).await;
        assert!(over.is_ok(), "it goes on with what was left");
    }
}
