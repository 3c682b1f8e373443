//! Decision combining: reduces all opinions to one verdict and marks the asks that another opinion
//! answers.
//!
//! INVARIANT: deny beats ask, ask beats an untaken passthrough, and that beats allow. An allow
//! outweighs nothing: it only answers asks up to its firmness.

#[cfg(test)]
mod tests;

use haft_model::{Code, Decision, Firmness, Layer, Needs, Opinion, Says, Timestamp, Verdict};

/// Combines opinions, ordered by layer, into a decision.
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

/// Firmest ask that an allow answers; `None` if it answers nothing.
///
/// A grant, with its limits and requirements, only says who may call at all; risk within autonomy
/// only says that no ask is needed by default, not that an ask is wrong.
fn answers_up_to(opinion: &Opinion) -> Option<Firmness> {
    if opinion.says != Says::Allow {
        return None;
    }
    match opinion.layer {
        Layer::Standing => Some(Firmness::Rememberable),
        Layer::Hook | Layer::Classifier if opinion.trusted => Some(Firmness::Rememberable),
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

/// Returns true if an allow is sufficient without an objection.
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
            // A grant does not decide whether the call runs, and a standing answer needs a
            // question.
            Layer::Fault | Layer::Grant | Layer::Limit | Layer::Requirement | Layer::Standing => {
                false
            }
        }
}

/// Firmness of an ask; unstated means that a person answers.
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

/// Layer and rule of an opinion.
fn name(opinion: &Opinion) -> String {
    match &opinion.rule {
        Some(rule) => format!("{} {rule}", opinion.layer),
        None => opinion.layer.to_string(),
    }
}

/// The verdict and the index of the deciding opinion.
fn verdict(opinions: &[Opinion]) -> (Verdict, Option<usize>) {
    let first = |wanted: &dyn Fn(&Opinion) -> bool| opinions.iter().position(wanted);
    if let Some(deny) = first(&|opinion| opinion.says == Says::Deny) {
        return (Verdict::Deny, Some(deny));
    }
    if let Some(ask) = firmest_ask(opinions) {
        return (Verdict::Ask, Some(ask));
    }
    if let Some(ask) = opinions.iter().find(|opinion| opinion.answered_by.is_some()) {
        // Hooks may share a name, and only the trusted one may answer this ask.
        let by = |opinion: &Opinion| {
            answers_up_to(opinion) >= Some(firmness(ask))
                && ask.answered_by.as_ref() == Some(&name(opinion))
        };
        return (Verdict::Allow, first(&by));
    }
    if let Some(allow) = first(&speaks_up) {
        return (Verdict::Allow, Some(allow));
    }
    // A passthrough that no layer takes up is an ask by default, which a standing answer answers.
    match first(&|opinion| opinion.says == Says::Passthrough) {
        Some(pass) => match first(&|opinion| answers_up_to(opinion).is_some()) {
            Some(answer) => (Verdict::Allow, Some(answer)),
            None => (Verdict::Ask, Some(pass)),
        },
        None => (Verdict::Deny, None),
    }
}

/// The open ask that is hardest to answer; the first wins a tie.
fn firmest_ask(opinions: &[Opinion]) -> Option<usize> {
    let hardness = |ask: &Opinion| (!ask.needs.is_nobody_special(), firmness(ask));
    let asks = opinions.iter().enumerate().filter(|(_, opinion)| is_open(opinion));
    asks.rev().max_by_key(|(_, ask)| hardness(ask)).map(|(index, _)| index)
}

/// Returns true for an ask that no opinion answers.
pub(crate) fn is_open(opinion: &Opinion) -> bool {
    opinion.says == Says::Ask && opinion.answered_by.is_none()
}

/// Required approvers of the open asks; any one approver for an untaken passthrough.
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

/// Error code of a deny, by layer.
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
