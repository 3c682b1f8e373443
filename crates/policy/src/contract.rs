//! Contract layer: the approval that the contract, its effect class and its cost demand of every
//! caller.

use haft_model::{
    Approval, ApprovalClass, CostClass, EffectClass, Firmness, Layer, Opinion, Risk, Says,
};

use crate::{Matter, Rulebook, autonomy, policies};

/// Opinions of the contract: its approval class, the policies it names, its effect class and its
/// cost.
pub(crate) fn opinions(rulebook: &Rulebook, matter: &Matter<'_>) -> Vec<Opinion> {
    let approval = &matter.plan.effects.approval;
    let mut opinions = Vec::from_iter(asked_by(Layer::Contract, approval.class, matter));
    opinions.extend(obligations(rulebook, matter, Layer::Contract, approval));
    opinions.extend(class(matter));
    if matter.cost == CostClass::Expensive {
        let expensive = Opinion::new(Layer::Contract, Says::Ask, "the call is expensive");
        opinions.push(expensive.firm(Firmness::Default));
    }
    opinions
}

/// Ask of an approval class, on behalf of a layer; `None` where the class does not apply.
pub(crate) fn asked_by(layer: Layer, class: ApprovalClass, matter: &Matter<'_>) -> Option<Opinion> {
    let ask = |reason: &str, firmness| Opinion::new(layer, Says::Ask, reason).firm(firmness);
    match class {
        ApprovalClass::Auto => None,
        ApprovalClass::OnMutate if !matter.plan.effects.may_mutate() => None,
        ApprovalClass::OnMutate => Some(ask(
            "approval is `on-mutate`, and the call may change something",
            Firmness::Rememberable,
        )),
        ApprovalClass::Always => Some(ask("approval is `always`", Firmness::Always)),
    }
}

/// Opinions of the policies that an approval names. INVARIANT: an unknown name is a deny.
pub(crate) fn obligations(
    rulebook: &Rulebook,
    matter: &Matter<'_>,
    layer: Layer,
    approval: &Approval,
) -> Vec<Opinion> {
    let mut opinions = Vec::new();
    for name in &approval.policies {
        match policies::named(rulebook, name) {
            Some(rule) => opinions.extend(policies::obliged(rulebook, matter, layer, rule)),
            None => {
                let reason = format!("there is no policy `{name}`");
                let deny = Opinion::new(layer, Says::Deny, reason);
                opinions.push(deny.by(format!("policy:{name}")));
            }
        }
    }
    opinions
}

/// Ask for a class that is irreversible, financial or administrative.
///
/// A stated class asks until a person answers. A class that was only inferred adds nothing to a
/// stated lower risk, and an allow rule answers it; an untrusted contract has no such benefit.
fn class(matter: &Matter<'_>) -> Option<Opinion> {
    let effects = &matter.plan.effects;
    let worst = effects.classes.iter().rev().find(|class| match class {
        EffectClass::Irreversible
        | EffectClass::Administrative
        | EffectClass::FinancialHighImpact => true,
        EffectClass::ReadOnly
        | EffectClass::ReversibleWrite
        | EffectClass::ExternalCommunication
        | EffectClass::CodeExecution => false,
    })?;
    let inferred = matter.trusted && effects.inferred.iter().any(|fact| fact.field == "class");
    if inferred && autonomy::risk(matter) < Risk::IRREVERSIBLE {
        return None;
    }
    let firmness = if inferred { Firmness::Default } else { Firmness::Rememberable };
    let reason = format!("the tool's class is `{}`", worst.name());
    Some(Opinion::new(Layer::Contract, Says::Ask, reason).firm(firmness))
}
