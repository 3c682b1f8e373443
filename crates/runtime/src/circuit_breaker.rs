//! Circuit breaker per driver, tool and host: opens after `failures` failures in a row, half-open
//! after `pause` with one call.
//!
//! Each tool of a driver has its own, and each host that callers choose. Only failures of the backend
//! count: that it does not answer, or not in time. What the caller got wrong and what was refused
//! during a backoff count neither for nor against it. A call that insists on its driver gets it all the
//! same, since it would rather fail than go elsewhere.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_catalog::{AvoidedDriver, CatalogEntry, Circuit, OpenBreaker};
use haft_driver::{Failure, Output};
use haft_model::{Blame, Call, Code, DriverId, EffectState, Stop, Timestamp};
use serde_json::Value;

use crate::runtime::later;
use crate::{Runtime, World};

/// How many circuits are remembered. Callers choose hosts, so that there could be any number.
const MOST: usize = 4096;

/// When a driver is left alone, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerOptions {
    /// After how many failures in a row; never after none.
    pub failures: u32,
    /// For how long.
    pub pause: Duration,
}

impl Default for BreakerOptions {
    fn default() -> BreakerOptions {
        BreakerOptions { failures: 5, pause: Duration::from_secs(30) }
    }
}

/// The circuits that failed, and did not work since.
pub(crate) struct CircuitBreakers {
    rest: BreakerOptions,
    failed: Mutex<HashMap<Circuit, FailureCount>>,
}

/// A circuit that failed, and did not work since.
#[derive(Clone, Copy, Debug)]
struct FailureCount {
    times: u32,
    last: Timestamp,
    /// Until when it is left alone, where it failed often enough.
    until: Option<Timestamp>,
    /// Whether a call tries it.
    tried: bool,
}

/// One attempt. It counts only if its outcome is told.
pub(crate) struct Trial<'r> {
    rests: &'r CircuitBreakers,
    /// The circuit whose other calls wait for how this one ends.
    alone: Option<Circuit>,
}

/// What an outcome says of a circuit.
enum Evidence {
    Works,
    Fails,
    /// It says nothing.
    Silent,
}

impl Runtime {
    /// The drivers of a contract that are left alone, unless the call insists on one.
    pub(crate) fn resting(
        &self,
        world: &World,
        call: &Call,
        entry: &CatalogEntry,
        input: &Value,
        now: Timestamp,
    ) -> Vec<AvoidedDriver> {
        if call.pinned.is_some() || self.rests.is_idle() {
            return Vec::new();
        }
        let resting = entry.bindings.iter().filter_map(|binding| {
            let id = &binding.driver.id;
            let tool = entry.contract.key();
            let driver = world.drivers.get(id);
            let host = driver.and_then(|one| one.destination(tool, &binding.mapped(input)));
            let circuit = Circuit { driver: id.clone(), tool: tool.clone(), host };
            let reason = self.rests.reason(&circuit, now)?;
            Some(AvoidedDriver { driver: circuit.driver, why: "rest", reason })
        });
        resting.collect()
    }
}

impl CircuitBreakers {
    pub(crate) fn new(rest: BreakerOptions) -> CircuitBreakers {
        CircuitBreakers { rest, failed: Mutex::default() }
    }

    /// Whether nothing failed lately, so that no circuit has to be looked for.
    pub(crate) fn is_idle(&self) -> bool {
        self.failed().is_empty()
    }

    /// Why a circuit is left alone now.
    fn reason(&self, circuit: &Circuit, now: Timestamp) -> Option<String> {
        self.failed().get(circuit)?.reason(now)
    }

    /// The circuits that are left alone now.
    pub(crate) fn open(&self, now: Timestamp) -> Vec<Circuit> {
        let failed = self.failed();
        let open = failed.iter().filter(|(_, failed)| failed.reason(now).is_some());
        open.map(|(circuit, _)| circuit.clone()).collect()
    }

