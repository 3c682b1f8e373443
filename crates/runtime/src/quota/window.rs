//! Quota windows and the usage inside one: pure arithmetic over timestamps.

use std::collections::VecDeque;

use haft_model::{Span, Timestamp};

/// Time window of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Window {
    /// Sliding window, in seconds.
    Sliding(i64),
    /// Calendar day, since midnight UTC.
    UtcDay,
}

const DAY: i64 = 86_400;

impl Window {
    /// Start of the window at `now`; earlier uses do not count.
    pub(crate) fn start(self, now: Timestamp) -> Timestamp {
        match self {
            Window::Sliding(seconds) => moved(now, -seconds),
            Window::UtcDay => midnight(now),
        }
    }

    /// Returns true if a use at `at` counts at `now`.
    pub(crate) fn holds(self, at: Timestamp, now: Timestamp) -> bool {
        self.leaves(at) > now
    }

    /// Moment at which a use leaves the window.
    pub(crate) fn leaves(self, at: Timestamp) -> Timestamp {
        match self {
            Window::Sliding(seconds) => moved(at, seconds),
            Window::UtcDay => moved(midnight(at), DAY),
        }
    }
}

fn moved(at: Timestamp, seconds: i64) -> Timestamp {
    let end = if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    at.checked_add(Span::new().seconds(seconds)).unwrap_or(end)
}

fn midnight(at: Timestamp) -> Timestamp {
    let second = at.as_second();
    Timestamp::from_second(second - second.rem_euclid(DAY)).unwrap_or(Timestamp::MIN)
}

/// Usage samples in a window, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowUsage {
    uses: VecDeque<UsageSample>,
    sum: u64,
}

#[derive(Clone, Copy, Debug)]
struct UsageSample {
    at: Timestamp,
    amount: u64,
    /// Reservation that added the sample; 0 if it cannot be returned.
    ticket: u64,
}

/// Refusal of a quota window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom {
    /// Current usage, in the unit of the scope.
    pub(crate) used: u64,
    /// Milliseconds until there is room, at least 1; `None` if there never is.
    pub(crate) wait_ms: Option<u64>,
}

impl WindowUsage {
    /// Adds a sample, in order of time.
    pub(crate) fn add(&mut self, at: Timestamp, amount: u64, ticket: u64) {
        let place = self.uses.partition_point(|used| used.at <= at);
        self.uses.insert(place, UsageSample { at, amount, ticket });
        self.sum = self.sum.saturating_add(amount);
    }

    /// Removes the sample of a reservation.
    pub(crate) fn give_back(&mut self, ticket: u64) {
        let found = self.uses.iter().rposition(|used| used.ticket == ticket);
        if let Some(used) = found.and_then(|place| self.uses.remove(place)) {
            self.sum = self.sum.saturating_sub(used.amount);
        }
    }

    /// Drops the samples that left the window.
    pub(crate) fn expire(&mut self, window: Window, now: Timestamp) {
        while let Some(oldest) = self.uses.front().filter(|used| !window.holds(used.at, now)) {
            self.sum = self.sum.saturating_sub(oldest.amount);
            self.uses.pop_front();
        }
    }

    /// Current usage, in the unit of the scope.
    pub(crate) fn used(&self) -> u64 {
        self.sum
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.uses.is_empty()
    }

