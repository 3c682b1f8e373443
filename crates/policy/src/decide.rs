//! Authorization: evaluates a call against the rulebook and returns a decision with every reason.

use haft_model::{Decision, Layer, Opinion, Says, Timestamp};

use crate::weigh::weigh;
use crate::{
    Matter, Rulebook, autonomy, contract, governance, grants, heard, offers, policies, rules,
    standing,
};

/// Decides whether a call is allowed, denied or needs approval.
///
/// Every layer gives its opinion, whatever the ones before it said, so that the decision lists
/// every reason. The autonomy layer applies only where neither a rule of haft.toml nor an AIP-7
/// policy decides.
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

/// Fail closed: a governing document that could not be read may forbid anything.
fn unread(rulebook: &Rulebook) -> Vec<Opinion> {
    if rulebook.complete {
        return Vec::new();
    }
    let reason = "a governing document could not be read, so what it forbids is not known";
    vec![Opinion::new(Layer::Fault, Says::Deny, reason)]
}

/// Denies an auditor every call that may change something.
fn audits(matter: &Matter<'_>) -> Option<Opinion> {
    let refused = !matter.plan.actor.may_change() && matter.plan.effects.may_mutate();
    let reason = "the role `auditor` changes nothing";
    refused.then(|| Opinion::new(Layer::Grant, Says::Deny, reason))
}

/// Returns true if an opinion is more than a passthrough.
fn speaks(opinions: &[Opinion]) -> bool {
    opinions.iter().any(|opinion| opinion.says != Says::Passthrough)
}
