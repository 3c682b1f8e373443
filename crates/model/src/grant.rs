//! Grants (AIP-38): which principal may do which actions, under which conditions and limits.

use serde::Serialize;
use serde_json::Value;

use crate::Glob;

/// The decision where no grant applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DefaultDecision {
    /// Allowed; worth a warning.
    Allow,
    /// Denied, which is also the default.
    #[default]
    Deny,
}

/// Principal of a grant: a scheme such as `bot://*`, or a reference with a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Principal {
    /// `user://ana`, `bot://*`, `role://owner`, `*` …
    Scheme(Glob),
    /// A principal that is described elsewhere.
    Reference {
        /// A registry reference or file.
        to: Glob,
        /// The role they must hold.
        role: Option<String>,
    },
    /// A person, written out.
    Person {
        /// Full name.
        name: String,
        /// Email address.
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
    /// Scope that it is limited to.
    pub scope: Option<Glob>,
}

/// A condition that has to hold; an unknown kind never holds.
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
    /// The principal it is for.
    pub principal: Principal,
    /// The granted actions.
    pub actions: Vec<ActionGrant>,
    /// All must hold.
    pub conditions: Vec<Condition>,
    /// Time to live in seconds from `granted_at`; a grant without one has expired.
    pub ttl_seconds: Option<u64>,
    /// RFC 3339 instant at which it was granted.
    pub granted_at: Option<String>,
    /// Grantor, for the audit.
    pub granted_by: Option<Principal>,
    /// A revoked grant is no grant.
    pub revoked: bool,
}

/// A quota on use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// `rate-tool-calls` …
    pub kind: String,
    /// The cap, in the unit of its kind.
    pub value: f64,
    /// Scope in which use is counted.
    pub scope: Option<String>,
    /// Window: second, minute, hour or day.
    pub per: Option<String>,
    /// Actions it applies to; empty means all.
    pub applies_to: Vec<String>,
}

/// A requirement on every grant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Requirement {
    /// `mfa-recent` …
    pub kind: String,
    /// Actions it applies to; empty means all.
    pub applies_to: Vec<String>,
    /// Its parameters.
    pub parameters: Value,
}

/// One `policy/v1` document.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Policy {
    /// Id, for the reasons of decisions.
    pub id: String,
    /// The decision where no grant applies.
    pub default: DefaultDecision,
    /// The grants.
    pub grants: Vec<Grant>,
    /// The quotas.
    pub limits: Vec<Limit>,
    /// The requirements.
    pub requirements: Vec<Requirement>,
}
