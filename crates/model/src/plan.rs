//! Call plan: a validated and routed call with its contract, driver, input and limits.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::status::words;
use crate::{Actor, CallLimits, Digest, DriverId, EffectProfile, FrozenInput, ToolKey};

/// The six phases of routing, in the order they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Does the driver claim this contract, version, kind and these inputs?
    Candidates,
    /// Is it installed, logged in, healthy and made for this machine?
    Capability,
    /// Do the workspace's tags and the call's region allow it?
    Policy,
    /// Does the caller insist on another?
    Pin,
    /// Does another rank higher?
    Rank,
    /// Can the input be mapped onto it?
    Bind,
}

words! {
    /// The kind of reason why routing rejects a driver.
    RejectionReason {
        /// Its manifest does not fit the contract.
        Binding "binding",
        /// The contract excludes its kind.
        Kind "kind",
        /// It does not take an input that the call has.
        Narrowing "narrowing",
        /// It does not run on this operating system or architecture.
        Machine "machine",
        /// It is built into another host.
        Host "host",
        /// It already failed this very call.
        Tried "tried",
        /// Its backend is not installed.
        Install "install",
        /// The version of its backend is out of range.
        Version "version",
        /// The actor is not logged in.
        Auth "auth",
        /// Its last health check failed.
        Health "health",
        /// Its circuit breaker is open.
        Rest "rest",
        /// Its tags are denied, or none of them is allowed.
        Tags "tags",
        /// It does not serve the region.
        Region "region",
        /// The call pins another driver.
        Pin "pin",
        /// Another driver ranks higher.
        Rank "rank",
    }
}

/// A driver that was considered and not chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RejectedDriver {
    /// Which driver.
    pub driver: DriverId,
    /// The phase that rejected it.
    pub phase: Phase,
    /// Stable reason for programs.
    pub why: RejectionReason,
    /// Why, for people, in one line.
    pub reason: Cow<'static, str>,
}

/// The resolver's answer, with its reasons.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Route {
    /// The driver that serves the call.
    pub driver: DriverId,
    /// Stable reason for the choice.
    pub reason: &'static str,
    /// Every other driver that claims the tool.
    pub rejected: Vec<RejectedDriver>,
}

/// One exact call to judge, permit and run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The calling actor.
    pub actor: Arc<Actor>,
    /// The contract's id and major version.
    pub tool: ToolKey,
    /// Its full version.
    pub version: Arc<str>,
    /// The chosen driver, and the rejected ones.
    pub route: Route,
    /// The validated input, defaults filled in.
    pub input: FrozenInput,
    /// Contract inputs that the driver's backend knows by another name.
    pub renames: Arc<[(String, String)]>,
    /// The validated context.
    pub context: Value,
    /// What the call may change, by its contract.
    pub effects: Arc<EffectProfile>,
    /// Paths that the driver's manifest opens for writing whatever the contract states: its own
    /// state, such as a login. They do not make a read a write.
    pub driver_state: Arc<[String]>,
    /// Timeout and retry policy.
    pub limits: CallLimits,
    /// The digest of all of the above that decides what runs.
    pub digest: Digest,
}

impl Plan {
    /// The input as the driver's backend names its fields.
    pub fn mapped(&self) -> Cow<'_, Value> {
        renamed(&self.input, &self.renames)
    }
}

/// An input whose fields have the names that a backend knows them by.
pub fn renamed<'i>(input: &'i Value, renames: &[(String, String)]) -> Cow<'i, Value> {
    let fields = match input {
        Value::Object(fields) if !renames.is_empty() => fields,
        as_it_is => return Cow::Borrowed(as_it_is),
    };
    let rename = |name: &String| {
        let found = renames.iter().find(|(from, _)| from == name);
        found.map_or_else(|| name.clone(), |(_, to)| to.clone())
    };
    let mapped = fields.iter().map(|(name, value)| (rename(name), value.clone()));
    Cow::Owned(Value::Object(mapped.collect::<Map<_, _>>()))
}
