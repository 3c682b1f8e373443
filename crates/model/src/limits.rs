//! How long, how often and at what price a call may run.

use serde::{Deserialize, Serialize};

/// How the wait between attempts grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Backoff {
    /// Always the same.
    Fixed,
    /// Doubles each time.
    Exponential,
}

/// An upper bound on attempts; whether another attempt is legal at all is decided by its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RetryPolicy {
    /// Attempts in all, the first included.
    pub max_attempts: u32,
    /// How the wait grows.
    pub backoff: Backoff,
    /// The first wait.
    pub initial_ms: u64,
}

/// What a call costs in kind; a driver may state units beside it.
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

/// The ceilings of one planned call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CallLimits {
    /// One deadline over all attempts.
    pub timeout_ms: u64,
    /// How many attempts at most, and how they are spaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
}

/// What limits and budgets count a call as, beside its tool, its driver and its caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// The action that it is granted by; none for a tool that is granted by its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// What its driver says that it costs, in thousandths of a cent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub millicents: Option<u64>,
    /// Whose cents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// The AIP-7 policies with a budget that let it through by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
}

impl Charge {
    /// Whether there is nothing to say.
    pub fn is_plain(&self) -> bool {
        *self == Charge::default()
    }
}

/// How long a rate looks back.
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

/// Whose calls a rate counts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateScope {
    /// Each actor's.
    Actor,
    /// Each tenant's.
    Tenant,
    /// Everybody's.
    Workspace,
    /// Those of each tool, whoever calls.
    Tool,
    /// Those that each driver carries out, whoever calls.
    Driver,
}

/// A cap on calls in a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRate {
    /// In how long.
    pub per: Period,
    /// How many calls.
    pub value: u64,
    /// Whose calls are counted together.
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
