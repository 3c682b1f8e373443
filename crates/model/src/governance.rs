//! `GOVERNANCE.md` once its chain of parents has been merged.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::Approval;

/// How far agents go alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Autonomy {
    /// Highest risk that runs without asking.
    pub level: Option<u64>,
    /// What applies where no policy matches.
    pub default_approval: Option<Approval>,
    /// Where to go when no quorum can be found.
    pub escalation: Option<Escalation>,
}

/// From one approval class to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Escalation {
    /// The class that found no quorum.
    pub from: String,
    /// The class that takes over.
    pub to: String,
}

/// How approvals are signed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Signing {
    /// With which algorithm.
    pub algorithm: Option<String>,
    /// Where the public keys are.
    pub keyring: Option<String>,
}

/// How the log is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AuditRules {
    /// `forever` or `days:<n>`.
    pub retention: Option<String>,
    /// The hash of the chain.
    pub hash: Option<String>,
    /// Where the log is copied to.
    pub storage: Option<String>,
    /// Whether the head of the chain is signed and published.
    pub sign_head: Option<bool>,
}

/// How many approvers it takes: `n`, or `n` of `m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Quorum {
    /// Approvals needed.
    pub need: u64,
    /// Out of how many, where stated.
    pub of: Option<u64>,
}

/// Somebody who may approve; an empty `can_approve` revokes an approver of a parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Approver {
    /// Who.
    pub id: String,
    /// In which role.
    pub role: Option<String>,
    /// Which actions.
    pub can_approve: Vec<String>,
    /// With how many others.
    pub quorum: Option<Quorum>,
}

/// A policy that the governance names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GovernedPolicy {
    /// The name contracts use in `policy:<ref>`.
    pub id: String,
    /// Where it stands.
    pub reference: String,
    /// The class of actions it is bound to; absent or `*` means all.
    pub applies_to: Option<String>,
    /// `error` blocks, `warn` shows, `info` logs.
    pub severity: String,
    /// What its document reads.
    pub parameters: Value,
}

/// The effective governance of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Governance {
    /// The files it was merged from, nearest first.
    pub chain: Vec<String>,
    /// How far agents go alone.
    pub autonomy: Autonomy,
    /// Policies by id.
    pub policies: BTreeMap<String, GovernedPolicy>,
    /// Approvers by id.
    pub approvers: BTreeMap<String, Approver>,
    /// Whether signatures are required; no descendant takes this back.
    pub signing_required: bool,
    /// How approvals are signed.
    pub signing: Signing,
    /// Whether the log may only grow; no descendant takes this back.
    pub append_only: bool,
    /// How the log is kept.
    pub audit: AuditRules,
    /// Who runs the governance.
    pub executor: Option<String>,
    /// Who decides when nobody else can.
    pub escalate_to: Option<String>,
    /// Other people's metadata, merged.
    pub metadata: Value,
}
