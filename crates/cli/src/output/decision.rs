//! Decision output: a decision with every opinion behind it.

use anyhow::Result;
use haft_model::{Decision, Needs, Opinion, Says, Signer, Verdict};
use serde_json::Value;

use super::{Table, line, visible};

/// Prints a decision: the verdict, who said what, who has to answer, and what would change it.
pub(crate) fn decision(decision: &Decision) -> Result<()> {
    let word = match decision.verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    };
    line(format!("decision  {} {word}: {}", mark(decision.verdict), visible(decision.reason())))?;
    for needs in &decision.needs {
        line(format!("answers   {}", self::needs(needs)))?;
    }
    for offer in &decision.suggested_updates {
        line(format!("offer     {}", self::offer(offer)))?;
    }
    if decision.opinions.is_empty() {
        return Ok(());
    }
    line("")?;
    opinions(&decision.opinions, "")
}

/// The sign of a verdict.
pub(super) fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "\x1b[32m✔\x1b[0m",
        Verdict::Ask => "\x1b[33m?\x1b[0m",
        Verdict::Deny => "\x1b[31m✘\x1b[0m",
    }
}

/// A change that would make the ask unnecessary, in words.
fn offer(offer: &Value) -> String {
    match offer.get("type").and_then(Value::as_str) {
        Some("remember") => "a yes can stand for calls like this one".to_owned(),
        Some("add_rule") => {
            let rule = offer.get("rule").unwrap_or(offer);
            format!("a rule of haft.toml could allow it: {rule}")
        }
        Some(_) | None => offer.to_string(),
    }
}

/// The required approvers, in words.
pub(crate) fn needs(needs: &Needs) -> String {
    let people = match needs.count {
        1 => "one".to_owned(),
        count => count.to_string(),
    };
    let signers: Vec<String> = needs
        .signers
        .iter()
        .map(|signer| match signer {
            Signer::Role(role) => format!("role {role}"),
            Signer::User(name) => name.clone(),
        })
        .collect();
    let whom = if signers.is_empty() { "any approver".to_owned() } else { signers.join(", ") };
    let others = if needs.not_the_caller { ", not the caller" } else { "" };
    format!("{people} of {whom}{others}")
}

/// Prints who said what, each line behind an indent.
pub(super) fn opinions(opinions: &[Opinion], indent: &str) -> Result<()> {
    let layer = format!("{indent}LAYER");
    let mut table = Table::new(&[&layer, "SAYS", "RULE", "REASON"]);
    for opinion in opinions {
        let mut reason = visible(&opinion.reason);
        if let Some(by) = &opinion.answered_by {
            reason.push_str(&format!(" (answered by {by})"));
        }
        table.row(vec![
            format!("{indent}{}", opinion.layer),
            format!("{} {}", sign(opinion.says), opinion.says),
            opinion.rule.clone().unwrap_or_else(|| "-".into()),
            reason,
        ]);
    }
    table.print()
}

fn sign(says: Says) -> char {
    match says {
        Says::Allow => '✔',
        Says::Passthrough => '·',
        Says::Ask => '?',
        Says::Deny => '✘',
    }
}
