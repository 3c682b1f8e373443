//! Policy binding: selects the AIP-7 policies in force, those that the governance names or all
//! where it names none.

use haft_model::{GovernedPolicy, Layer, Opinion, Says};

use super::{CompiledPolicyRule, scope};
use crate::{Matter, Rulebook};

/// Effect of a matching policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Severity {
    /// The policy decides.
    Blocks,
    /// The policy is recorded in the decision and restricts nothing.
    Shows,
}

/// Policies in force for a call, in the order of their files.
pub(super) fn bound<'r>(
    rulebook: &'r Rulebook,
    matter: &Matter<'_>,
) -> Vec<(&'r CompiledPolicyRule, Severity)> {
    let governed = &rulebook.governance.policies;
    let rules = rulebook.policy_rules.iter();
    if governed.is_empty() {
        return rules.map(|rule| (rule, Severity::Blocks)).collect();
    }
    let severity_of = |rule: &CompiledPolicyRule| {
        let naming = governed.values().filter(|governed| {
            document(rulebook, governed).is_some_and(|named| named.rule.slug == rule.rule.slug)
        });
        naming.filter(|governed| applies(governed, matter)).map(severity).reduce(strictest)
    };
    rules.filter_map(|rule| Some((rule, severity_of(rule)?))).collect()
}

/// Resolves `policy:<name>`: an id of the governance, a slug, or a slug with `-` for each `/`.
pub(crate) fn named<'r>(rulebook: &'r Rulebook, name: &str) -> Option<&'r CompiledPolicyRule> {
    match rulebook.governance.policies.get(name) {
        Some(governed) => document(rulebook, governed),
        None => by_slug(rulebook, name).or_else(|| by_slug(rulebook, &name.replace('/', "-"))),
    }
}

/// Denies for each blocking policy that the governance names and no file defines, because what it
/// forbids is unknown.
pub(crate) fn missing(rulebook: &Rulebook, matter: &Matter<'_>) -> Vec<Opinion> {
    let governed = rulebook.governance.policies.values();
    governed
        .filter(|governed| severity(governed) == Severity::Blocks && applies(governed, matter))
        .filter(|governed| document(rulebook, governed).is_none() && !grants(rulebook, governed))
        .map(|governed| {
            let reason = format!("no policy was read that `{}` could mean", governed.reference);
            Opinion::new(Layer::Governance, Says::Deny, reason).by(&governed.id)
        })
        .collect()
}

/// Document of a governed policy: by folder or last part of its reference, else by its id.
fn document<'r>(
    rulebook: &'r Rulebook,
    governed: &GovernedPolicy,
) -> Option<&'r CompiledPolicyRule> {
    by_slug(rulebook, last_part(&governed.reference)).or_else(|| by_slug(rulebook, &governed.id))
}

fn by_slug<'r>(rulebook: &'r Rulebook, slug: &str) -> Option<&'r CompiledPolicyRule> {
    rulebook.policy_rules.iter().find(|rule| rule.rule.slug == slug)
}

/// Returns true if a governed policy is a grant policy, which has its own layer.
fn grants(rulebook: &Rulebook, governed: &GovernedPolicy) -> bool {
    let name = last_part(&governed.reference);
    rulebook.policies.iter().any(|policy| policy.id == governed.id || last_part(&policy.id) == name)
}

/// `spend` of `./policies/spend/POLICY.md`, `policies/spend.md` and `@acme/spend@1.0.0`.
fn last_part(reference: &str) -> &str {
    let folder = reference.strip_suffix("/POLICY.md").unwrap_or(reference);
    let last = folder.rsplit('/').next().unwrap_or(folder);
    let last = last.split_once('@').map_or(last, |(name, _)| name);
    last.strip_suffix(".md").unwrap_or(last)
}

fn applies(governed: &GovernedPolicy, matter: &Matter<'_>) -> bool {
    governed.applies_to.as_ref().is_none_or(|action| scope::is_action(action, matter))
}

/// Severity of a governed policy; an unknown one blocks.
fn severity(governed: &GovernedPolicy) -> Severity {
    match governed.severity.as_str() {
        "warn" | "info" => Severity::Shows,
        _ => Severity::Blocks,
    }
}

fn strictest(one: Severity, other: Severity) -> Severity {
    match (one, other) {
        (Severity::Shows, Severity::Shows) => Severity::Shows,
        (Severity::Blocks, _) | (_, Severity::Blocks) => Severity::Blocks,
    }
}

#[cfg(test)]
mod tests {
    use super::last_part;

    #[test]
    fn policy_reference_resolves_by_folder_or_last_part() {
        for reference in [
            "./policies/spend/POLICY.md",
            "policies/spend.md",
            "@acme/spend",
            "@acme/policies/spend@1.0.0",
            "spend",
        ] {
            assert_eq!(last_part(reference), "spend", "{reference}");
        }
    }
}
