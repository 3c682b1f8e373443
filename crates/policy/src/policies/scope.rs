//! Policy scope: matches an AIP-7 policy to a call by action, subject and minimum risk.

use haft_model::{Glob, PolicyRule, Risk, RuleDecision};

use crate::targets::Spellings;
use crate::values::{path_patterns, paths, straight};
use crate::{Matter, autonomy};

/// AIP-7 name of every tool call.
const CALL: &str = "tool.call";

/// Returns true if a policy matches a call.
pub(super) fn matches(rule: &PolicyRule, matter: &Matter<'_>) -> bool {
    is_action(&rule.action, matter)
        && rule.subject.as_deref().is_none_or(|subject| is_subject(rule, subject, matter))
        && autonomy::risk(matter) >= rule.risk_level_min
}

/// Specificity of a policy: exact before wildcard, with a subject before without, higher risk
/// before lower.
pub(super) fn specificity(rule: &PolicyRule) -> (bool, u8, Risk) {
    let subject = match &rule.subject {
        Some(subject) if !subject.contains('*') => 2,
        Some(_) => 1,
        None => 0,
    };
    (!rule.action.contains('*'), subject, rule.risk_level_min)
}

/// Returns true if a pattern names the call's tool, its action or its grant key.
///
/// Actions of AIP-7 have no colons, so those of AIP-39 are compared with dots: `payments:charge` is
/// `payments.charge`.
pub(super) fn is_action(pattern: &str, matter: &Matter<'_>) -> bool {
    let dotted = |name: &str| name.replace(':', ".");
    let pattern = dotted(pattern);
    let tool = matter.plan.tool.id.as_str();
    let names = [Some(CALL), Some(tool), Some(matter.grant), matter.action];
    names.into_iter().flatten().any(|name| has_segments(&pattern, &dotted(name)))
}

/// Matches segments: `*` is any one segment, and as the last one any number from one on.
fn has_segments(pattern: &str, name: &str) -> bool {
    let mut names = name.split('.');
    let mut patterns = pattern.split('.').peekable();
    while let Some(wanted) = patterns.next() {
        let Some(segment) = names.next() else { return false };
        if wanted == "*" && patterns.peek().is_none() {
            return true;
        }
        if !Glob::new(wanted).matches(segment) {
            return false;
        }
    }
    names.next().is_none()
}

/// Returns true if a subject matches the call: by path where it begins with `/` or `workspace:`,
/// else by tool id.
///
/// Of several paths, one is enough for a policy that restricts, and a policy that allows has to
/// match all of them.
fn is_subject(rule: &PolicyRule, subject: &str, matter: &Matter<'_>) -> bool {
    let Some(patterns) = path_subject(subject) else {
        return Glob::new(subject).matches(matter.plan.tool.id.as_str());
    };
    let paths = match subject.starts_with('/') {
        true => paths(&matter.plan.input),
        false => inside_paths(matter),
    };
    let told: Vec<Spellings> = matter.targets.path_spellings().collect();
    match rule.decision {
        RuleDecision::Allow => {
            !paths.is_empty() && paths.iter().chain(&told).all(|path| path.is_let_go(&patterns))
        }
        RuleDecision::RequireApproval | RuleDecision::Escalate | RuleDecision::Deny => {
            let mut behind = matter.targets.backend.path_spellings();
            paths.iter().chain(&told).any(|path| path.is_held(&patterns))
                || behind.any(|path| path.is_held(&patterns))
        }
    }
}

/// Globs of a subject about paths: one that begins with `/` or `workspace:`.
pub(crate) fn path_subject(subject: &str) -> Option<Vec<Glob>> {
    match subject.strip_prefix("workspace:") {
        Some(inside) => Some(path_patterns(inside.trim_start_matches('/'))),
        None => subject.starts_with('/').then(|| path_patterns(subject)),
    }
}

/// Paths of the input and of the contract's mutations, relative to the workspace root.
fn inside_paths(matter: &Matter<'_>) -> Vec<Spellings> {
    let inside = |path: &str| path.trim_start_matches('/').to_owned();
    let changes = matter.plan.effects.mutates.iter();
    let changes = changes.filter_map(|entry| entry.strip_prefix("workspace:"));
    let changes = changes.map(|path| Spellings::of(inside(&straight(path))));
    let named = paths(&matter.plan.input).into_iter().map(|mut path| {
        path.canonical.iter_mut().for_each(|name| *name = inside(name));
        path
    });
    named.chain(changes).collect()
}

#[cfg(test)]
mod tests {
    use super::has_segments;

    #[test]
    fn scope_star_matches_one_segment_or_any_trailing_ones() {
        for (pattern, name, expected) in [
            ("payment.charge", "payment.charge", true),
            ("payment.charge", "payment.refund", false),
            ("payment.*", "payment.charge", true),
            ("payment.*", "payment.charge.late", true),
            ("payment.*", "payment", false),
            ("*.charge", "payment.charge", true),
            ("*.charge", "shop.payment.charge", false),
            ("payment.*.late", "payment.charge.late", true),
            ("payment.ch*", "payment.charge", true),
            ("*", "anything.at.all", true),
            ("payment", "payment.charge", false),
        ] {
            assert_eq!(has_segments(pattern, name), expected, "{pattern} on {name}");
        }
    }
}
