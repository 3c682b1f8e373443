//! Governance: `GOVERNANCE.md` after its chain of parents is merged.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::{ActionPattern, Approval, Glob};

/// How far agents go without approval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Autonomy {
    /// Highest risk level that runs without approval.
    pub level: Option<u64>,
    /// Approval requirement where no policy matches.
    pub default_approval: Option<Approval>,
    /// Escalation for an ask without a reachable quorum.
    pub escalation: Option<Escalation>,
}

/// Escalation from one approval class to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Escalation {
    /// The class without a quorum.
    pub from: String,
    /// The class that takes over.
    pub to: String,
}

/// How approvals are signed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Signing {
    /// Signature algorithm.
    pub algorithm: Option<String>,
    /// Location of the public keys.
    pub keyring: Option<String>,
}

/// Audit log settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AuditRules {
    /// `forever` or `days:<n>`.
    pub retention: Option<String>,
    /// Hash algorithm of the chain.
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

/// A person who may approve; an empty `can_approve` revokes an approver of a parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Approver {
    /// Id of the approver.
    pub id: String,
    /// Role in which they approve.
    pub role: Option<String>,
    /// Actions that they may approve.
    pub can_approve: Vec<Glob>,
    /// Quorum that they are part of.
    pub quorum: Option<Quorum>,
}

/// A policy that the governance names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GovernedPolicy {
    /// The name contracts use in `policy:<ref>`.
    pub id: String,
    /// Path or registry reference of its document.
    pub reference: String,
    /// The class of actions it is bound to; absent or `*` means all.
    pub applies_to: Option<ActionPattern>,
    /// `error` blocks, `warn` shows, `info` logs.
    pub severity: String,
    /// Parameters that its document reads.
    pub parameters: Value,
}

/// The effective governance of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Governance {
    /// The files it was merged from, nearest first.
    pub chain: Vec<String>,
    /// How far agents go without approval.
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
    /// Audit log settings.
    pub audit: AuditRules,
    /// Who runs the governance.
    pub executor: Option<String>,
    /// Who decides when no other approver can.
    pub escalate_to: Option<String>,
    /// Foreign metadata, merged.
    pub metadata: Value,
}
