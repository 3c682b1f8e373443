//! Governance merge: combines a chain of governance files, nearest file first.

use haft_model::Governance;
use serde_json::Value as Json;

use crate::governance::GovernanceFile;
use crate::{Diagnostic, Report, rules};

/// Merges a chain, nearest file first, as [`resolve_chain`](super::resolve_chain) gives it.
///
/// The nearest file that says something wins; policies and approvers are replaced by id, and an
/// approver who may approve nothing is gone. The two switches only go one way: once an ancestor
/// has set one it stays set, and a descendant that unsets it is an error.
pub fn merge(chain: &[&GovernanceFile]) -> (Governance, Vec<Diagnostic>) {
    let mut merged = Governance {
        chain: chain.iter().map(|file| file.file().to_string()).collect(),
        ..Governance::default()
    };
    let mut problems = Vec::new();
    for file in chain.iter().rev() {
        problems.splice(0..0, disagreements(file, &merged));
        lay_over(file, &mut merged);
    }
    merged.approvers.retain(|_, approver| !approver.can_approve.is_empty());
    (merged, problems)
}

fn lay_over(file: &GovernanceFile, merged: &mut Governance) {
    lay(&file.autonomy.level, &mut merged.autonomy.level);
    lay(&file.autonomy.default_approval, &mut merged.autonomy.default_approval);
    lay(&file.autonomy.escalation, &mut merged.autonomy.escalation);
    lay(&file.signing.algorithm, &mut merged.signing.algorithm);
    lay(&file.signing.keyring, &mut merged.signing.keyring);
    lay(&file.audit.retention, &mut merged.audit.retention);
    lay(&file.audit.hash, &mut merged.audit.hash);
    lay(&file.audit.storage, &mut merged.audit.storage);
    lay(&file.audit.sign_head, &mut merged.audit.sign_head);
    lay(&file.executor, &mut merged.executor);
    lay(&file.escalate_to, &mut merged.escalate_to);
    merged.signing_required |= file.signing_required == Some(true);
    merged.append_only |= file.append_only == Some(true);
    let policies = file.policies.iter().map(|policy| (policy.id.clone(), policy.clone()));
    merged.policies.extend(policies);
    let approvers = file.approvers.iter().map(|approver| (approver.id.clone(), approver.clone()));
    merged.approvers.extend(approvers);
    lay_metadata(&file.metadata, &mut merged.metadata);
}

fn lay<T: Clone>(own: &Option<T>, merged: &mut Option<T>) {
    if own.is_some() {
        merged.clone_from(own);
    }
}

fn lay_metadata(own: &Json, merged: &mut Json) {
    match (own, merged) {
        (Json::Null, _) => {}
        (Json::Object(own), Json::Object(merged)) => {
            for (name, value) in own {
                lay_metadata(value, merged.entry(name.as_str()).or_insert(Json::Null));
            }
        }
        (own, merged) => merged.clone_from(own),
    }
}

/// Where a file takes back or changes what its ancestors said together.
fn disagreements(file: &GovernanceFile, ancestors: &Governance) -> Vec<Diagnostic> {
    let mut report = Report::new(&file.source);
    switches(file, ancestors, &mut report);
    drift(file, ancestors, &mut report);
    report.into_diagnostics()
}

fn switches(file: &GovernanceFile, ancestors: &Governance, report: &mut Report) {
    if ancestors.append_only && file.append_only == Some(false) {
        report
            .add(
                &rules::G153,
                file.node.place(&["audit", "appendOnly"]),
                "an ancestor locked the log, and this file unlocks it",
            )
            .help("leave `appendOnly` out; it stays locked");
    }
    if ancestors.signing_required && file.signing_required == Some(false) {
        report
            .add(
                &rules::G154,
                file.node.place(&["signing", "required"]),
                "an ancestor requires signatures, and this file does not",
            )
            .help("leave `required` out; signatures stay required");
    }
}

fn drift(file: &GovernanceFile, ancestors: &Governance, report: &mut Report) {
    if let (Some(own), Some(theirs)) = (&file.signing.keyring, &ancestors.signing.keyring)
        && own != theirs
    {
        report
            .add(
                &rules::G155,
                file.node.place(&["signing", "keyring"]),
                format!("signatures are checked with `{own}` here and with `{theirs}` above"),
            )
            .help("leave `keyring` out to use the one above");
    }
    if let (Some(own), Some(theirs)) = (file.autonomy.level, ancestors.autonomy.level)
        && own > theirs
    {
        report
            .add(
                &rules::G156,
                file.node.place(&["autonomy", "level"]),
                format!("the level rises from {theirs} to {own}"),
            )
            .help("a view tightens what it extends");
    }
}
