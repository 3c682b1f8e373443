//! The time that an attempt has. It stands still while people are asked on its behalf.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// The time that an attempt has: until a moment, or so much of it while it stands still.
#[derive(Clone, Debug)]
pub struct Allowance {
    deadline: Instant,
    /// Where somebody may let it stand still.
    hand: Option<Arc<watch::Sender<Hand>>>,
}

#[derive(Clone, Copy, Debug)]
enum Hand {
    Until(Instant),
    Left(Duration),
}

impl Allowance {
    /// Time until a moment, come what may.
    pub fn until(deadline: Instant) -> Allowance {
        Allowance { deadline, hand: None }
    }

    /// The same, and it can be let stand still.
    pub fn holdable(deadline: Instant) -> Allowance {
        let hand = Some(Arc::new(watch::Sender::new(Hand::Until(deadline))));
        Allowance { deadline, hand }
    }

    /// Lets it stand still, if that can be.
    pub fn hold(&self) {
        self.turn(|hand| match hand {
            Hand::Until(end) => Hand::Left(end.saturating_duration_since(now())),
            still => still,
        });
    }

    /// Lets it go on, with what was left of it.
    pub fn go_on(&self) {
        self.turn(|hand| match hand {
            Hand::Left(left) => Hand::Until(now() + left),
            going => going,
        });
    }

    fn turn(&self, change: impl FnOnce(Hand) -> Hand) {
        if let Some(hand) = &self.hand {
            hand.send_modify(|hand| *hand = change(*hand));
        }
    }

    /// Waits until it is over.
    pub async fn over(&self) {
        let Some(hand) = &self.hand else {
            return tokio::time::sleep_until(self.deadline.into()).await;
        };
        let mut changed = hand.subscribe();
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

/// Now, by the clock that timers go by.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_stands_still_while_people_are_asked() {
        let second = Duration::from_secs(1);
        let time = Allowance::holdable(Instant::now() + second);
        time.hold();
        let held = tokio::time::timeout(second * 60, time.over()).await;
        assert!(held.is_err(), "it stands still");
        time.go_on();
        let over = tokio::time::timeout(second * 2, time.over()).await;
        assert!(over.is_ok(), "it goes on with what was left");
    }
}
