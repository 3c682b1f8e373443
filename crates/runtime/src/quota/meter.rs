//! The counters of this process: what was used of every limit that somebody asked about lately.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::Duration;

use haft_ledger::Use;
use haft_model::{InvocationId, Timestamp};
use tokio::time::Instant;

use super::cap::{Cap, QuotaScope};
use super::window::{NoRoom, WindowUsage};

/// How long a counter without anything in it is kept.
const IDLE: Duration = Duration::from_secs(60);

/// An attempt by its call and its number.
pub(crate) type AttemptKey = (InvocationId, u32);

/// The counters.
#[derive(Default)]
pub(crate) struct Meter {
    tallies: HashMap<QuotaScope, MeterState>,
    /// What was reserved here and is not on record yet, as far as this process has seen.
    own: HashMap<AttemptKey, (u64, Use)>,
    tickets: u64,
    /// When the ledger was last looked at.
    looked: Option<Instant>,
}

struct MeterState {
    tally: WindowUsage,
    touched: Instant,
}

/// What came of trying to reserve.
pub(crate) enum ReserveOutcome {
    Reserved,
    /// Nothing was reserved: this limit has no room, of several the one that takes longest.
    Short(Box<Cap>, NoRoom),
    /// A counter is not there yet, or not any more.
    Uncounted,
}

impl Meter {
    /// Whether everything wanted is counted, and the ledger was looked at lately.
    pub(crate) fn is_current(&self, caps: &[Cap], look: Duration) -> bool {
        self.looked.is_some_and(|looked| looked.elapsed() < look)
            && caps.iter().all(|cap| self.tallies.contains_key(&cap.counted))
    }

    /// What is wanted and not counted yet.
    pub(crate) fn uncounted(&self, caps: &[Cap]) -> Vec<QuotaScope> {
        let mut missing: Vec<QuotaScope> = Vec::new();
        for Cap { counted, .. } in caps {
            if !self.tallies.contains_key(counted) && !missing.contains(counted) {
                missing.push(counted.clone());
            }
        }
        missing
    }

    /// Takes in what was put on record since the last look, by whichever process.
    pub(crate) fn hear(&mut self, news: &[Use], now: Timestamp) {
        for used in news {
            if self.own.remove(&(used.invocation.clone(), used.attempt)).is_some() {
                continue;
            }
            for (counted, kept) in &mut self.tallies {
                if let Some(amount) = counted.amount(used) {
                    kept.tally.add(used.at, amount, 0);
                }
            }
        }
        self.tallies.retain(|counted, kept| {
            kept.tally.expire(counted.window, now);
            !kept.tally.is_empty() || kept.touched.elapsed() < IDLE
        });
        self.looked = Some(Instant::now());
    }

    /// Begins to count something, from what the ledger says was used.
    pub(crate) fn begin(&mut self, counted: QuotaScope, recorded: &[Use]) {
        let mut tally = WindowUsage::default();
        for used in recorded {
            if let Some(amount) = counted.amount(used) {
                tally.add(used.at, amount, 0);
            }
        }
        for (ticket, used) in self.own.values() {
            if let Some(amount) = counted.amount(used) {
                tally.add(used.at, amount, *ticket);
            }
        }
        self.tallies.insert(counted, MeterState { tally, touched: Instant::now() });
    }

    /// What was used of a limit; none where it is not counted.
    pub(crate) fn used(&mut self, cap: &Cap, now: Timestamp) -> Option<u64> {
        Some(self.tally(&cap.counted, now)?.used())
    }

    /// The limit without room for a use that is furthest from having it; an error where one of them
    /// is not counted.
    pub(crate) fn short(
        &mut self,
        caps: &[Cap],
        used: &Use,
    ) -> Result<Option<(Cap, NoRoom)>, MissingCounter> {
        let mut found: Option<(&Cap, NoRoom)> = None;
        for cap in caps {
            let Some(amount) = cap.counted.amount(used) else { continue };
            let tally = self.tally(&cap.counted, used.at).ok_or(MissingCounter)?;
            let Err(short) = tally.room(cap.counted.window, cap.most, amount, used.at) else {
                continue;
            };
            let longest = |short: NoRoom| short.wait_ms.unwrap_or(u64::MAX);
            if found.is_none_or(|(_, before)| longest(short) > longest(before)) {
                found = Some((cap, short));
            }
        }
        Ok(found.map(|(cap, short)| (cap.clone(), short)))
    }

    /// Takes from every limit what a use needs, or from none.
    pub(crate) fn reserve(&mut self, caps: &[Cap], used: &Use) -> ReserveOutcome {
        match self.short(caps, used) {
            Err(MissingCounter) => return ReserveOutcome::Uncounted,
            Ok(Some((cap, short))) => return ReserveOutcome::Short(Box::new(cap), short),
            Ok(None) => {}
        }
        self.tickets += 1;
        let ticket = self.tickets;
        // Limits over the same things share a tally, in which a use counts once.
        for counted in counted_once(caps) {
            if let (Some(amount), Some(kept)) =
                (counted.amount(used), self.tallies.get_mut(counted))
            {
                kept.tally.add(used.at, amount, ticket);
            }
        }
        self.own.insert((used.invocation.clone(), used.attempt), (ticket, used.clone()));
        ReserveOutcome::Reserved
    }

    /// Gives back what was reserved for something that did not run.
    pub(crate) fn give_back(&mut self, attempted: &AttemptKey) {
        let Some((ticket, used)) = self.own.remove(attempted) else { return };
        for (counted, kept) in &mut self.tallies {
            if counted.amount(&used).is_some() {
                kept.tally.give_back(ticket);
            }
        }
    }

    fn tally(&mut self, counted: &QuotaScope, now: Timestamp) -> Option<&WindowUsage> {
        let kept = self.tallies.get_mut(counted)?;
        kept.touched = Instant::now();
        kept.tally.expire(counted.window, now);
        Some(&kept.tally)
    }
}

/// A counter is not there.
pub(crate) struct MissingCounter;

fn counted_once(caps: &[Cap]) -> Vec<&QuotaScope> {
    let mut all: Vec<&QuotaScope> = Vec::with_capacity(caps.len());
    for cap in caps {
        if !all.contains(&&cap.counted) {
            all.push(&cap.counted);
        }
    }
    all
}
