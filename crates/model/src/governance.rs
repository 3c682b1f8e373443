//! `GOVERNANCE.md` once its chain of parents has been merged.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Approval;

/// How far agents go alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Autonomy {
    /// Highest risk that runs without asking.
    pub level: Option<u64>,
    /// What applies where no policy matches.
    pub default_approval: Option<Approval>,
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
    /// `error` blocks, `warn` shows, `info` logs.
    pub severity: String,
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
    /// Whether signatures are required.
    pub signing_required: bool,
    /// Whether the log may only grow.
    pub append_only: bool,
}
