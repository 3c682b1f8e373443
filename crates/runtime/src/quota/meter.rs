//! Quota counters of this process: usage of every scope that a recent call was checked against.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::Duration;

use haft_ledger::Use;
use haft_model::{InvocationId, Timestamp};
use tokio::time::Instant;

use super::cap::{Cap, QuotaScope};
use super::window::{NoRoom, WindowUsage};

/// Time until an empty counter is evicted.
const IDLE: Duration = Duration::from_secs(60);

/// Key of an attempt: invocation id and attempt number.
pub(crate) type AttemptKey = (InvocationId, u32);

/// Counters by scope, with the reservations that are not on record yet.
#[derive(Default)]
pub(crate) struct Meter {
    tallies: HashMap<QuotaScope, MeterState>,
    /// Reservations of this process whose ledger entry the counters have not read yet.
    own: HashMap<AttemptKey, (u64, Use)>,
    tickets: u64,
    /// Time of the last refresh from the ledger.
    looked: Option<Instant>,
}

struct MeterState {
    tally: WindowUsage,
    touched: Instant,
}

/// Result of a reservation.
pub(crate) enum ReserveOutcome {
    Reserved,
    /// Nothing was reserved: this cap has no room; of several, the one with the longest wait.
    Short(Box<Cap>, NoRoom),
    /// A scope has no counter: it is new or was evicted.
    Uncounted,
}

impl Meter {
    /// Returns true if every cap has a counter and the last refresh is younger than `look`.
    pub(crate) fn is_current(&self, caps: &[Cap], look: Duration) -> bool {
        self.looked.is_some_and(|looked| looked.elapsed() < look)
            && caps.iter().all(|cap| self.tallies.contains_key(&cap.counted))
    }

    /// Scopes without a counter, each once.
    pub(crate) fn uncounted(&self, caps: &[Cap]) -> Vec<QuotaScope> {
        let mut missing: Vec<QuotaScope> = Vec::new();
        for Cap { counted, .. } in caps {
            if !self.tallies.contains_key(counted) && !missing.contains(counted) {
                missing.push(counted.clone());
            }
        }
        missing
    }

    /// Adds the usage that any process recorded since the last refresh.
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

    /// Starts a counter from the usage in the ledger and the open reservations.
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

    /// Usage of a cap; `None` without a counter.
    pub(crate) fn used(&mut self, cap: &Cap, now: Timestamp) -> Option<u64> {
        Some(self.tally(&cap.counted, now)?.used())
    }

    /// The exhausted cap with the longest wait; an error where a cap has no counter.
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

    /// Reserves from every cap what a use needs, or from none.
    pub(crate) fn reserve(&mut self, caps: &[Cap], used: &Use) -> ReserveOutcome {
        match self.short(caps, used) {
            Err(MissingCounter) => return ReserveOutcome::Uncounted,
            Ok(Some((cap, short))) => return ReserveOutcome::Short(Box::new(cap), short),
            Ok(None) => {}
        }
        self.tickets += 1;
        let ticket = self.tickets;
        // Caps with an equal scope share one counter, in which a use counts once.
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

    /// Returns the reservation of an attempt that did not run.
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

/// A scope has no counter.
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
