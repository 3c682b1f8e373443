//! Suggestions with an ask: policy changes that would make it unnecessary; only a person applies
//! them.

use haft_model::{Decision, Firmness, Verdict};
use serde_json::{Value, json};

use crate::Matter;
use crate::weigh::is_open;

/// Changes that would answer every open ask; empty where only a person can.
pub(crate) fn of(decision: &Decision, matter: &Matter<'_>) -> Vec<Value> {
    if decision.verdict != Verdict::Ask || !decision.rememberable() {
        return Vec::new();
    }
    let mut offers = vec![json!({ "type": "remember" })];
    let mut open = decision.opinions.iter().filter(|opinion| is_open(opinion));
    // A rule for the actor does not cover a person who speaks as that actor, so it is not
    // suggested.
    let speaking = matter.plan.actor.speaking.is_some();
    if !speaking && open.all(|ask| ask.firmness == Some(Firmness::Default)) {
        let (tool, actor) = (&matter.plan.tool.id, &matter.plan.actor.id);
        let rule = json!({ "verdict": "allow", "tool": tool, "actor": actor });
        offers.push(json!({ "type": "add_rule", "rule": rule }));
    }
    offers
}
