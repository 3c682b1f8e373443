//! Rules: those of `haft.toml`, and AIP-7 policy documents.

use serde::{Deserialize, Serialize};

use crate::Risk;

/// From most to least permissive; the order is the rule for combining.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Go.
    Allow,
    /// Ask a person.
    Ask,
    /// Do not.
    Deny,
}

/// One `[[rule]]` of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// What it says.
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
    /// Why, for the people who read the decision.
    pub reason: Option<String>,
    /// Examples of calls that it is about, as `<tool-id> <json-object>`.
    #[serde(rename = "match", default)]
    pub matches: Vec<String>,
    /// Examples of calls that it is not about.
    #[serde(rename = "not_match", default)]
    pub not_matches: Vec<String>,
}

/// What an AIP-7 policy decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleDecision {
    /// Go.
    Allow,
    /// Collect signatures.
    RequireApproval,
    /// Ask somebody higher.
    Escalate,
    /// Do not.
    Deny,
}

/// Who may sign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signer {
    /// Anybody with this role.
    Role(String),
    /// This person.
    User(String),
}

/// How much a policy lets through before it asks again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// Calls an hour.
    pub max_per_hour: Option<u64>,
    /// Calls a day.
    pub max_per_day: Option<u64>,
    /// Money.
    pub max_amount_cents: Option<u64>,
    /// Whose money.
    pub currency: Option<String>,
}

/// One AIP-7 policy document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PolicyRule {
    /// Its name.
    pub slug: String,
    /// Which actions; segments may be `*`.
    pub action: String,
    /// Which subjects.
    pub subject: Option<String>,
    /// From which risk on.
    pub risk_level_min: Risk,
    /// What it says.
    pub decision: RuleDecision,
    /// Who signs.
    pub signers: Vec<Signer>,
    /// How many.
    pub quorum: u64,
    /// Up to which autonomy it stays permissive.
    pub autonomy: u64,
    /// How much it lets through.
    pub budget: Budget,
}
