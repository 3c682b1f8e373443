//! Target guards of calls under one rule.

use haft_driver::{TargetGuard, Targets};
use haft_model::{CostClass, Plan, Rule, Timestamp};
use haft_policy::rules::CompiledRule;
use haft_policy::{Circumstances, Matter, Rulebook, Usage};
use serde_json::Value;

/// The guard of a call under one rule, authorized with the driver's targets.
pub(crate) fn guard(plan: &Plan, targets: &Targets, rule: Value) -> TargetGuard {
    let rule: Rule = serde_json::from_value(rule).unwrap();
    let rulebook = Rulebook { rules: vec![CompiledRule::new(&rule)], ..Rulebook::default() };
    let (usage, circumstances) = (Usage::default(), Circumstances::default());
    let matter = Matter {
        plan,
        targets,
        grant: "tool:x",
        action: None,
        cost: CostClass::Trivial,
        trusted: true,
        opinions: &[],
        standing: &[],
        usage: &usage,
        circumstances: &circumstances,
    };
    TargetGuard::of(&rulebook, &matter, Timestamp::UNIX_EPOCH)
}
