//! Weighing: every opinion in, one verdict out, and the asks that something answered.
//!
//! Deny beats ask, ask beats a passthrough that nobody took up, and that beats allow. An allow never
//! outweighs anything: it answers asks of the firmness that it may answer, and nothing else.

#[cfg(test)]
mod tests;

use haft_model::{Code, Decision, Firmness, Layer, Needs, Opinion, Says, Timestamp, Verdict};

/// How a hook marks an allow that a workspace trusts beyond defaults.
const TRUSTED: &str = "trusted:";

/// The verdict of opinions, in the order of their layers.
pub(crate) fn weigh(mut opinions: Vec<Opinion>, now: Timestamp) -> Decision {
    opinions.sort_by_key(|opinion| opinion.layer);
    answer(&mut opinions);
    let (verdict, deciding) = verdict(&opinions);
    let deciding_deny = deciding.and_then(|index| opinions.get(index));
    let code = match verdict {
        Verdict::Deny => Some(deciding_deny.map_or(Code::PermissionDenied, code)),
        Verdict::Allow | Verdict::Ask => None,
    };
    let needs = match verdict {
        Verdict::Ask => needs(&opinions),
        Verdict::Allow | Verdict::Deny => Vec::new(),
    };
    let suggested_updates = Vec::new();
    Decision { verdict, deciding, opinions, needs, code, suggested_updates, decided_at: now }
}

/// The firmest ask that an allow may answer; none for an allow that answers nothing.
///
/// A grant says who may call at all, and what its own limits and requirements add is no more than
/// that; risk below autonomy says that nobody has to be asked by default, not that an ask is wrong.
fn answers_up_to(opinion: &Opinion) -> Option<Firmness> {
    if opinion.says != Says::Allow {
        return None;
    }
    let trusted = opinion.rule.as_deref().is_some_and(|rule| rule.starts_with(TRUSTED));
    match opinion.layer {
        Layer::Standing => Some(Firmness::Rememberable),
        Layer::Hook | Layer::Classifier if trusted => Some(Firmness::Rememberable),
        Layer::Hook | Layer::Classifier | Layer::Rule | Layer::Policy => Some(Firmness::Default),
        Layer::Fault
        | Layer::Grant
        | Layer::Limit
        | Layer::Requirement
        | Layer::Governance
        | Layer::Contract
        | Layer::Autonomy
        | Layer::Person => None,
    }
}

/// Whether an allow says by itself that the call may go, where nobody objects.
fn speaks_up(opinion: &Opinion) -> bool {
    opinion.says == Says::Allow
        && match opinion.layer {
            Layer::Policy
            | Layer::Governance
            | Layer::Rule
            | Layer::Contract
            | Layer::Classifier
            | Layer::Hook
            | Layer::Autonomy
            | Layer::Person => true,
            // Who may call at all is not yet whether the call goes, and an answer needs a question.
            Layer::Fault | Layer::Grant | Layer::Limit | Layer::Requirement | Layer::Standing => {
                false
            }
        }
}

/// How firm an ask is; where it does not say, a person answers it.
fn firmness(ask: &Opinion) -> Firmness {
    ask.firmness.unwrap_or(Firmness::Always)
}

/// Marks each ask that another opinion answers.
fn answer(opinions: &mut [Opinion]) {
    let answers: Vec<(Firmness, String)> = opinions
        .iter()
        .filter_map(|opinion| Some((answers_up_to(opinion)?, name(opinion))))
        .collect();
    for ask in opinions.iter_mut().filter(|opinion| opinion.says == Says::Ask) {
        let firm = firmness(ask);
        let open = firm < Firmness::Always && ask.needs.is_nobody_special();
        let found = answers.iter().find(|(up_to, _)| open && firm <= *up_to);
        ask.answered_by = found.map(|(_, name)| name.clone());
    }
}

/// An opinion by its layer and its rule.
fn name(opinion: &Opinion) -> String {
    match &opinion.rule {
        Some(rule) => format!("{} {rule}", opinion.layer),
        None => opinion.layer.to_string(),
    }
}

/// The verdict, and the opinion that settled it.
fn verdict(opinions: &[Opinion]) -> (Verdict, Option<usize>) {
    let first = |wanted: &dyn Fn(&Opinion) -> bool| opinions.iter().position(wanted);
    if let Some(deny) = first(&|opinion| opinion.says == Says::Deny) {
        return (Verdict::Deny, Some(deny));
    }
    if let Some(ask) = firmest_ask(opinions) {
        return (Verdict::Ask, Some(ask));
    }
    if let Some(answer) = opinions.iter().find_map(|opinion| opinion.answered_by.as_ref()) {
        let by = |opinion: &Opinion| answers_up_to(opinion).is_some() && name(opinion) == *answer;
        return (Verdict::Allow, first(&by));
    }
    if let Some(allow) = first(&speaks_up) {
        return (Verdict::Allow, Some(allow));
    }
    // What everybody left to others is a question by default, and a standing answer answers it.
    match first(&|opinion| opinion.says == Says::Passthrough) {
        Some(pass) => match first(&|opinion| answers_up_to(opinion).is_some()) {
            Some(answer) => (Verdict::Allow, Some(answer)),
            None => (Verdict::Ask, Some(pass)),
        },
        None => (Verdict::Deny, None),
    }
}

/// The ask that is hardest to answer among those that nothing answered, the first of equals.
fn firmest_ask(opinions: &[Opinion]) -> Option<usize> {
    let hardness = |ask: &Opinion| (!ask.needs.is_nobody_special(), firmness(ask));
    let asks = opinions.iter().enumerate().filter(|(_, opinion)| is_open(opinion));
    asks.rev().max_by_key(|(_, ask)| hardness(ask)).map(|(index, _)| index)
}

/// Whether this is an ask that nothing answered.
pub(crate) fn is_open(opinion: &Opinion) -> bool {
    opinion.says == Says::Ask && opinion.answered_by.is_none()
}

/// Everybody who has to answer; who may answer for what nobody took up is not special.
fn needs(opinions: &[Opinion]) -> Vec<Needs> {
    let mut needs: Vec<Needs> = Vec::new();
    for ask in opinions.iter().filter(|opinion| is_open(opinion)) {
        if !needs.contains(&ask.needs) {
            needs.push(ask.needs.clone());
        }
    }
    if needs.is_empty() {
        needs.push(Needs::default());
    }
    needs
}

/// Under which code a layer denies.
fn code(deny: &Opinion) -> Code {
    match deny.layer {
        Layer::Limit => Code::RateLimited,
        Layer::Fault | Layer::Policy | Layer::Governance | Layer::Contract => Code::PolicyBlocked,
        Layer::Grant
        | Layer::Requirement
        | Layer::Rule
        | Layer::Classifier
        | Layer::Hook
        | Layer::Autonomy
        | Layer::Standing
        | Layer::Person => Code::PermissionDenied,
    }
}
