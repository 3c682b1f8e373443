//! Quota on calls, concurrency and cost: a call reserves its share before it runs and returns what
//! it did not use.
//!
//! An attempt counts once it reached its driver, which is a fact of the ledger; so a crash leaks
//! nothing, and every process counts the same. The counters live here: they read the ledger when a
//! scope is counted for the first time, and then once per `look` for what other processes used.

mod cap;
mod checks;
mod gather;
mod meter;
mod places;
mod window;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_catalog::CatalogEntry;
use haft_ledger::{Store, Use, UseFilter};
use haft_model::{Plan, Stop, Timestamp};
use haft_policy::{Spending, Usage};

use crate::World;
use crate::recorder::unrecorded;
use cap::{Cap, Origin, What, waiting};
pub(crate) use checks::Lapse;
pub(crate) use gather::let_through;
use gather::{budgets, policy_limits, rates};
use meter::{AttemptKey, Meter, ReserveOutcome};
use places::Places;
use window::{NoRoom, Window};

/// Quota counters of this process, refreshed from the ledger.
pub(crate) struct Quotas {
    store: Arc<dyn Store>,
    /// Greatest age of the counts of other processes.
    look: Duration,
    meter: Mutex<Meter>,
    /// Last ledger entry that the counters include; the task that refreshes them holds the lock.
    seen: tokio::sync::Mutex<QuotaView>,
    pub(crate) places: Places,
}

#[derive(Clone, Copy)]
enum QuotaView {
    /// The counters have not read the ledger yet.
    Nothing,
    /// The counters include every entry up to this sequence number; `None` for an empty ledger.
    UpTo(Option<u64>),
}

/// Share of every quota, reserved for one attempt; dropping it returns the share.
pub(crate) struct QuotaReservation<'l> {
    limits: &'l Quotas,
    attempted: Option<AttemptKey>,
}

impl QuotaReservation<'_> {
    /// Consumes the reservation: the attempt reached its driver.
    pub(crate) fn used(mut self) {
        self.attempted = None;
    }
}

impl Drop for QuotaReservation<'_> {
    fn drop(&mut self) {
        if let Some(attempted) = self.attempted.take() {
            self.limits.meter().give_back(&attempted);
        }
    }
}

impl Quotas {
    pub(crate) fn new(store: Arc<dyn Store>, look: Duration) -> Quotas {
        Quotas {
            store,
            look,
            meter: Mutex::default(),
            seen: tokio::sync::Mutex::new(QuotaView::Nothing),
            places: Places::default(),
        }
    }

    /// Refuses a call for which a quota has no room already; reserves nothing.
    pub(crate) async fn room(
        &self,
        world: &World,
        entry: &CatalogEntry,
        plan: &Plan,
        now: Timestamp,
    ) -> Result<(), Stop> {
        if world.rates.is_empty() && entry.contract.tool.extras.limits.is_empty() {
            return Ok(());
        }
        let used = gather::used(entry, plan, now);
        match self.short(&rates(world, entry, &used), &used).await? {
            Some((cap, short)) => Err(cap.refusal(short)),
            None => Ok(()),
        }
    }

    /// Usage counts that policies evaluate.
    pub(crate) async fn usage(
        &self,
        world: &World,
        entry: &CatalogEntry,
        plan: &Plan,
        now: Timestamp,
    ) -> Result<Usage, Stop> {
        let rulebook = &world.rulebook;
        if rulebook.policies.is_empty() && rulebook.policy_rules.is_empty() {
            return Ok(Usage::default());
        }
        let used = gather::used(entry, plan, now);
        let mut caps = policy_limits(world, &used);
        caps.extend(budgets(world, &used.tenant));
        let counts = self.counts(&caps, now).await?;
        Ok(told(caps.iter().zip(counts), &used))
    }

    /// Adds the retry-after time to the refusal of a policy's limit.
    pub(crate) async fn with_wait(
        &self,
        stop: Stop,
        world: &World,
        entry: &CatalogEntry,
        plan: &Plan,
        now: Timestamp,
    ) -> Stop {
        let used = gather::used(entry, plan, now);
        let short = self.short(&policy_limits(world, &used), &used).await;
        let Ok(Some((cap, NoRoom { wait_ms, .. }))) = short else { return stop };
        let Origin::Policy(place) = &cap.origin else { return stop };
        waiting(stop, wait_ms, &format!("raise the limit `{place}` of its POLICY.md"))
    }

