//! AIP-7 policies: allow, deny, require approval or escalate calls by action and subject.

mod bind;
mod compiled_policy_rule;
mod scope;

pub(crate) use bind::{missing, named};
pub use compiled_policy_rule::CompiledPolicyRule;

use haft_model::{Budget, Firmness, Layer, Needs, Opinion, PolicyRule, RuleDecision, Says, Signer};

use crate::{Matter, Rulebook, autonomy};
use bind::Severity;

/// Opinions of the policies that match the call, the most specific first.
pub(crate) fn opinions(rulebook: &Rulebook, matter: &Matter<'_>) -> Vec<Opinion> {
    let mut bound = bind::bound(rulebook, matter);
    bound.retain(|(rule, _)| scope::matches(rule, matter));
    bound.sort_by_key(|(rule, _)| std::cmp::Reverse(scope::specificity(&rule.rule)));
    let mut opinions = Vec::new();
    for (rule, severity) in bound {
        let said = judge(rulebook, matter, &rule.rule);
        match severity {
            Severity::Blocks => opinions.extend(said),
            Severity::Shows => opinions.extend(said.into_iter().map(shown)),
        }
    }
    opinions
}

/// Policies about paths for the target guard: those that deny, and those that would ask and did not
/// match at authorization.
pub(crate) fn held_paths<'r>(
    rulebook: &'r Rulebook,
    matter: &Matter<'_>,
) -> Vec<&'r CompiledPolicyRule> {
    let mut bound = bind::bound(rulebook, matter);
    bound.retain(|(compiled, severity)| {
        let CompiledPolicyRule { rule, subject } = compiled;
        let answered = rule.decision != RuleDecision::Deny && scope::matches(compiled, matter);
        *severity == Severity::Blocks
            && rule.decision != RuleDecision::Allow
            && !answered
            && subject.as_ref().is_some_and(|subject| subject.path_globs().is_some())
            && scope::matches_apart_from_subject(rule, matter)
    });
    bound.into_iter().map(|(rule, _)| rule).collect()
}

/// Opinions of a policy that a contract or the governance names, whatever the policy itself
/// matches.
///
/// A policy that matches and is in force has spoken already. Its allow becomes a passthrough:
/// naming a lenient policy allows nothing.
pub(crate) fn obliged(
    rulebook: &Rulebook,
    matter: &Matter<'_>,
    layer: Layer,
    compiled: &CompiledPolicyRule,
) -> Vec<Opinion> {
    let rule = &compiled.rule;
    let mut bound = bind::bound(rulebook, matter).into_iter();
    let in_force =
        bound.any(|(bound, severity)| bound.rule.slug == rule.slug && severity == Severity::Blocks);
    if in_force && scope::matches(compiled, matter) {
        return Vec::new();
    }
    let name = format!("policy:{}", rule.slug);
    if autonomy::risk(matter) < rule.risk_level_min {
        let reason =
            format!("`{}` begins at risk {}: others decide", rule.slug, rule.risk_level_min);
        return vec![Opinion::new(layer, Says::Passthrough, reason).by(name)];
    }
    let said = judge(rulebook, matter, rule).into_iter().map(|opinion| match opinion.says {
        Says::Allow => {
            let reason = format!("`{}` has nothing against it: others decide", rule.slug);
            Opinion::new(layer, Says::Passthrough, reason).by(name.clone())
        }
        Says::Passthrough | Says::Ask | Says::Deny => Opinion { layer, ..opinion }.by(name.clone()),
    });
    said.collect()
}

