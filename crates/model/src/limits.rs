//! Call limits: timeout, retry policy, cost and rate limits of a call.

use serde::{Deserialize, Serialize};

/// Backoff: how the wait between attempts grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Backoff {
    /// Always the same.
    Fixed,
    /// Doubles each time.
    Exponential,
}

/// Retry policy: an upper bound on attempts; the effect state decides whether a retry is legal at
/// all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RetryPolicy {
    /// Attempts in all, the first included.
    pub max_attempts: u32,
    /// How the wait between attempts grows.
    pub backoff: Backoff,
    /// First wait, in milliseconds.
    pub initial_ms: u64,
}

/// Cost class of a call; a driver may state units beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CostClass {
    /// Nothing is metered.
    #[default]
    Trivial,
    /// Counts against a quota.
    Metered,
    /// Warn before running.
    Expensive,
}

/// Limits of one planned call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CallLimits {
    /// Timeout over all attempts, in milliseconds.
    pub timeout_ms: u64,
    /// Retry policy; `None` means one attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
}

/// What quotas and budgets count a call as, beside its tool, driver and caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// The action that it is granted by; `None` for a tool that is granted by its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Cost that its driver states, in thousandths of a cent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub millicents: Option<u64>,
    /// Currency of the cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// The AIP-7 policies with a budget that let it through by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
}

impl Charge {
    /// Whether it is empty.
    pub fn is_plain(&self) -> bool {
        *self == Charge::default()
    }
}

/// Window of a rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// A second.
    Second,
    /// A minute.
    Minute,
    /// An hour.
    Hour,
    /// A day.
    Day,
}

/// Whose calls a rate limit counts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateScope {
    /// The calls of each actor.
    Actor,
    /// The calls of each tenant.
    Tenant,
    /// All calls of the workspace.
    Workspace,
    /// The calls of each tool, by every actor.
    Tool,
    /// The calls that each driver runs, for every actor.
    Driver,
}

/// Rate limit: a cap on calls in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRate {
    /// Window.
    pub per: Period,
    /// Most calls in the window.
    pub value: u64,
    /// Whose calls count together.
    pub scope: RateScope,
}

impl Period {
    /// The period of a name.
    pub fn parse(name: &str) -> Option<Period> {
        match name {
            "second" => Some(Period::Second),
            "minute" => Some(Period::Minute),
            "hour" => Some(Period::Hour),
            "day" => Some(Period::Day),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Period::Second => "second",
            Period::Minute => "minute",
            Period::Hour => "hour",
            Period::Day => "day",
        }
    }

    /// How many seconds it has.
    pub fn seconds(self) -> i64 {
        match self {
            Period::Second => 1,
            Period::Minute => 60,
            Period::Hour => 3600,
            Period::Day => 86_400,
        }
    }
}

impl RateScope {
    /// The scope of a name, ours or one of AIP-38.
    pub fn parse(name: &str) -> Option<RateScope> {
        match name {
            "actor" | "user" => Some(RateScope::Actor),
            "tenant" | "org" => Some(RateScope::Tenant),
            "workspace" => Some(RateScope::Workspace),
            "tool" => Some(RateScope::Tool),
            "driver" => Some(RateScope::Driver),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            RateScope::Actor => "actor",
            RateScope::Tenant => "tenant",
            RateScope::Workspace => "workspace",
            RateScope::Tool => "tool",
            RateScope::Driver => "driver",
        }
    }
}
