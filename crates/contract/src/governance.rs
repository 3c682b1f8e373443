//! Governance: `GOVERNANCE.md` (AIP-7), one file as written, its chain of parents and their merged
//! rules.

mod chain;
mod lint;
mod merge;
#[cfg(test)]
mod tests;

pub use chain::{LONGEST_CHAIN, resolve_chain};
pub use merge::merge;

use std::sync::Arc;

use haft_model::{
    ActionPattern, Approval, Approver, AuditRules, Autonomy, Escalation, Glob, GovernedPolicy,
    Quorum, Signing,
};
use serde_json::Value as Json;

use crate::read::{each, flag, json, list, owned, shared, text, whole};
use crate::shape::{check, documents};
use crate::source::Node;
use crate::{Report, Source};

/// One GOVERNANCE.md as its author wrote it; what is absent is left to its parents.
#[derive(Clone, Debug, PartialEq)]
pub struct GovernanceFile {
    /// The name for machines.
    pub name: Arc<str>,
    /// Its name for people.
    pub title: Arc<str>,
    /// The description of what it governs.
    pub description: Arc<str>,
    /// The version of the file.
    pub version: Arc<str>,
    /// The path of its parent, relative to the file; a file without one is a root.
    pub extends: Option<String>,
    /// The actors that this view is for; no descendant inherits it.
    pub applies_to: Vec<String>,
    /// The autonomy level of agents.
    pub autonomy: Autonomy,
    /// Whether signatures are required.
    pub signing_required: Option<bool>,
    /// How approvers sign.
    pub signing: Signing,
    /// Whether the audit log is append-only.
    pub append_only: Option<bool>,
    /// Audit rules of the log.
    pub audit: AuditRules,
    /// The policies it adds or replaces.
    pub policies: Vec<GovernedPolicy>,
    /// The approvers it adds, replaces or revokes.
    pub approvers: Vec<Approver>,
    /// The actor that runs the governance.
    pub executor: Option<String>,
    /// The approver of last resort, when no other approver can decide.
    pub escalate_to: Option<String>,
    /// Other people's metadata.
    pub metadata: Json,
    /// The text in which problems of the chain are reported.
    source: Source,
    node: Node,
}

impl GovernanceFile {
    /// The file's path from the workspace's root.
    pub fn file(&self) -> &Arc<str> {
        self.source.file()
    }
}

/// Reads a GOVERNANCE.md's frontmatter.
pub(crate) fn read(
    source: &Source,
    node: &Node,
    report: &mut Report,
) -> Option<Arc<GovernanceFile>> {
    check(node, &documents::governance::WORKSPACE, "G101", report);
    lint::check(node, report);
    from_node(source, node).map(Arc::new)
}

// `work`, `knowledge` and `display` bind documents and screens that Haft does not have.
fn from_node(source: &Source, node: &Node) -> Option<GovernanceFile> {
    let signing = node.get("signing");
    let audit = node.get("audit");
    Some(GovernanceFile {
        name: shared(node, "name")?,
        title: shared(node, "title")?,
        description: shared(node, "description")?,
        version: shared(node, "version")?,
        extends: owned(node, "extends"),
        applies_to: list(node, "appliesTo"),
        autonomy: node.get("autonomy").map(autonomy).unwrap_or_default(),
        signing_required: signing.and_then(|signing| flag(signing, "required")),
        signing: signing.map(read_signing).unwrap_or_default(),
        append_only: audit.and_then(|audit| flag(audit, "appendOnly")),
        audit: audit.map(read_audit).unwrap_or_default(),
        policies: each(node, "policies", policy),
        approvers: each(node, "approvers", approver),
        executor: owned(node, "executor"),
        escalate_to: owned(node, "escalateTo"),
        metadata: json(node, "metadata").unwrap_or_default(),
        source: source.clone(),
        node: node.clone(),
    })
}

fn autonomy(node: &Node) -> Autonomy {
    let escalation =
        |node: &Node| Some(Escalation { from: owned(node, "from")?, to: owned(node, "to")? });
    Autonomy {
        level: whole(node, "level"),
        default_approval: text(node, "defaultApproval").and_then(Approval::parse),
        escalation: node.get("approvalEscalation").and_then(escalation),
    }
}

fn read_signing(node: &Node) -> Signing {
    Signing { algorithm: owned(node, "algo"), keyring: owned(node, "keyring") }
}

fn read_audit(node: &Node) -> AuditRules {
    AuditRules {
        retention: owned(node, "retention"),
        hash: owned(node, "hashAlgo"),
        storage: owned(node, "storage"),
        sign_head: flag(node, "headPointerSign"),
    }
}

fn policy(node: &Node) -> Option<GovernedPolicy> {
    Some(GovernedPolicy {
        id: owned(node, "id")?,
        reference: owned(node, "ref")?,
        applies_to: text(node, "appliesTo").map(ActionPattern::new),
        severity: owned(node, "severity").unwrap_or_else(|| "error".into()),
        parameters: json(node, "params").unwrap_or_default(),
    })
}

fn approver(node: &Node) -> Option<Approver> {
    Some(Approver {
        id: owned(node, "id")?,
        role: owned(node, "role"),
        can_approve: list(node, "canApprove").iter().map(|pattern| Glob::new(pattern)).collect(),
        quorum: text(node, "quorum").and_then(quorum),
    })
}

/// Reads `n` or `n-of-m`.
fn quorum(text: &str) -> Option<Quorum> {
    match text.split_once("-of-") {
        Some((need, of)) => Some(Quorum { need: need.parse().ok()?, of: Some(of.parse().ok()?) }),
        None => Some(Quorum { need: text.parse().ok()?, of: None }),
    }
}