    /// Reserves from every quota what an attempt needs, or from none, and returns the exhausted
    /// one.
    async fn reserve(
        &self,
        caps: &[Cap],
        used: &Use,
    ) -> Result<Result<QuotaReservation<'_>, (Cap, NoRoom)>, Stop> {
        loop {
            self.follow(caps, used.at).await?;
            match self.meter().reserve(caps, used) {
                ReserveOutcome::Reserved => {
                    let attempted = Some((used.invocation.clone(), used.attempt));
                    return Ok(Ok(QuotaReservation { limits: self, attempted }));
                }
                ReserveOutcome::Short(cap, short) => return Ok(Err((*cap, short))),
                // The idle counter was evicted meanwhile; the loop counts it again.
                ReserveOutcome::Uncounted => {}
            }
        }
    }

    async fn short(&self, caps: &[Cap], used: &Use) -> Result<Option<(Cap, NoRoom)>, Stop> {
        loop {
            self.follow(caps, used.at).await?;
            let looked = self.meter().short(caps, used);
            if let Ok(short) = looked {
                return Ok(short);
            }
        }
    }

    async fn counts(&self, caps: &[Cap], now: Timestamp) -> Result<Vec<u64>, Stop> {
        loop {
            self.follow(caps, now).await?;
            let mut meter = self.meter();
            let counts: Option<Vec<u64>> = caps.iter().map(|cap| meter.used(cap, now)).collect();
            if let Some(counts) = counts {
                return Ok(counts);
            }
        }
    }

    /// Ensures that every cap has a counter and that the counts of other processes are fresh.
    async fn follow(&self, caps: &[Cap], now: Timestamp) -> Result<(), Stop> {
        if caps.is_empty() || self.meter().is_current(caps, self.look) {
            return Ok(());
        }
        let mut seen = self.seen.lock().await;
        if self.meter().is_current(caps, self.look) {
            return Ok(());
        }
        let from = match *seen {
            QuotaView::UpTo(seq) => seq,
            QuotaView::Nothing => {
                self.store.wait_past(None, Duration::ZERO).await.map_err(unrecorded)?
            }
        };
        let filter = UseFilter { after: from, since: Timestamp::MIN, actor: None, tenant: None };
        let news = self.store.uses(&filter).await.map_err(unrecorded)?;
        let last = news.last().map(|used| used.seq).or(from);
        self.meter().hear(&news, now);
        *seen = QuotaView::UpTo(last);
        let missing = self.meter().uncounted(caps);
        for counted in missing {
            let since = counted.window.start(now);
            let whose = counted.whose.clone();
            let filter = UseFilter { after: None, since, actor: whose.actor, tenant: whose.tenant };
            let mut recorded = self.store.uses(&filter).await.map_err(unrecorded)?;
            // The next refresh brings the newer entries.
            recorded.retain(|used| Some(used.seq) <= last);
            self.meter().begin(counted, &recorded);
        }
        Ok(())
    }

    fn meter(&self) -> MutexGuard<'_, Meter> {
        self.meter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Converts counts into the form that policies read.
fn told<'c>(counted: impl Iterator<Item = (&'c Cap, u64)>, used: &Use) -> Usage {
    let mut usage = Usage::default();
    for (cap, count) in counted {
        match (&cap.origin, &cap.counted.what) {
            (Origin::Policy(place), _) => usage.limits.push((place.clone(), count as f64)),
            (Origin::Budget(slug), What::Money(currency)) => {
                let same = used.charge.currency.as_ref() == Some(currency);
                let cost = used.charge.millicents.filter(|_| same);
                usage.money.push(Spending { slug: slug.clone(), spent: count, cost });
            }
            (Origin::Budget(slug), _) => {
                let place = usage.budgets.iter().position(|(known, ..)| known == slug);
                let place = place.unwrap_or_else(|| {
                    usage.budgets.push((slug.clone(), 0, 0));
                    usage.budgets.len() - 1
                });
                if let Some((_, hour, day)) = usage.budgets.get_mut(place) {
                    match cap.counted.window {
                        Window::Sliding(_) => *hour = count,
                        Window::UtcDay => *day = count,
                    }
                }
            }
            (Origin::Settings(..) | Origin::Contract(..), _) => {}
        }
    }
    usage
}