    /// Checks that `amount` more fits under the cap; the caller calls `expire` first.
    pub(crate) fn room(
        &self,
        window: Window,
        most: u64,
        amount: u64,
        now: Timestamp,
    ) -> Result<(), NoRoom> {
        let full = |used: u64| used.saturating_add(amount) > most;
        if !full(self.sum) {
            return Ok(());
        }
        let mut left = self.sum;
        let freeing = self.uses.iter().find(|used| {
            left = left.saturating_sub(used.amount);
            !full(left)
        });
        let wait_ms = freeing.map(|used| {
            let nanos = window.leaves(used.at).as_nanosecond() - now.as_nanosecond();
            let millis = (nanos + 999_999).div_euclid(1_000_000);
            u64::try_from(millis).unwrap_or_default().max(1)
        });
        Err(NoRoom { used: self.sum, wait_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Timestamp in milliseconds, counted from two seconds before midnight UTC.
    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_790_035_198_000 + ms).unwrap()
    }

    fn tally(moments: &[(i64, u64)]) -> WindowUsage {
        let mut tally = WindowUsage::default();
        for (ticket, (ms, amount)) in moments.iter().enumerate() {
            tally.add(at(*ms), *amount, ticket as u64 + 1);
        }
        tally
    }

    #[test]
    fn use_leaves_sliding_window_exactly_at_window_age() {
        let window = Window::Sliding(60);
        assert!(window.holds(at(0), at(59_999)));
        assert!(!window.holds(at(0), at(60_000)));
        assert_eq!(window.start(at(60_000)), at(0));
    }

    #[test]
    fn daily_window_ends_at_midnight_utc() {
        let window = Window::UtcDay;
        assert_eq!(window.leaves(at(0)), at(2000));
        assert_eq!(window.leaves(at(1999)), at(2000));
        assert_eq!(window.leaves(at(2000)), at(2000 + 86_400_000));
        assert!(window.holds(at(0), at(1999)) && !window.holds(at(0), at(2000)));
        assert_eq!(window.start(at(2000)), at(2000));
    }

    #[test]
    fn the_wait_is_until_enough_has_left_the_window() {
        let full = |used, wait_ms| Err(NoRoom { used, wait_ms });
        let cases = [
            // Usage, cap, amount, now, and the expected result.
            (&[][..], 1, 1, 0, Ok(())),
            (&[], 0, 1, 0, full(0, None)),
            (&[(0, 1)], 2, 1, 500, Ok(())),
            (&[(0, 1), (300, 1)], 2, 1, 500, full(2, Some(500))),
            (&[(300, 1), (0, 1)], 2, 1, 500, full(2, Some(500))),
            (&[(0, 1), (300, 1), (400, 1)], 2, 1, 500, full(3, Some(800))),
            (&[(0, 1)], 1, 1, 999, full(1, Some(1))),
            (&[(0, 30), (300, 60)], 100, 10, 500, Ok(())),
            (&[(0, 30), (300, 60)], 100, 20, 500, full(90, Some(500))),
            (&[(0, 30), (300, 60)], 100, 80, 500, full(90, Some(800))),
            (&[(0, 30), (300, 60)], 100, 101, 500, full(90, None)),
        ];
        for (moments, most, amount, now, expected) in cases {
            let found = tally(moments).room(Window::Sliding(1), most, amount, at(now));
            assert_eq!(found, expected, "{moments:?} {most} {amount} {now}");
        }
    }

    #[test]
    fn a_wait_is_never_nothing_and_is_rounded_up() {
        let mut tally = WindowUsage::default();
        let nearly = Timestamp::from_nanosecond(at(0).as_nanosecond() + 1).unwrap();
        tally.add(nearly, 1, 0);
        let wait = tally.room(Window::Sliding(1), 1, 1, at(1000)).unwrap_err().wait_ms;
        assert_eq!(wait, Some(1));
        let wait = tally.room(Window::Sliding(1), 1, 1, at(0)).unwrap_err().wait_ms;
        assert_eq!(wait, Some(1001));
    }

    #[test]
    fn what_expired_or_was_given_back_is_not_counted() {
        let mut tally = tally(&[(0, 1), (300, 2), (600, 4)]);
        assert_eq!(tally.used(), 7);
        tally.give_back(2);
        assert_eq!(tally.used(), 5);
        tally.give_back(2);
        assert_eq!(tally.used(), 5, "nothing is given back twice");
        tally.expire(Window::Sliding(1), at(1000));
        assert_eq!((tally.used(), tally.is_empty()), (4, false));
        tally.expire(Window::Sliding(1), at(1600));
        assert_eq!((tally.used(), tally.is_empty()), (0, true));
    }
}
