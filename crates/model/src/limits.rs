//! How long, how often and at what price a call may run.

use serde::Serialize;

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
pub struct Limits {
    /// One deadline over all attempts.
    pub timeout_ms: u64,
    /// How many attempts at most, and how they are spaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
}