    /// Begins an attempt. Of those that find out whether a circuit works again there is one at a time.
    pub(crate) fn begin(
        &self,
        circuit: impl FnOnce() -> Circuit,
        now: Timestamp,
    ) -> Result<Trial<'_>, Failure> {
        if self.is_idle() {
            return Ok(Trial { rests: self, alone: None });
        }
        let circuit = circuit();
        let mut all = self.failed();
        let rested = all.get_mut(&circuit);
        let rested = rested.filter(|failed| failed.until.is_some_and(|at| at <= now));
        let alone = match rested {
            Some(failed) if failed.tried => {
                let words = format!(
                    "another call finds out whether driver `{}` works again",
                    circuit.driver
                );
                let stop = Stop::new(Code::DependencyUnavailable, words).help("try again soon");
                let stop = stop.blaming(Blame::Backoff);
                return Err(Failure::new(stop, EffectState::NotSubmitted));
            }
            Some(failed) => {
                failed.tried = true;
                Some(circuit)
            }
            None => None,
        };
        Ok(Trial { rests: self, alone })
    }

    /// The backend of a driver was seen to answer: its rests are over, and one call tries each.
    /// Whether there was a rest.
    pub(crate) fn seen_well(&self, driver: &DriverId, now: Timestamp) -> bool {
        let mut all = self.failed();
        let own = all.iter_mut().filter(|(circuit, _)| circuit.driver == *driver);
        let resting = own.filter_map(|(_, failed)| failed.until.as_mut());
        let mut any = false;
        for until in resting.filter(|until| now < **until) {
            (*until, any) = (now, true);
        }
        any
    }

    fn failed(&self) -> MutexGuard<'_, HashMap<Circuit, FailureCount>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FailureCount {
    fn reason(&self, now: Timestamp) -> Option<String> {
        let until = self.until?;
        match now < until {
            true => Some(OpenBreaker { failures: self.times, until }.reason()),
            false if self.tried => Some("another call finds out whether it works again".to_owned()),
            false => None,
        }
    }
}

impl Trial<'_> {
    /// Tells how the attempt ended. Gives the rest that begins with it, or none where one is over.
    pub(crate) fn ended(
        self,
        outcome: &Result<Output, Failure>,
        circuit: impl FnOnce() -> Circuit,
        now: Timestamp,
    ) -> Option<(Circuit, Option<OpenBreaker>)> {
        match evidence(outcome) {
            Evidence::Silent => None,
            Evidence::Works if self.rests.is_idle() => None,
            Evidence::Works => {
                let circuit = circuit();
                let failed = self.rests.failed().remove(&circuit);
                failed.is_some_and(|failed| failed.until.is_some()).then_some((circuit, None))
            }
            Evidence::Fails => self.failed(circuit(), now),
        }
    }

    fn failed(&self, circuit: Circuit, now: Timestamp) -> Option<(Circuit, Option<OpenBreaker>)> {
        let BreakerOptions { failures, pause } = self.rests.rest;
        let mut all = self.rests.failed();
        if all.len() >= MOST && !all.contains_key(&circuit) {
            make_room(&mut all);
        }
        let fresh = FailureCount { times: 0, last: now, until: None, tried: false };
        let failed = all.entry(circuit.clone()).or_insert(fresh);
        if failed.until.is_some_and(|until| now < until) {
            // It rests already: what insisted on it, or began before, does not make that longer.
            return None;
        }
        (failed.times, failed.last) = (failed.times.saturating_add(1), now);
        if failures == 0 || failed.times < failures {
            return None;
        }
        let until = later(now, pause);
        failed.until = Some(until);
        let rested = OpenBreaker { failures: failed.times, until };
        Some((circuit, Some(rested)))
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        if let Some(circuit) = &self.alone
            && let Some(failed) = self.rests.failed().get_mut(circuit)
        {
            failed.tried = false;
        }
    }
}

/// Forgets the circuit that failed longest ago; one that is tried is not forgotten before it ends.
fn make_room(all: &mut HashMap<Circuit, FailureCount>) {
    let idle = all.iter().filter(|(_, failed)| !failed.tried);
    let oldest = idle.min_by_key(|(_, failed)| failed.last).map(|(circuit, _)| circuit.clone());
    oldest.and_then(|circuit| all.remove(&circuit));
}

/// What an outcome says of the backend. A failure without its answer, such as a refusal of the input
/// or a call that was called off, says nothing.
fn evidence(outcome: &Result<Output, Failure>) -> Evidence {
    let failure = match outcome {
        Ok(_) => return Evidence::Works,
        Err(failure) => failure,
    };
    match (failure.stop.blame, failure.stop.code) {
        (Blame::Request | Blame::Backoff, _) => Evidence::Silent,
        (
            Blame::ByCode,
            Code::DependencyUnavailable | Code::TimeoutBeforeSubmit | Code::TimeoutUnknownCommit,
        ) => Evidence::Fails,
        (
            Blame::ByCode,
            Code::ExecutionFailed
            | Code::OutputInvalid
            | Code::RateLimited
            | Code::Conflict
            | Code::ResourceNotFound,
        ) => Evidence::Works,
        (Blame::ByCode, _) if !failure.native.is_empty() => Evidence::Works,
        (Blame::ByCode, _) => Evidence::Silent,
    }
}

#[cfg(test)]
mod tests;
