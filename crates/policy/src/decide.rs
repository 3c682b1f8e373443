//! Judging: a matter and the rulebook in, a decision with every reason out.

use haft_model::{Decision, Layer, Opinion, Says, Timestamp};

use crate::weigh::weigh;
use crate::{
    Matter, Rulebook, autonomy, contract, governance, grants, heard, offers, policies, rules,
    standing,
};

/// What becomes of a call.
///
/// Every layer is heard, whatever the ones before it said, so that the decision holds every reason.
/// Risk against autonomy speaks only where neither a rule of haft.toml nor an AIP-7 policy does.
pub fn decide(rulebook: &Rulebook, matter: &Matter<'_>, now: Timestamp) -> Decision {
    let policies = policies::opinions(rulebook, matter);
    let rules = rules::opinions(rulebook, matter);
    let judged = speaks(&policies);
    let ruled = judged || speaks(&rules);
    let mut opinions = unread(rulebook);
    opinions.extend(audits(matter));
    opinions.extend(grants::opinions(rulebook, matter, now));
    opinions.extend(policies);
    opinions.extend(governance::opinions(rulebook, matter, judged));
    opinions.extend(rules);
    opinions.extend(contract::opinions(rulebook, matter));
    opinions.extend(heard::opinions(matter));
    opinions.extend((!ruled).then(|| autonomy::opinion(rulebook, matter)));
    opinions.extend(standing::opinion(matter));
    let decision = weigh(opinions, now);
    let suggested_updates = offers::of(&decision, matter);
    Decision { suggested_updates, ..decision }
}

/// A document that could not be read may forbid anything.
fn unread(rulebook: &Rulebook) -> Vec<Opinion> {
    if rulebook.complete {
        return Vec::new();
    }
    let reason = "a governing document could not be read, so what it forbids is not known";
    vec![Opinion::new(Layer::Fault, Says::Deny, reason)]
}

/// Who reads the log changes nothing, whatever else would let them.
fn audits(matter: &Matter<'_>) -> Option<Opinion> {
    let refused = !matter.plan.actor.may_change() && matter.plan.effects.may_mutate();
    let reason = "the role `auditor` changes nothing";
    refused.then(|| Opinion::new(Layer::Grant, Says::Deny, reason))
}

/// Whether anybody decided, and did not just pass.
fn speaks(opinions: &[Opinion]) -> bool {
    opinions.iter().any(|opinion| opinion.says != Says::Passthrough)
}
