//! Exhaustive tests of decision combining, on all pairs of opinions and all triples of kinds.

use super::*;

const ASKS: [Option<Firmness>; 4] =
    [None, Some(Firmness::Default), Some(Firmness::Rememberable), Some(Firmness::Always)];

/// Every distinguishable opinion, of every layer.
fn every() -> Vec<Opinion> {
    let mut all = Vec::new();
    for &layer in Layer::ALL {
        for says in [Says::Allow, Says::Passthrough, Says::Deny] {
            all.push(Opinion::new(layer, says, "plain").by("one"));
        }
        let allow = Opinion::new(layer, Says::Allow, "named").by("trusted:one");
        all.extend([allow.clone(), Opinion { trusted: true, ..allow.by("one") }]);
        for firmness in ASKS {
            let ask = Opinion { firmness, ..Opinion::new(layer, Says::Ask, "ask").by("one") };
            let special = Needs { not_the_caller: true, ..Needs::default() };
            all.extend([ask.clone(), ask.needing(special)]);
        }
    }
    all
}

/// One opinion of each kind, for triples.
fn kinds() -> Vec<Opinion> {
    let layers = [Layer::Grant, Layer::Rule, Layer::Hook, Layer::Autonomy, Layer::Standing];
    let mut kinds = every();
    kinds.retain(|opinion| match opinion.says {
        Says::Allow => layers.contains(&opinion.layer),
        Says::Passthrough | Says::Ask | Says::Deny => opinion.layer == Layer::Contract,
    });
    kinds
}

fn verdict_of(opinions: &[&Opinion]) -> Verdict {
    let opinions = opinions.iter().map(|opinion| (*opinion).clone()).collect();
    weigh(opinions, Timestamp::UNIX_EPOCH).verdict
}

/// Asks that each allow may answer: the table of the guide.
fn may_answer(allow: &Opinion, ask: &Opinion) -> bool {
    let up_to: &[Firmness] = match (allow.layer, allow.trusted) {
        (Layer::Rule | Layer::Policy, _) => &[Firmness::Default],
        (Layer::Hook | Layer::Classifier, false) => &[Firmness::Default],
        (Layer::Hook | Layer::Classifier, true) => &[Firmness::Default, Firmness::Rememberable],
        (Layer::Standing, _) => &[Firmness::Default, Firmness::Rememberable],
        _ => &[],
    };
    let firm = ask.firmness.is_some_and(|firmness| up_to.contains(&firmness));
    allow.says == Says::Allow && firm && ask.needs == Needs::default()
}

/// Returns true if an allow of this layer is sufficient without an objection.
fn enough(allow: &Opinion) -> bool {
    let no = [Layer::Fault, Layer::Grant, Layer::Limit, Layer::Requirement, Layer::Standing];
    allow.says == Says::Allow && !no.contains(&allow.layer)
}

/// Expected verdict: deny, then an open ask, then an untaken passthrough, then an allow; no opinion
/// at all is a deny.
fn expected(opinions: &[&Opinion]) -> Verdict {
    let says = |says: Says| opinions.iter().filter(move |opinion| opinion.says == says);
    if says(Says::Deny).count() > 0 {
        return Verdict::Deny;
    }
    let answered = |ask: &Opinion| opinions.iter().any(|allow| may_answer(allow, ask));
    if says(Says::Ask).any(|ask| !answered(ask)) {
        return Verdict::Ask;
    }
    if says(Says::Ask).count() > 0 || opinions.iter().any(|opinion| enough(opinion)) {
        return Verdict::Allow;
    }
    let stands = opinions
        .iter()
        .any(|opinion| opinion.says == Says::Allow && opinion.layer == Layer::Standing);
    match says(Says::Passthrough).count() {
        0 => Verdict::Deny,
        _ if stands => Verdict::Allow,
        _ => Verdict::Ask,
    }
}

#[test]
fn every_pair_of_opinions_follows_the_decision_rule() {
    let all = every();
    for one in &all {
        for other in &all {
            let pair = [one, other];
            assert_eq!(verdict_of(&pair), expected(&pair), "{one:?}\n{other:?}");
        }
    }
}

