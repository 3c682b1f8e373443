//! Pausable deadline: the time of an attempt, which stops while people answer on its behalf.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// Time of an attempt: a deadline, or the remaining time while it is paused.
#[derive(Clone, Debug)]
pub struct Allowance {
    deadline: Instant,
    /// Pause state; `None` if the deadline is fixed.
    hand: Option<Arc<watch::Sender<Hand>>>,
}

#[derive(Clone, Copy, Debug)]
enum Hand {
    Until(Instant),
    /// Paused with this much time left, as many times as there are open questions.
    Left(Duration, usize),
}

/// A pause of an allowance; dropping it resumes.
#[derive(Debug)]
pub struct Pause(Allowance);

impl Drop for Pause {
    fn drop(&mut self) {
        self.0.go_on();
    }
}

impl Allowance {
    /// A fixed deadline.
    pub fn until(deadline: Instant) -> Allowance {
        Allowance { deadline, hand: None }
    }

    /// A deadline that can be paused.
    pub fn holdable(deadline: Instant) -> Allowance {
        let hand = Some(Arc::new(watch::Sender::new(Hand::Until(deadline))));
        Allowance { deadline, hand }
    }

    /// Pauses the deadline until each pause is dropped; no effect on a fixed one.
    pub fn pause(&self) -> Pause {
        self.turn(|hand| match hand {
            Hand::Until(end) => Hand::Left(end.saturating_duration_since(now()), 1),
            Hand::Left(left, pauses) => Hand::Left(left, pauses + 1),
        });
        Pause(self.clone())
    }

    /// Ends one pause; the last one resumes with the remaining time.
    fn go_on(&self) {
        self.turn(|hand| match hand {
            Hand::Left(left, pauses) if pauses > 1 => Hand::Left(left, pauses - 1),
            Hand::Left(left, _) => Hand::Until(now() + left),
            going @ Hand::Until(_) => going,
        });
    }

    fn turn(&self, change: impl FnOnce(Hand) -> Hand) {
        if let Some(hand) = &self.hand {
            hand.send_modify(|hand| *hand = change(*hand));
        }
    }

    /// Waits until the deadline has passed.
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
                // `self` owns the sender, so the pause can always end.
                Hand::Left(..) => drop(changed.changed().await),
            }
        }
    }
}

/// Now, by the clock of the timers, which tests can pause.
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
        let (form, other) = (time.pause(), time.pause());
        drop(other);
        let held = tokio::time::timeout(second * 60, time.over()).await;
        assert!(held.is_err(), "it stands still");
        drop(form);
        let over = tokio::time::timeout(second * 2, time.over()).await;
        assert!(over.is_ok(), "it goes on with what was left");
    }
}
