//! A driver that fails again and again is left alone for a while, and then tried with one call.
//!
//! Only failures of the backend count: that nobody answers, or not in time. A call that insists on
//! its driver gets it all the same, since it would rather fail than go elsewhere.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_catalog::{Avoided, Rested};
use haft_driver::{Failure, Output};
use haft_model::{Code, DriverId, EffectState, Stop, Timestamp};

use crate::runtime::later;

/// When a driver is left alone, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// After how many failures in a row; never after none.
    pub failures: u32,
    /// For how long.
    pub pause: Duration,
}

impl Default for Rest {
    fn default() -> Rest {
        Rest { failures: 5, pause: Duration::from_secs(30) }
    }
}

/// What is known of drivers that failed.
pub(crate) struct Rests {
    rest: Rest,
    failed: Mutex<HashMap<DriverId, Failed>>,
}

/// A driver that failed, and did not work since.
#[derive(Clone, Copy, Debug)]
struct Failed {
    times: u32,
    /// Until when it is left alone, where it failed often enough.
    until: Option<Timestamp>,
    /// Whether a call tries it.
    tried: bool,
}

/// One attempt at a driver. It counts only if its outcome is told.
pub(crate) struct Trial<'r> {
    rests: &'r Rests,
    driver: DriverId,
    /// Whether others wait for how it ends.
    alone: bool,
}

impl Rests {
    pub(crate) fn new(rest: Rest) -> Rests {
        Rests { rest, failed: Mutex::default() }
    }

    /// The drivers that are left alone now, each with the reason.
    pub(crate) fn resting(&self, now: Timestamp) -> Vec<Avoided> {
        let failed = self.failed();
        let resting = failed.iter().filter_map(|(driver, failed)| {
            let until = failed.until?;
            let reason = match now < until {
                true => Rested { failures: failed.times, until }.reason(),
                false if failed.tried => "another call finds out whether it works again".to_owned(),
                false => return None,
            };
            Some(Avoided { driver: driver.clone(), why: "rest", reason })
        });
        resting.collect()
    }

    /// Begins an attempt. Of those that find out whether a driver works again there is one at a time.
    pub(crate) fn begin(&self, driver: &DriverId, now: Timestamp) -> Result<Trial<'_>, Failure> {
        let mut all = self.failed();
        let rested = all.get_mut(driver).filter(|failed| failed.until.is_some_and(|at| at <= now));
        let alone = match rested {
            Some(failed) if failed.tried => {
                let words = format!("another call finds out whether driver `{driver}` works again");
                let stop = Stop::new(Code::DependencyUnavailable, words).help("try again soon");
                return Err(Failure::new(stop, EffectState::NotSubmitted));
            }
            Some(failed) => {
                failed.tried = true;
                true
            }
            None => false,
        };
        Ok(Trial { rests: self, driver: driver.clone(), alone })
    }

    /// Somebody saw that the backend of a driver answers: its rest is over, and one call tries it.
    /// Whether there was a rest.
    pub(crate) fn seen_well(&self, driver: &DriverId, now: Timestamp) -> bool {
        let mut all = self.failed();
        let rested = all.get_mut(driver).and_then(|failed| failed.until.as_mut());
        let Some(until) = rested.filter(|until| now < **until) else { return false };
        *until = now;
        true
    }

    fn failed(&self) -> MutexGuard<'_, HashMap<DriverId, Failed>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Trial<'_> {
    /// Tells how the attempt ended. Gives the rest that begins with it, or none where one is over.
    pub(crate) fn ended(
        self,
        outcome: &Result<Output, Failure>,
        now: Timestamp,
    ) -> Option<Option<Rested>> {
        let mut all = self.rests.failed();
        if !outcome.as_ref().is_err_and(of_the_backend) {
            let rested = all.remove(&self.driver).is_some_and(|failed| failed.until.is_some());
            return rested.then_some(None);
        }
        let Rest { failures, pause } = self.rests.rest;
        let fresh = Failed { times: 0, until: None, tried: false };
        let failed = all.entry(self.driver.clone()).or_insert(fresh);
        failed.times += 1;
        if failures == 0 || failed.times < failures {
            return None;
        }
        let until = later(now, pause);
        failed.until = Some(until);
        Some(Some(Rested { failures: failed.times, until }))
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        if self.alone
            && let Some(failed) = self.rests.failed().get_mut(&self.driver)
        {
            failed.tried = false;
        }
    }
}

/// Whether a failure is one of the backend: nobody answers, or not in time.
fn of_the_backend(failure: &Failure) -> bool {
    matches!(
        failure.stop.code,
        Code::DependencyUnavailable | Code::TimeoutBeforeSubmit | Code::TimeoutUnknownCommit
    )
}

#[cfg(test)]
mod tests;
