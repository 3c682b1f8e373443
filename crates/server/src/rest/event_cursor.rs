//! Event cursor: a client's position in the event stream.

use std::fmt;

/// A position between two events. An entry of the ledger may be several events: all but its last
/// have a number of their own behind that of the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventCursor {
    pub(super) entry: u64,
    /// The last seen event of the entry; `None` where all were.
    pub(super) within: Option<usize>,
}

impl EventCursor {
    pub(super) fn parse(text: &str) -> Option<EventCursor> {
        match text.split_once('.') {
            None => Some(EventCursor { entry: text.parse().ok()?, within: None }),
            Some((entry, within)) => {
                Some(EventCursor { entry: entry.parse().ok()?, within: Some(within.parse().ok()?) })
            }
        }
    }

    /// Whether it comes after another.
    pub(super) fn is_after(self, other: EventCursor) -> bool {
        let order = |place: EventCursor| (place.entry, place.within.unwrap_or(usize::MAX));
        order(self) > order(other)
    }

    /// The last entry of which every event was seen.
    pub(super) fn last_whole(self) -> Option<u64> {
        match self.within {
            None => Some(self.entry),
            Some(_) => self.entry.checked_sub(1),
        }
    }
}

impl fmt::Display for EventCursor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.within {
            None => write!(out, "{}", self.entry),
            Some(within) => write!(out, "{}.{within}", self.entry),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn place(entry: u64, within: Option<usize>) -> EventCursor {
        EventCursor { entry, within }
    }

    #[test]
    fn event_position_names_entry_or_event_within_it() {
        for (text, cursor) in [("7", place(7, None)), ("7.2", place(7, Some(2)))] {
            assert_eq!(EventCursor::parse(text), Some(cursor));
            assert_eq!(cursor.to_string(), text);
        }
        for bad in ["", "x", "7.", "7.x", "-1", "1.2.3"] {
            assert_eq!(EventCursor::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_end_of_an_entry_comes_after_its_parts() {
        let order = [place(6, None), place(7, Some(0)), place(7, Some(1)), place(7, None)];
        for pair in order.windows(2) {
            assert!(pair[1].is_after(pair[0]) && !pair[0].is_after(pair[1]), "{pair:?}");
        }
        assert!(!order[0].is_after(order[0]));
    }
}
