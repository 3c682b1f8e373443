//! Policy scope: matches an AIP-7 policy to a call by action, subject and minimum risk.

use haft_model::{ActionPattern, PolicyRule, Risk, RuleDecision};

use super::compiled_policy_rule::{CompiledPolicyRule, SubjectPattern};
use crate::targets::Spellings;
use crate::values::{paths, straight};
use crate::{Matter, autonomy};

/// AIP-7 name of every tool call.
const CALL: &str = "tool.call";

/// Returns true if a policy matches a call.
pub(super) fn matches(compiled: &CompiledPolicyRule, matter: &Matter<'_>) -> bool {
    let CompiledPolicyRule { rule, subject } = compiled;
    matches_apart_from_subject(rule, matter)
        && subject.as_ref().is_none_or(|subject| is_subject(rule, subject, matter))
}

/// Returns true if a policy matches a call by action and risk.
pub(super) fn matches_apart_from_subject(rule: &PolicyRule, matter: &Matter<'_>) -> bool {
    is_action(&rule.action, matter) && autonomy::risk(matter) >= rule.risk_level_min
}

/// Specificity of a policy: exact before wildcard, with a subject before without, higher risk
/// before lower.
pub(super) fn specificity(rule: &PolicyRule) -> (bool, u8, Risk) {
    let subject = match &rule.subject {
        Some(subject) if !subject.contains('*') => 2,
        Some(_) => 1,
        None => 0,
    };
    (!rule.action.source().contains('*'), subject, rule.risk_level_min)
}

/// Returns true if a pattern names the call's tool, its action or its grant key.
pub(super) fn is_action(pattern: &ActionPattern, matter: &Matter<'_>) -> bool {
    let tool = matter.plan.tool.id.as_str();
    let names = [Some(CALL), Some(tool), Some(matter.grant), matter.action];
    names.into_iter().flatten().any(|name| pattern.matches(name))
}

/// Returns true if a subject matches the call.
///
/// Of several paths, one is enough for a policy that restricts, and a policy that allows has to
/// match all of them.
fn is_subject(rule: &PolicyRule, subject: &SubjectPattern, matter: &Matter<'_>) -> bool {
    let (patterns, paths) = match subject {
        SubjectPattern::Tool(glob) => return glob.matches(matter.plan.tool.id.as_str()),
        SubjectPattern::Rooted(patterns) => (patterns, paths(&matter.plan.input)),
        SubjectPattern::Inside(patterns) => (patterns, inside_paths(matter)),
    };
    let told: Vec<Spellings> = matter.targets.path_spellings().collect();
    match rule.decision {
        RuleDecision::Allow => {
            !paths.is_empty() && paths.iter().chain(&told).all(|path| path.is_let_go(patterns))
        }
        RuleDecision::RequireApproval | RuleDecision::Escalate | RuleDecision::Deny => {
            let mut behind = matter.targets.backend.path_spellings();
            paths.iter().chain(&told).any(|path| path.is_held(patterns))
                || behind.any(|path| path.is_held(patterns))
        }
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
