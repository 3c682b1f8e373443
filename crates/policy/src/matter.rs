//! Authorization request: the plan of one call and the facts that the layers evaluate.

use haft_model::{CostClass, Opinion, Plan, StandingAnswer, Timestamp};
use serde_json::Value;

use crate::Targets;

/// Input of [`crate::decide`]. The pipeline fetches everything in it beforehand.
#[derive(Clone, Copy, Debug)]
pub struct Matter<'m> {
    /// Plan of the call.
    pub plan: &'m Plan,
    /// Targets that the driver will touch.
    pub targets: &'m Targets,
    /// Grant key: the action's id, or `tool:<id>`.
    pub grant: &'m str,
    /// Action that the tool implements.
    pub action: Option<&'m str>,
    /// Cost class of the call.
    pub cost: CostClass,
    /// The workspace trusts the contract's statements about itself.
    pub trusted: bool,
    /// Opinions of hooks and classifiers; a failed one says deny.
    pub opinions: &'m [Opinion],
    /// Standing answers for this actor and tool.
    pub standing: &'m [StandingAnswer],
    /// Usage counts for limits and budgets.
    pub usage: &'m Usage,
    /// Facts that conditions evaluate.
    pub circumstances: &'m Circumstances,
}

/// Usage counts, from the quota counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// Usage by limit: its place (`<policy id>#<index>`) and the count in its period. A limit
    /// without a count fails.
    pub limits: Vec<(String, f64)>,
    /// Calls that an AIP-7 policy allowed: slug, count in the last hour, count since midnight UTC.
    pub budgets: Vec<(String, u64, u64)>,
    /// Money that AIP-7 policies allowed since midnight UTC.
    pub money: Vec<Spending>,
}

/// Spending under a money budget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// Slug of the policy.
    pub slug: String,
    /// Amount spent since midnight UTC, in thousandths of a cent.
    pub spent: u64,
    /// Cost of this call, in thousandths of a cent; `None` if the driver states none, or another
    /// currency.
    pub cost: Option<u64>,
}

/// Facts about the moment of the call, from the edge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Circumstances {
    /// IP address of the caller.
    pub ip: Option<std::net::IpAddr>,
    /// Time of the caller's last second-factor proof (MFA).
    pub mfa_at: Option<Timestamp>,
    /// Further facts for conditions, such as `groups`.
    pub other: Value,
}
