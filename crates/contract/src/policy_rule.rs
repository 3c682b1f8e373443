//! Policy rule: `POLICY.md` of doctype `policy` (AIP-7), the verdict about a class of actions.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use haft_model::{ActionPattern, Budget, PolicyRule, Risk, RuleDecision, Signer};

use crate::read::{each, items, owned, text, whole};
use crate::shape::{check, documents};
use crate::source::{Node, Value};
use crate::{Report, rules};

/// The autonomy level of a rule that states none: an agent may act within bounds.
const DEFAULT_AUTONOMY: u64 = 2;

/// Reads a rule's frontmatter.
pub(crate) fn read(node: &Node, report: &mut Report) -> Option<Arc<PolicyRule>> {
    check(node, &documents::governance::RULE, "G001", report);
    lint_signers(node, report);
    let rule = from_node(node)?;
    lint(&rule, node, report);
    Some(Arc::new(rule))
}

fn from_node(node: &Node) -> Option<PolicyRule> {
    let matched = node.get("match")?;
    Some(PolicyRule {
        slug: owned(node, "slug")?,
        action: ActionPattern::new(text(matched, "action")?),
        subject: owned(matched, "subject"),
        risk_level_min: matched
            .get("risk_level_min")
            .and_then(Node::integer)
            .and_then(Risk::new)
            .unwrap_or(Risk::READ),
        decision: decision(text(node, "decision")?)?,
        signers: each(node, "signers", signer),
        quorum: whole(node, "quorum").unwrap_or(1),
        autonomy: whole(node, "autonomy").unwrap_or(DEFAULT_AUTONOMY),
        budget: node.get("budget").map(budget).unwrap_or_default(),
    })
}

fn decision(word: &str) -> Option<RuleDecision> {
    match word {
        "allow" => Some(RuleDecision::Allow),
        "require-approval" => Some(RuleDecision::RequireApproval),
        "escalate" => Some(RuleDecision::Escalate),
        "deny" => Some(RuleDecision::Deny),
        _ => None,
    }
}

fn signer(node: &Node) -> Option<Signer> {
    match owned(node, "userId") {
        Some(user) => Some(Signer::User(user)),
        None => owned(node, "role").map(Signer::Role),
    }
}

fn budget(node: &Node) -> Budget {
    let amount = whole(node, "max_amount_cents");
    Budget {
        max_per_hour: whole(node, "max_per_hour"),
        max_per_day: whole(node, "max_per_day"),
        max_amount_cents: amount,
        currency: owned(node, "currency").or_else(|| amount.map(|_| "USD".to_owned())),
    }
}

fn lint_signers(node: &Node, report: &mut Report) {
    for signer in items(node, "signers") {
        let named = ["role", "userId"].iter().filter(|key| signer.get(key).is_some()).count();
        if named != 1 {
            report
                .add(&rules::G044, signer.span.clone(), "a signer is either a role or a person")
                .help("say one of `role` and `userId`");
        }
    }
}

/// Checks a rule's fields against each other.
fn lint(rule: &PolicyRule, node: &Node, report: &mut Report) {
    match rule.decision {
        RuleDecision::Allow => allows(rule, node, report),
        RuleDecision::RequireApproval => asks(rule, node, report),
        RuleDecision::Escalate => {}
        RuleDecision::Deny => denies(node, report),
    }
}

fn allows(rule: &PolicyRule, node: &Node, report: &mut Report) {
    if rule.autonomy == 0 {
        report
            .add(
                &rules::G040,
                node.place(&["autonomy"]),
                "the rule allows, and leaves everything to people",
            )
            .help("raise `autonomy`, or say `decision: require-approval`");
    }
    let bounded = rule.budget.max_per_hour.is_some()
        || rule.budget.max_per_day.is_some()
        || rule.budget.max_amount_cents.is_some();
    if rule.action.source().contains('*') && !bounded {
        report
            .add(
                &rules::G042,
                node.place(&["match", "action"]),
                format!(
                    "everything that `{}` covers is allowed, without end",
                    rule.action.source()
                ),
            )
            .help("add a `budget`, or name the actions one by one");
    }
}

fn asks(rule: &PolicyRule, node: &Node, report: &mut Report) {
    // Signers that could not be read have been refused; who they are is not known.
    let unread = match node.get("signers") {
        Some(Node { value: Value::List(written), .. }) => written.len() > rule.signers.len(),
        Some(_) => true,
        None => false,
    };
    if unread {
        return;
    }
    let mut people = Vec::new();
    for signer in &rule.signers {
        match signer {
            // How many people hold a role is known only when it is asked.
            Signer::Role(_) => return,
            Signer::User(user) if !people.contains(&user) => people.push(user),
            Signer::User(_) => {}
        }
    }
    if people.is_empty() {
        report
            .add(&rules::G041, node.place(&["decision"]), "no approver is named")
            .help("add `signers`, as in `signers: [{ role: owner }]`");
    } else if (people.len() as u64) < rule.quorum {
        report.add(
            &rules::G043,
            node.place(&["quorum"]),
            format!("{} must sign, and only {} can", rule.quorum, people.len()),
        );
    }
}

fn denies(node: &Node, report: &mut Report) {
    for name in ["signers", "budget"] {
        if let Some(entry) = node.entry(name) {
            report.add(
                &rules::G045,
                entry.key_span.clone(),
                format!("the rule denies, so its `{name}` is never looked at"),
            );
        }
    }
}
