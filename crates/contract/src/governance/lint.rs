//! Governance lint: rules across the fields of one GOVERNANCE.md.

use std::collections::BTreeSet;

use crate::read::{items, text};
use crate::source::Node;
use crate::{Report, rules};

/// Checks a file's fields against each other.
pub(super) fn check(node: &Node, report: &mut Report) {
    if let Some(consumers) = node.entry("appliesTo")
        && !consumers.value.items().is_empty()
        && node.get("extends").is_none()
    {
        report
            .add(
                &rules::G140,
                consumers.key_span.clone(),
                "the view does not say what it is a view of",
            )
            .help("add `extends` with the path of the parent, or leave `appliesTo` out");
    }
    each_id_once(node, "policies", report);
    each_id_once(node, "approvers", report);
    for approver in items(node, "approvers") {
        approver_says_what(approver, report);
        quorum_fits(approver, report);
    }
}

fn each_id_once(node: &Node, key: &str, report: &mut Report) {
    let mut seen = BTreeSet::new();
    for item in items(node, key) {
        if let Some(id) = text(item, "id")
            && !seen.insert(id)
        {
            report.add(&rules::G143, item.place(&["id"]), format!("`{key}` lists `{id}` twice"));
        }
    }
}

fn approver_says_what(approver: &Node, report: &mut Report) {
    if let Some(id) = text(approver, "id")
        && approver.get("canApprove").is_none()
    {
        report
            .add(
                &rules::G142,
                approver.place(&["id"]),
                format!("nothing says what `{id}` may approve, so that is nothing"),
            )
            .help("add `canApprove`; an empty list revokes an approver of a parent");
    }
}

fn quorum_fits(approver: &Node, report: &mut Report) {
    let Some(quorum) = text(approver, "quorum").and_then(super::quorum) else { return };
    if let Some(of) = quorum.of.filter(|of| *of < quorum.need) {
        report.add(
            &rules::G141,
            approver.place(&["quorum"]),
            format!("{} of {of} can never agree", quorum.need),
        );
    }
}
