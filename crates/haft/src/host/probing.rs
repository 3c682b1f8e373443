//! Looking at backends, by whoever lives long enough to do it beside calls.

use haft_drivers::{Checkup, Declared, probe};
use haft_model::{DriverId, Timestamp};
use tokio::task::JoinSet;

use super::{Host, hooks};
use crate::Error;

/// How many backends are looked at side by side.
const AT_ONCE: usize = 8;

/// What a look at the backend of one driver showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// The driver.
    pub driver: DriverId,
    /// What was seen.
    pub checkup: Checkup,
}

impl Host {
    /// Looks at every backend whose driver says how, and puts on record what it saw. One whose last
    /// look still holds is left alone unless `anew`. Calls do not wait for it.
    pub async fn probe(&self, anew: bool) -> Result<Vec<Probed>, Error> {
        let (workspace, watch) = (self.workspace(), self.watch());
        let place = hooks::place(&workspace, &self.given);
        let now = Timestamp::now();
        let is_due = |driver: &DriverId| {
            let last = watch.backend(driver).checkup;
            anew || last.is_none_or(|last| !last.is_fresh(now))
        };
        let drivers = workspace.drivers();
        let mut due = drivers.iter().filter(|driver| is_due(&driver.id));
        let (mut looks, mut probed) = (JoinSet::new(), Vec::new());
        loop {
            while looks.len() < AT_ONCE
                && let Some(driver) = due.next()
            {
                let declared = Declared { manifest: driver.raw(), serves: Vec::new() };
                let (driver, place) = (driver.id.clone(), place.clone());
                looks.spawn(async move {
                    let checkup = probe(&declared, &place, Timestamp::now()).await?;
                    Some(Probed { driver, checkup })
                });
            }
            let Some(looked) = looks.join_next().await else { break };
            let Ok(Some(one)) = looked else { continue };
            watch.note(one.driver.as_str(), |record| record.checkup = Some(one.checkup.clone()))?;
            probed.push(one);
        }
        probed.sort_by(|a, b| a.driver.cmp(&b.driver));
        Ok(probed)
    }
}