/// Opinions of one policy about a call that it matches.
fn judge(rulebook: &Rulebook, matter: &Matter<'_>, rule: &PolicyRule) -> Vec<Opinion> {
    let slug = &rule.slug;
    let level = autonomy::level(rulebook);
    let beyond = u64::from(level.level()) > rule.autonomy;
    let exhausted = exhausted(rule, matter);
    let deny = || Opinion::new(Layer::Policy, Says::Deny, format!("`{slug}` denies it"));
    let mut said = Vec::new();
    match rule.decision {
        RuleDecision::Deny => return vec![deny().by(slug)],
        RuleDecision::Escalate => {
            said.push(escalated(rulebook, format!("`{slug}` escalates it")));
        }
        RuleDecision::RequireApproval => {
            said.push(approved(rule, format!("`{slug}` requires approval")));
        }
        RuleDecision::Allow => {}
    }
    if beyond && rule.decision != RuleDecision::Escalate {
        let reason = format!("autonomy {level} is above the {} of `{slug}`", rule.autonomy);
        said.push(escalated(rulebook, reason));
    }
    if let Some(why) = exhausted.filter(|_| rule.decision == RuleDecision::Allow) {
        said.push(approved(rule, format!("the budget of `{slug}` is used up: {why}")));
    }
    if said.is_empty() {
        said.push(Opinion::new(Layer::Policy, Says::Allow, format!("`{slug}` allows it")));
    }
    said.into_iter().map(|opinion| opinion.by(slug)).collect()
}

/// Ask of a policy that requires approvers; the caller never counts.
fn approved(rule: &PolicyRule, reason: String) -> Opinion {
    let needs =
        Needs { count: rule.quorum.max(1), signers: rule.signers.clone(), not_the_caller: true };
    Opinion::new(Layer::Policy, Says::Ask, reason).firm(Firmness::Always).needing(needs)
}

/// Ask for the governance's escalation contact, or for any approver but the caller.
fn escalated(rulebook: &Rulebook, reason: String) -> Opinion {
    let signers = rulebook.governance.escalate_to.as_deref().map(signer).into_iter().collect();
    let needs = Needs { count: 1, signers, not_the_caller: true };
    Opinion::new(Layer::Policy, Says::Ask, reason).firm(Firmness::Always).needing(needs)
}

/// Signer of `escalateTo`: `role:x` is a role, everything else a person.
fn signer(name: &str) -> Signer {
    match name.strip_prefix("role:") {
        Some(role) => Signer::Role(role.trim_start_matches('/').to_owned()),
        None => Signer::User(name.to_owned()),
    }
}

/// Reason why a policy's budget is exhausted. INVARIANT: a budget without a count is exhausted.
fn exhausted(rule: &PolicyRule, matter: &Matter<'_>) -> Option<String> {
    let Budget { max_per_hour, max_per_day, max_amount_cents, .. } = rule.budget;
    let used = matter.usage.budgets.iter().find(|(slug, ..)| *slug == rule.slug);
    let spent = |most: Option<u64>, used: Option<u64>, per: &str| {
        let most = most?;
        match used {
            Some(used) => (used >= most).then(|| format!("{used} of {most} {per}")),
            None => Some(format!("calls {per} are not counted")),
        }
    };
    let money = max_amount_cents.and_then(|most| overspent(rule, most, matter));
    spent(max_per_hour, used.map(|(_, hour, _)| *hour), "an hour")
        .or_else(|| spent(max_per_day, used.map(|(.., day)| *day), "a day"))
        .or(money)
}

/// Reason why a money budget does not cover the call; an unknown cost counts as too much.
fn overspent(rule: &PolicyRule, cents: u64, matter: &Matter<'_>) -> Option<String> {
    let currency = rule.budget.currency.as_deref().unwrap_or("USD");
    let found = matter.usage.money.iter().find(|spending| spending.slug == rule.slug);
    let Some(spending) = found else { return Some("spending is not counted".to_owned()) };
    let Some(cost) = spending.cost else {
        return Some(format!("the driver does not say what the call costs in {currency}"));
    };
    let most = cents.saturating_mul(1000);
    let in_cents = |millicents: u64| millicents as f64 / 1000.0;
    (spending.spent.saturating_add(cost) > most).then(|| {
        let (spent, cost) = (in_cents(spending.spent), in_cents(cost));
        format!("{spent} of {cents} cents ({currency}) were spent today, and the call costs {cost}")
    })
}

/// Opinion of a policy that only warns or informs, turned into a passthrough.
fn shown(opinion: Opinion) -> Opinion {
    let reason = format!("only shown: {}", opinion.reason);
    let pass = Opinion::new(opinion.layer, Says::Passthrough, reason);
    Opinion { rule: opinion.rule, ..pass }
}
