//! Looking at backends, by whoever lives long enough to do it beside calls.

use std::time::Duration;

use haft_drivers::{Checkup, DeclaredEntries, probe};
use haft_model::{DriverId, Timestamp};
use tokio::task::JoinSet;

use super::{Host, hooks};
use crate::Error;

/// How many backends are looked at side by side.
const AT_ONCE: usize = 8;

/// How long nobody looks around at least, however short looks hold, and at most, since a driver may
/// have come.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

/// What a look at the backend of one driver showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeResult {
    /// The driver.
    pub driver: DriverId,
    /// What was seen.
    pub checkup: Checkup,
}

impl Host {
    /// Looks at every backend whose driver says how, and puts on record what it saw. One whose last
    /// look still holds is left alone unless `anew`. Calls do not wait for it.
    pub async fn probe(&self, anew: bool) -> Result<Vec<ProbeResult>, Error> {
        let (workspace, watch) = (self.workspace(), self.watch());
        let place = hooks::place(&workspace, &self.given);
        let now = Timestamp::now();
        let is_due = |driver: &DriverId| {
            let last = watch.backend(driver).checkup;
            anew || last.is_none_or(|last| !last.is_fresh(now))
        };
        let drivers = workspace.callable_drivers();
        let looked_at = drivers.iter().filter(|driver| watch.is_looked_at(driver));
        let mut due = looked_at.filter(|driver| is_due(&driver.id));
        let (mut looks, mut probed) = (JoinSet::new(), Vec::new());
        loop {
            while looks.len() < AT_ONCE
                && let Some(driver) = due.next()
            {
                let declared = DeclaredEntries { manifest: driver.raw(), serves: Vec::new() };
                let (driver, place) = (driver.id.clone(), place.clone());
                looks.spawn(async move {
                    let checkup = probe(&declared, &place, Timestamp::now()).await?;
                    Some(ProbeResult { driver, checkup })
                });
            }
            let Some(looked) = looks.join_next().await else { break };
            let Ok(Some(one)) = looked else { continue };
            watch.note(one.driver.as_str(), |record| {
                record.checkup = Some(one.checkup.clone());
                // A backend that answers is tried again, by one call at a time.
                if one.checkup.ok() {
                    record.circuits.clear();
                }
            })?;
            self.runtime().backend_seen(&one.driver, one.checkup.ok());
            probed.push(one);
        }
        probed.sort_by(|a, b| a.driver.cmp(&b.driver));
        Ok(probed)
    }

    /// How long the last looks at backends still hold: when to [`probe`](Host::probe) next.
    pub fn next_probe(&self) -> Duration {
        let (workspace, watch, now) = (self.workspace(), self.watch(), Timestamp::now());
        let drivers = workspace.callable_drivers();
        let looked_at = drivers.iter().filter(|driver| watch.is_looked_at(driver));
        let holds = looked_at.map(|driver| match watch.backend(&driver.id).checkup {
            Some(last) => Duration::try_from(last.until.duration_since(now)).unwrap_or_default(),
            None => Duration::ZERO,
        });
        let (least, most) = PAUSE;
        holds.min().unwrap_or(most).clamp(least, most)
    }
}
