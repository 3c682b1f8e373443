//! One call as judges see it: the plan, and what had to be found out about it beforehand.

use haft_model::{CostClass, Opinion, Plan, StandingAnswer, Timestamp};
use serde_json::Value;

use crate::Targets;

/// What is judged. The room before fetched everything in it.
#[derive(Clone, Copy, Debug)]
pub struct Matter<'m> {
    /// The plan.
    pub plan: &'m Plan,
    /// What its driver will touch.
    pub targets: &'m Targets,
    /// What a grant has to name: the action's id, or `tool:<id>`.
    pub grant: &'m str,
    /// The action that the tool implements.
    pub action: Option<&'m str>,
    /// What the call costs in kind.
    pub cost: CostClass,
    /// Whether what the contract says of itself is taken at its word.
    pub trusted: bool,
    /// What hooks and classifiers said; a source that failed says deny.
    pub opinions: &'m [Opinion],
    /// Answers that stand, for this actor and tool.
    pub standing: &'m [StandingAnswer],
    /// What was used up so far.
    pub usage: &'m Usage,
    /// What conditions ask about.
    pub circumstances: &'m Circumstances,
}

/// How often things were done lately, as whoever keeps the books counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// Calls by this actor of what a limit counts: the limit's place (`<policy id>#<index>`) and the
    /// count in its period. A limit without a count is unsatisfied.
    pub limits: Vec<(String, f64)>,
    /// Calls that an AIP-7 policy let through: its slug, in the last hour, since midnight UTC.
    pub budgets: Vec<(String, u64, u64)>,
    /// Money that AIP-7 policies let through since midnight UTC.
    pub money: Vec<Spending>,
}

/// What was spent of a budget in money.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// The policy's slug.
    pub slug: String,
    /// What was spent, in thousandths of a cent.
    pub spent: u64,
    /// What this call would cost; none where its driver does not say, or in another currency.
    pub cost: Option<u64>,
}

/// What is known about the moment of the call beyond the call itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Circumstances {
    /// Where the caller is.
    pub ip: Option<std::net::IpAddr>,
    /// When the caller last proved who they are with a second factor.
    pub mfa_at: Option<Timestamp>,
    /// Anything else that conditions may ask about.
    pub other: Value,
}
