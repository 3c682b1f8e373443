//! Policy rules: `[[rule]]` entries of `haft.toml`, and AIP-7 policy documents.

use serde::{Deserialize, Serialize};

use crate::{ActionPattern, Risk};

/// From most to least permissive; the order is the rule for combining.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Allow the call.
    Allow,
    /// Ask a person.
    Ask,
    /// Deny the call.
    Deny,
}

/// One `[[rule]]` of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Its verdict.
    pub verdict: Verdict,
    /// Tool pattern.
    pub tool: Option<String>,
    /// Action pattern.
    pub action: Option<String>,
    /// Tool class.
    pub class: Option<String>,
    /// Path pattern.
    pub path: Option<String>,
    /// URL pattern.
    pub url: Option<String>,
    /// Command pattern.
    pub command: Option<String>,
    /// Actor pattern.
    pub actor: Option<String>,
    /// The reason, shown with the decision.
    pub reason: Option<String>,
    /// Example calls that it matches, as `<tool-id> <json-object>`.
    #[serde(rename = "match", default)]
    pub matches: Vec<String>,
    /// Example calls that it does not match.
    #[serde(rename = "not_match", default)]
    pub not_matches: Vec<String>,
}

/// What an AIP-7 policy decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleDecision {
    /// Allow the call.
    Allow,
    /// Collect signatures.
    RequireApproval,
    /// Escalate to a higher authority.
    Escalate,
    /// Deny the call.
    Deny,
}

/// A signer of an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signer {
    /// Any person with this role.
    Role(String),
    /// This person.
    User(String),
}

/// Budget: how much a policy lets through before it asks again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// Calls an hour.
    pub max_per_hour: Option<u64>,
    /// Calls a day.
    pub max_per_day: Option<u64>,
    /// Amount in cents.
    pub max_amount_cents: Option<u64>,
    /// Currency of the amount.
    pub currency: Option<String>,
}

/// One AIP-7 policy document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PolicyRule {
    /// Its name.
    pub slug: String,
    /// Action pattern; segments may be `*`.
    pub action: ActionPattern,
    /// Subject pattern.
    pub subject: Option<String>,
    /// Lowest risk that it applies to.
    pub risk_level_min: Risk,
    /// Its decision.
    pub decision: RuleDecision,
    /// Signers that count.
    pub signers: Vec<Signer>,
    /// Signatures needed.
    pub quorum: u64,
    /// Highest autonomy level at which it stays permissive.
    pub autonomy: u64,
    /// How much it lets through.
    pub budget: Budget,
}
