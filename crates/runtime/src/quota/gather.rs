//! Quota lookup: collects the caps that apply to a call from haft.toml, its contract and its
//! policies.

use haft_catalog::CatalogEntry;
use haft_ledger::Use;
use haft_model::{
    Charge, Decision, Glob, InvocationId, Layer, Period, Plan, PolicyRule, RateScope, Says,
    Timestamp,
};

use super::cap::{Cap, Of, Origin, QuotaScope, What, Whose};
use super::window::Window;
use crate::World;

/// Default currency.
const USUAL: &str = "USD";

/// Usage record of a call as if it ran now.
pub(crate) fn used(entry: &CatalogEntry, plan: &Plan, now: Timestamp) -> Use {
    Use {
        seq: 0,
        invocation: InvocationId::from(""),
        attempt: 1,
        at: now,
        tool: plan.tool.to_string(),
        driver: plan.route.driver.clone(),
        actor: plan.actor.id.to_string(),
        tenant: plan.actor.tenant.to_string(),
        charge: charge(entry, plan),
    }
}

/// Cost and action of a call, for its usage record.
fn charge(entry: &CatalogEntry, plan: &Plan) -> Charge {
    let chosen = entry.bindings.iter().find(|binding| binding.driver.id == plan.route.driver);
    // Rounds up to a whole thousandth, so that rounding never overspends a budget.
    let millicents = chosen.and_then(|binding| binding.units).map(|units| units.ceil() as u64);
    let currency = chosen.and_then(|binding| binding.currency()).unwrap_or(USUAL);
    Charge {
        action: entry.contract.action.as_ref().map(|action| action.id.to_string()),
        currency: millicents.is_some().then(|| currency.to_owned()),
        millicents,
        policies: Vec::new(),
    }
}

/// AIP-7 policies with a budget whose allow a decision rests on.
pub(crate) fn let_through(world: &World, decision: &Decision) -> Vec<String> {
    let allowing = decision
        .opinions
        .iter()
        .filter(|opinion| opinion.layer == Layer::Policy && opinion.says == Says::Allow);
    let named = allowing.filter_map(|opinion| opinion.rule.as_ref());
    let rules = &world.rulebook.policy_rules;
    let has_budget = |slug: &&String| {
        rules.iter().any(|one| one.rule.slug == **slug && !budget(&one.rule, "").is_empty())
    };
    named.filter(has_budget).cloned().collect()
}

/// Rate limits of haft.toml and of the contract.
pub(crate) fn rates(world: &World, entry: &CatalogEntry, used: &Use) -> Vec<Cap> {
    let mut caps = Vec::new();
    for rate in &world.rates {
        let per_driver = rate.driver.is_some() || rate.rate.scope == RateScope::Driver;
        let counted = QuotaScope {
            what: if per_driver { What::Attempts } else { What::Calls },
            window: Window::Sliding(rate.rate.per.seconds()),
            of: Of::Named(rate.tools.clone()),
            drivers: rate.driver.clone(),
            whose: Whose::of(rate.rate.scope, used),
        };
        let origin = Origin::Settings(rate.rate.per, rate.rate.scope);
        caps.push(Cap { counted, most: rate.rate.value, origin });
    }
    for rate in &entry.contract.tool.extras.limits {
        let id = entry.contract.key().id.as_str();
        let own = Some(used.tool.clone());
        let counted = QuotaScope {
            what: What::Calls,
            window: Window::Sliding(rate.per.seconds()),
            of: Of::Named(Glob::new(id)),
            drivers: None,
            whose: Whose { tool: own, ..Whose::of(rate.scope, used) },
        };
        caps.push(Cap {
            counted,
            most: rate.value,
            origin: Origin::Contract(rate.per, rate.scope),
        });
    }
    caps.retain(|cap| cap.counted.amount(used).is_some());
    caps
}

/// Limits of `policy/v1` documents of a kind, scope and period that the runtime counts.
pub(crate) fn policy_limits(world: &World, used: &Use) -> Vec<Cap> {
    let mut caps = Vec::new();
    for policy in &world.rulebook.policies {
        for (index, limit) in policy.limits.iter().enumerate() {
            let scope = limit.scope.as_deref().map_or(Some(RateScope::Actor), RateScope::parse);
            let per = limit.per.as_deref().and_then(Period::parse);
            let (Some(scope), Some(per), "rate-tool-calls") = (scope, per, limit.kind.as_str())
            else {
                continue;
            };
            let counted = QuotaScope {
                what: What::Calls,
                window: Window::Sliding(per.seconds()),
                of: Of::Granted(limit.applies_to.clone()),
                drivers: None,
                whose: Whose::of(scope, used),
            };
            let origin = Origin::Policy(format!("{}#{index}", policy.id));
            // The limit has room while less than its value was used; the value may be a fraction.
            caps.push(Cap { counted, most: limit.value.ceil() as u64, origin });
        }
    }
    caps.retain(|cap| cap.counted.amount(used).is_some());
    caps
}

/// Budgets of AIP-7 policies.
pub(crate) fn budgets(world: &World, tenant: &str) -> Vec<Cap> {
    world.rulebook.policy_rules.iter().flat_map(|one| budget(&one.rule, tenant)).collect()
}

/// Budget of one policy: the hour is a sliding window, the day starts at midnight UTC, and cost
/// counts by the day.
fn budget(rule: &PolicyRule, tenant: &str) -> Vec<Cap> {
    let currency = rule.budget.currency.as_deref().unwrap_or(USUAL).to_owned();
    let cents = rule.budget.max_amount_cents.map(|cents| cents.saturating_mul(1000));
    let lines = [
        (rule.budget.max_per_hour, What::Calls, Window::Sliding(3600)),
        (rule.budget.max_per_day, What::Calls, Window::UtcDay),
        (cents, What::Money(currency), Window::UtcDay),
    ];
    let cap = |(most, what, window): (Option<u64>, What, Window)| {
        let counted = QuotaScope {
            what,
            window,
            of: Of::LetThroughBy(rule.slug.clone()),
            drivers: None,
            whose: Whose { tenant: Some(tenant.to_owned()), ..Whose::default() },
        };
        Some(Cap { counted, most: most?, origin: Origin::Budget(rule.slug.clone()) })
    };
    lines.into_iter().filter_map(cap).collect()
}
