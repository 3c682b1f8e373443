//! Hook layer: opinions of hooks and classifiers, confined to their own layers.

#[cfg(test)]
mod tests;

use haft_model::{Decision, Firmness, Layer, Opinion, Says};

use crate::Matter;

/// Rule prefix of a trusted hook in records of earlier versions, which lack `trusted`.
const EARLIER_PREFIX: &str = "trusted:";

/// Opinions of hooks and classifiers behind a recorded decision, to judge its call again.
///
/// A hook may be named like the mark of an earlier version, so the record alone does not make it
/// trusted: the hooks of today, from name to trust, confirm the mark.
pub fn recorded_opinions<'h>(
    decision: &Decision,
    hooks: impl Iterator<Item = (&'h str, bool)> + Clone,
) -> Vec<Opinion> {
    let is_marked = |opinion: &Opinion| {
        let rule = opinion.rule.as_deref().unwrap_or_default();
        let hook = rule.strip_prefix(EARLIER_PREFIX);
        hooks.clone().any(|(name, trusted)| trusted && Some(name) == hook)
            && hooks.clone().all(|(name, trusted)| name != rule && (trusted || Some(name) != hook))
    };
    let heard = decision.opinions.iter().filter(|opinion| opinion.is_heard()).cloned();
    heard.map(|heard| Opinion { trusted: heard.trusted || is_marked(&heard), ..heard }).collect()
}

/// Opinions of hooks and classifiers. INVARIANT: a hook cannot speak for another layer, nor mark
/// its own ask as answered.
///
/// A hook judges one input, and a standing answer was given for others: unless the hook states the
/// firmness of its ask, a person answers it.
pub(crate) fn opinions(matter: &Matter<'_>) -> impl Iterator<Item = Opinion> {
    matter.opinions.iter().cloned().map(|heard| {
        let layer = match heard.layer {
            Layer::Hook | Layer::Classifier | Layer::Fault => heard.layer,
            Layer::Grant
            | Layer::Limit
            | Layer::Requirement
            | Layer::Policy
            | Layer::Governance
            | Layer::Rule
            | Layer::Contract
            | Layer::Autonomy
            | Layer::Standing
            | Layer::Person => Layer::Hook,
        };
        let asks = heard.says == Says::Ask;
        let firmness = asks.then(|| heard.firmness.unwrap_or(Firmness::Always));
        Opinion { layer, firmness, answered_by: None, ..heard }
    })
}
