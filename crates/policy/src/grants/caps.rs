//! Limits and requirements (AIP-38) that apply in addition to every grant.

use haft_model::{Firmness, Layer, Limit, Opinion, Says, Timestamp};

use super::conditions::{ConditionOutcome, judge};
use super::covers;
use crate::{Matter, Rulebook};

/// Kinds of limit that can be counted.
const COUNTED: [&str; 3] =
    ["rate-tool-calls", "max-concurrent-sandboxes", "max-egress-bytes-per-day"];

/// Kinds of requirement that can be evaluated.
const JUDGED: [&str; 3] = ["mfa-recent", "approval-from", "signed-by"];

/// Denies for exceeded limits; a kept limit yields no opinion.
pub(super) fn limits(rulebook: &Rulebook, matter: &Matter<'_>) -> Vec<Opinion> {
    let mut opinions = Vec::new();
    for policy in &rulebook.policies {
        for (index, limit) in policy.limits.iter().enumerate() {
            if applies(&limit.applies_to, matter) {
                opinions.extend(limited(limit, format!("{}#{index}", policy.id), matter));
            }
        }
    }
    opinions
}

/// Denies for one limit. A limit that cannot be counted is a fault, not an exceeded rate limit: a
/// retry does not help.
fn limited(limit: &Limit, place: String, matter: &Matter<'_>) -> Option<Opinion> {
    let Limit { kind, value, .. } = limit;
    let deny = |layer, reason| Some(Opinion::new(layer, Says::Deny, reason).by(place.clone()));
    if !COUNTED.contains(&kind.as_str()) {
        return deny(Layer::Fault, format!("limit-exceeded: unknown limit `{kind}`"));
    }
    let Some((_, used)) = matter.usage.limits.iter().find(|(counted, _)| *counted == place) else {
        return deny(Layer::Fault, format!("limit-exceeded: `{kind}` is not counted"));
    };
    if used < value {
        return None;
    }
    let per = limit.per.as_deref().map(|per| format!(" per {per}")).unwrap_or_default();
    deny(Layer::Limit, format!("limit-exceeded: `{kind}` is {value}{per}, and {used} were used"))
}

/// Opinions of unmet requirements; a met one yields none.
pub(super) fn requirements(
    rulebook: &Rulebook,
    matter: &Matter<'_>,
    now: Timestamp,
) -> Vec<Opinion> {
    let mut opinions = Vec::new();
    for policy in &rulebook.policies {
        for (index, required) in policy.requirements.iter().enumerate() {
            if !applies(&required.applies_to, matter) {
                continue;
            }
            let held = if JUDGED.contains(&required.kind.as_str()) {
                judge(&required.kind, &required.parameters, matter.circumstances, now)
            } else {
                ConditionOutcome::No(format!("unknown requirement `{}`", required.kind))
            };
            let opinion = unmet(held).map(|opinion| opinion.by(format!("{}#{index}", policy.id)));
            opinions.extend(opinion);
        }
    }
    opinions
}

fn unmet(held: ConditionOutcome) -> Option<Opinion> {
    let layer = Layer::Requirement;
    match held {
        ConditionOutcome::Yes => None,
        ConditionOutcome::Once(needs) => {
            let reason = format!("required: approval by {}", crate::settle::in_words(&needs));
            let ask = Opinion::new(layer, Says::Ask, reason).firm(Firmness::Always);
            Some(ask.needing(needs))
        }
        ConditionOutcome::No(why) => {
            Some(Opinion::new(layer, Says::Deny, format!("requirement-failed: {why}")))
        }
    }
}

fn applies(to: &[String], matter: &Matter<'_>) -> bool {
    to.is_empty() || to.iter().any(|pattern| covers(pattern, matter.grant))
}
