//! Dual clock time: a moment by the wall clock, which can be set, and by the time since boot.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Span, Timestamp};

/// A moment. Two moments of one boot compare by the time since that boot, which counts suspension
/// and cannot be set; all others compare by the wall clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DualTime {
    /// Wall clock time.
    pub at: Timestamp,
    /// Time since boot, where the platform tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<BootTime>,
}

/// The time since one boot of one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootTime {
    /// Boot id, unique to each boot.
    pub id: Arc<str>,
    /// Microseconds since boot, including time in suspension.
    pub micros: u64,
}

impl DualTime {
    /// The moment `by` later, on both clocks.
    pub fn later(&self, by: Duration) -> DualTime {
        let micros = u64::try_from(by.as_micros()).unwrap_or(u64::MAX);
        let span = Span::new().try_microseconds(i64::try_from(micros).unwrap_or(i64::MAX));
        let at = span.ok().and_then(|span| self.at.checked_add(span).ok());
        let boot = self
            .boot
            .clone()
            .map(|boot| BootTime { micros: boot.micros.saturating_add(micros), ..boot });
        DualTime { at: at.unwrap_or(Timestamp::MAX), boot }
    }

    /// Whether the moment has passed; true at the moment itself.
    pub fn is_past(&self, now: &DualTime) -> bool {
        match self.boots(now) {
            Some((then, now)) => then <= now,
            None => self.at <= now.at,
        }
    }

    /// Time left until then; zero where it has passed.
    pub fn remaining(&self, now: &DualTime) -> Duration {
        let micros = match self.boots(now) {
            Some((then, now)) => then.saturating_sub(now),
            None => {
                let left = self.at.as_microsecond().saturating_sub(now.at.as_microsecond());
                u64::try_from(left).unwrap_or(0)
            }
        };
        Duration::from_micros(micros)
    }

    /// The later of two moments.
    pub fn max(self, other: DualTime) -> DualTime {
        if self.is_past(&other) { other } else { self }
    }

    fn boots(&self, other: &DualTime) -> Option<(u64, u64)> {
        match (&self.boot, &other.boot) {
            (Some(ours), Some(theirs)) if ours.id == theirs.id => {
                Some((ours.micros, theirs.micros))
            }
            (_, _) => None,
        }
    }
}

impl From<Timestamp> for DualTime {
    /// A moment of which only the wall clock is known.
    fn from(at: Timestamp) -> DualTime {
        DualTime { at, boot: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(second: i64, boot: Option<(&str, u64)>) -> DualTime {
        let boot =
            boot.map(|(id, seconds)| BootTime { id: id.into(), micros: seconds * 1_000_000 });
        DualTime { at: Timestamp::from_second(second).unwrap(), boot }
    }

    #[test]
    fn wall_clock_change_moves_no_deadline_within_boot() {
        let end = moment(100, Some(("a", 10)));
        for wall in [0, 99, 100, 10_000] {
            assert!(!end.is_past(&moment(wall, Some(("a", 9)))), "{wall}");
            assert!(end.is_past(&moment(wall, Some(("a", 10)))), "{wall}");
            assert_eq!(end.remaining(&moment(wall, Some(("a", 7)))), Duration::from_secs(3));
        }
    }

    #[test]
    fn moments_of_two_boots_are_compared_by_the_calendar() {
        let end = moment(100, Some(("a", 10)));
        for other in [Some(("b", 5000)), None] {
            assert!(!end.is_past(&moment(99, other)));
            assert!(end.is_past(&moment(100, other)));
            assert_eq!(end.remaining(&moment(98, other)), Duration::from_secs(2));
            assert_eq!(end.remaining(&moment(300, other)), Duration::ZERO);
        }
    }

    #[test]
    fn a_later_moment_is_later_by_both_clocks() {
        let later = moment(100, Some(("a", 10))).later(Duration::from_secs(5));
        assert_eq!(later, moment(105, Some(("a", 15))));
        assert_eq!(moment(100, None).later(Duration::MAX).at, Timestamp::MAX);
    }
}
