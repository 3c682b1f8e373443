//! Health checks: probes backends in the background of a long-running process.

use std::time::Duration;

use haft_drivers::{Checkup, DeclaredEntries, probe};
use haft_model::{DriverId, Timestamp};
use tokio::task::JoinSet;

use super::{Host, hooks};
use crate::Error;

/// How many backends are probed concurrently.
const AT_ONCE: usize = 8;

/// The shortest pause between probes, however short their results hold, and the longest, since a
/// driver may be new.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

/// The result of one health check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeResult {
    /// The probed driver's id.
    pub driver: DriverId,
    /// What the probe showed.
    pub checkup: Checkup,
}

impl Host {
    /// Probes every backend whose driver declares a health check, and records the results. A
    /// backend with a fresh result is skipped unless `anew`. Calls do not wait for it.
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
                let declared = DeclaredEntries { manifest: driver.manifest(), serves: Vec::new() };
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
                // A backend that answers makes its circuits half-open: one call at a time tries it.
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

    /// How long the last results still hold: when to [`probe`](Host::probe) next.
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
