//! Ring buffer of the latest events, shared by all subscribers and bounded in bytes.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{About, WireEvent};

/// Most events and bytes in the buffer. A subscriber that lags further reads the ledger.
const MOST_EVENTS: usize = 1024;
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// The latest events.
#[derive(Default)]
pub(super) struct Ring {
    events: VecDeque<(About, Arc<WireEvent>)>,
    /// Number of the first event.
    first: u64,
    bytes: usize,
    over: bool,
}

/// What comes next for a subscriber.
#[derive(Debug)]
pub(in crate::rest) enum NextEvents {
    Told(Arc<WireEvent>),
    /// Nothing yet.
    Wait,
    /// The subscriber lags behind the buffer; the ledger has the events.
    Behind,
    /// The buffer has ended.
    Over,
}

impl Ring {
    pub(super) fn push(&mut self, event: (About, Arc<WireEvent>)) {
        self.bytes += event.1.frame.len();
        self.events.push_back(event);
        // The last event stays, however large it is.
        while self.events.len() > 1
            && (self.events.len() > MOST_EVENTS || self.bytes > MOST_BYTES)
            && let Some((_, gone)) = self.events.pop_front()
        {
            self.bytes -= gone.frame.len();
            self.first += 1;
        }
    }

    /// Number of the next event.
    pub(super) fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    pub(super) fn end_here(&mut self) {
        self.over = true;
        self.events.clear();
        self.bytes = 0;
    }

    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The next visible event from a number on; the number moves past it.
    pub(super) fn turn(&self, next: &mut u64, fits: impl Fn(&About) -> bool) -> NextEvents {
        if self.over {
            return NextEvents::Over;
        }
        let Some(from) = next.checked_sub(self.first) else {
            *next = self.first;
            return NextEvents::Behind;
        };
        let waiting = self.events.iter().skip(usize::try_from(from).unwrap_or(usize::MAX));
        for (about, told) in waiting {
            *next += 1;
            if fits(about) {
                return NextEvents::Told(told.clone());
            }
        }
        NextEvents::Wait
    }
}
