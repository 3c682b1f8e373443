//! Circuit breaker per driver, tool and host: opens after `failures` failures in a row, half-open
//! after `pause` with one call.
//!
//! Each tool of a driver has its own circuit, and so has each host that a caller's input chooses.
//! Only failures of the backend count: no answer, or none in time. Mistakes of the caller and
//! refusals during a backoff count neither as failure nor as success. A call that pins its driver
//! bypasses an open circuit, since it would rather fail than be routed elsewhere.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_catalog::{AvoidedDriver, CatalogEntry, Circuit, OpenBreaker};
use haft_driver::{Failure, Output};
use haft_model::{Blame, Call, Code, DriverId, EffectState, RejectionReason, Stop, Timestamp};
use serde_json::Value;

use crate::runtime::later;
use crate::{Runtime, World};

/// Most circuits that are tracked. Callers choose hosts, so their number is unbounded otherwise.
const MOST: usize = 4096;

/// When a circuit opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerOptions {
    /// Consecutive failures after which the circuit opens; 0 disables the circuit breaker.
    pub failures: u32,
    /// Time from opening until the circuit is half-open.
    pub pause: Duration,
}

impl Default for BreakerOptions {
    fn default() -> BreakerOptions {
        BreakerOptions { failures: 5, pause: Duration::from_secs(30) }
    }
}

/// Circuits that failed and have not succeeded since.
pub(crate) struct CircuitBreakers {
    rest: BreakerOptions,
    failed: Mutex<HashMap<Circuit, FailureCount>>,
}

/// Failures of one circuit since its last success.
#[derive(Clone, Copy, Debug)]
struct FailureCount {
    times: u32,
    last: Timestamp,
    /// When the circuit becomes half-open; `None` while it is closed.
    until: Option<Timestamp>,
    /// Whether the trial call of the half-open circuit runs.
    tried: bool,
}

/// One attempt through a circuit. It counts only if [`Trial::ended`] is called.
pub(crate) struct Trial<'r> {
    rests: &'r CircuitBreakers,
    /// The half-open circuit that this attempt probes.
    alone: Option<Circuit>,
}

/// Evidence of an outcome about a circuit.
enum Evidence {
    Works,
    Fails,
    /// Neither success nor failure.
    Silent,
}

impl Runtime {
    /// Drivers with an open circuit, which routing avoids; empty for a call that pins its driver.
    pub(crate) fn resting(
        &self,
        world: &World,
        call: &Call,
        entry: &CatalogEntry,
        input: &Value,
        now: Timestamp,
    ) -> Vec<AvoidedDriver> {
        if call.pinned.is_some() || self.breakers.is_idle() {
            return Vec::new();
        }
        let resting = entry.bindings.iter().filter_map(|binding| {
            let id = &binding.driver.id;
            let tool = entry.contract.key();
            let driver = world.drivers.get(id);
            let host = driver.and_then(|one| one.destination(tool, &binding.mapped(input)));
            let circuit = Circuit { driver: id.clone(), tool: tool.clone(), host };
            let reason = self.breakers.reason(&circuit, now)?;
            Some(AvoidedDriver { driver: circuit.driver, why: RejectionReason::Rest, reason })
        });
        resting.collect()
    }
}

impl CircuitBreakers {
    pub(crate) fn new(rest: BreakerOptions) -> CircuitBreakers {
        CircuitBreakers { rest, failed: Mutex::default() }
    }

    /// Whether no circuit has failures, so that the lookup can be skipped.
    pub(crate) fn is_idle(&self) -> bool {
        self.failed().is_empty()
    }

    /// Why the circuit refuses calls now; `None` while calls may pass.
    fn reason(&self, circuit: &Circuit, now: Timestamp) -> Option<String> {
        self.failed().get(circuit)?.reason(now)
    }

    /// Circuits that are open now, or half-open with a trial under way.
    pub(crate) fn open(&self, now: Timestamp) -> Vec<Circuit> {
        let failed = self.failed();
        let open = failed.iter().filter(|(_, failed)| failed.reason(now).is_some());
        open.map(|(circuit, _)| circuit.clone()).collect()
    }

    /// Begins an attempt. A half-open circuit admits one trial call at a time and refuses others
    /// with a backoff.
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

    /// Makes the driver's open circuits half-open early, after its backend was seen to answer.
    /// Returns whether one was open.
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
    /// Reports the outcome of the attempt. Returns the circuit if it opened (`Some`) or closed
    /// (`None`).
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
            // The circuit is open already: a pinned call, or one that began before, does not extend
            // it.
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

/// Evicts the circuit that failed longest ago; a circuit with a trial under way stays.
fn make_room(all: &mut HashMap<Circuit, FailureCount>) {
    let idle = all.iter().filter(|(_, failed)| !failed.tried);
    let oldest = idle.min_by_key(|(_, failed)| failed.last).map(|(circuit, _)| circuit.clone());
    oldest.and_then(|circuit| all.remove(&circuit));
}

/// Classifies an outcome. A failure without an answer of the backend, such as refused input or a
/// cancelled call, is no evidence.
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