#[test]
fn every_triple_of_opinion_kinds_follows_decision_rule() {
    let kinds = kinds();
    for one in &kinds {
        for other in &kinds {
            for third in &kinds {
                let triple = [one, other, third];
                assert_eq!(verdict_of(&triple), expected(&triple), "{triple:?}");
            }
        }
    }
}

#[test]
fn combining_opinions_never_widens() {
    let all = every();
    for one in &all {
        let alone = verdict_of(&[one]);
        // Alone, these layers do not decide, so the call is denied.
        let silent = one.says == Says::Allow && !enough(one);
        for other in &all {
            let both = verdict_of(&[one, other]);
            let answers = may_answer(other, one);
            let takes_up = one.says == Says::Passthrough && other.says == Says::Allow;
            assert!(
                both >= alone || answers || takes_up || silent,
                "{one:?} says {alone:?}, and {both:?} together with {other:?}"
            );
            assert_eq!(both, verdict_of(&[other, one]), "the order of {one:?} and {other:?}");
            if one.says == Says::Deny {
                assert_eq!(both, Verdict::Deny, "{other:?}");
            }
        }
    }
}

#[test]
fn trusted_hook_decides_beside_untrusted_hook_of_same_name() {
    let ask = Opinion::new(Layer::Rule, Says::Ask, "ask").firm(Firmness::Rememberable);
    let plain = Opinion::new(Layer::Hook, Says::Allow, "plain").by("one");
    let trusted = Opinion { trusted: true, ..plain.clone() };
    let decision = weigh(vec![ask, plain, trusted.clone()], Timestamp::UNIX_EPOCH);
    assert_eq!((decision.verdict, decision.settled_by()), (Verdict::Allow, Some(&trusted)));
}

#[test]
fn no_opinion_means_deny_and_the_decision_says_so() {
    let decision = weigh(Vec::new(), Timestamp::UNIX_EPOCH);
    assert_eq!((decision.verdict, decision.deciding), (Verdict::Deny, None));
    assert_eq!(decision.code, Some(Code::PermissionDenied));
    assert_eq!(decision.reason(), "no rule or policy allows the call");
}

#[test]
fn grant_or_standing_answer_alone_allows_nothing() {
    for layer in [Layer::Grant, Layer::Standing] {
        let alone = Opinion::new(layer, Says::Allow, "alone");
        assert_eq!(verdict_of(&[&alone]), Verdict::Deny, "{layer}");
    }
}

#[test]
fn every_deny_has_code_and_every_ask_has_needs() {
    let all = every();
    for one in &all {
        for other in &all {
            let pair = vec![one.clone(), other.clone()];
            let decision = weigh(pair, Timestamp::UNIX_EPOCH);
            assert_eq!(decision.code.is_some(), decision.verdict == Verdict::Deny);
            assert_eq!(!decision.needs.is_empty(), decision.verdict == Verdict::Ask);
            let settled = decision.settled_by().map(|opinion| opinion.says);
            let fits = match decision.verdict {
                Verdict::Deny => settled.is_none_or(|says| says == Says::Deny),
                Verdict::Ask => matches!(settled, Some(Says::Ask | Says::Passthrough)),
                Verdict::Allow => settled == Some(Says::Allow),
            };
            assert!(fits, "{decision:?}");
        }
    }
}

#[test]
fn firmest_ask_decides_and_all_needs_are_listed() {
    let ask = |layer, firmness| Opinion::new(layer, Says::Ask, "ask").firm(firmness);
    let four_eyes = Needs { not_the_caller: true, ..Needs::default() };
    let decision = weigh(
        vec![
            ask(Layer::Autonomy, Firmness::Default),
            ask(Layer::Contract, Firmness::Always),
            ask(Layer::Hook, Firmness::Always).needing(four_eyes.clone()),
        ],
        Timestamp::UNIX_EPOCH,
    );
    assert_eq!(decision.settled_by().map(|ask| ask.layer), Some(Layer::Hook));
    assert_eq!(decision.needs, [Needs::default(), four_eyes]);
}
