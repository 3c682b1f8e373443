//! AIP-38 policies: who is granted which actions, under which conditions and limits.

use serde::Serialize;
use serde_json::Value;

/// What holds where no grant speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DefaultDecision {
    /// Allowed; worth a warning.
    Allow,
    /// Denied, which is also what silence means.
    #[default]
    Deny,
}

/// Whom a grant is for: a scheme such as `bot://*`, or a reference with a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Principal {
    /// `user://ana`, `role://owner`, `*` …
    Scheme(String),
    /// Somebody described elsewhere.
    Reference {
        /// A registry reference or file.
        to: String,
        /// The role they must hold.
        role: Option<String>,
    },
    /// Somebody written out.
    Person {
        /// What they are called.
        name: String,
        /// Where to write to them.
        email: String,
        /// The role they must hold.
        role: Option<String>,
    },
}

/// One action of a grant, narrowed to a scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ActionGrant {
    /// An action id, a reference, or `prefix:*`.
    pub action: String,
    /// What it is limited to.
    pub scope: Option<String>,
}

/// A condition that has to hold; a kind that is not known never holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// `ip-range`, `mfa-recent` …
    pub kind: String,
    /// Its parameters.
    pub parameters: Value,
}

/// One grant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Grant {
    /// For whom.
    pub principal: Principal,
    /// Of what.
    pub actions: Vec<ActionGrant>,
    /// All must hold.
    pub conditions: Vec<Condition>,
    /// How long it lasts from `granted_at`; without one it has expired.
    pub ttl_seconds: Option<u64>,
    /// When it was given.
    pub granted_at: Option<String>,
    /// By whom, for the audit.
    pub granted_by: Option<Principal>,
    /// A revoked grant is no grant.
    pub revoked: bool,
}

/// A cap on use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// `rate-tool-calls` …
    pub kind: String,
    /// How much.
    pub value: f64,
    /// Counted for whom.
    pub scope: Option<String>,
    /// Per second, minute, hour or day.
    pub per: Option<String>,
    /// Which actions; empty means all.
    pub applies_to: Vec<String>,
}

/// Something that must hold for every grant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Requirement {
    /// `mfa-recent` …
    pub kind: String,
    /// Which actions; empty means all.
    pub applies_to: Vec<String>,
    /// Its parameters.
    pub parameters: Value,
}

/// One `policy/v1` document.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Policy {
    /// Its id, for the reasons.
    pub id: String,
    /// What silence means.
    pub default: DefaultDecision,
    /// The grants.
    pub grants: Vec<Grant>,
    /// The caps.
    pub limits: Vec<Limit>,
    /// The requirements.
    pub requirements: Vec<Requirement>,
}
