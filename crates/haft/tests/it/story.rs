//! Invocation history checks: what must hold of every call, whatever its outcome.

use std::collections::BTreeSet;

use haft_model::{CallPhase, Digest, EffectState, Envelope, Event, Fact, Status, Verdict};

use crate::stage::Stage;

/// Reads the story of a call that is over, and holds it against everything that must be true of it.
pub(crate) async fn checked(stage: &Stage, envelope: &Envelope) -> Vec<Fact> {
    let facts = stage.facts(&envelope.invocation_id).await;
    ends_once(&facts, envelope);
    follows_the_table(&facts);
    passes_every_phase_once(&facts);
    runs_only_what_was_allowed(&facts);
    reports_without_a_gap(&facts);
    effect_moves_forward(&facts, envelope);
    let stored = stage.host.reader().result(&envelope.invocation_id).await.unwrap();
    assert_eq!(stored.as_ref(), Some(envelope), "the stored result is the one that was given");
    facts
}

/// One terminal status and one result, which is there first.
pub(crate) fn ends_once(facts: &[Fact], envelope: &Envelope) {
    let ends: Vec<usize> = places(facts, |event| event.end().is_some());
    let results: Vec<usize> = places(facts, |event| matches!(event, Event::ResultCreated(_)));
    assert_eq!((ends.len(), results.len()), (1, 1), "{facts:#?}");
    assert!(results[0] < ends[0]);
    let end = facts[ends[0]].event.end().unwrap();
    assert_eq!(end.final_status, envelope.final_status);
    assert_eq!(end.effect, envelope.effect_state);
    assert_eq!(end.code, envelope.error.as_ref().map(|error| error.error_code));
    assert!(envelope.final_status.is_terminal());
    assert_eq!(envelope.is_error, envelope.error.is_some());
}

/// Every change of status is one of the table's.
pub(crate) fn follows_the_table(facts: &[Fact]) {
    let mut status = Status::Planned;
    for next in facts.iter().filter_map(|fact| fact.event.status()) {
        assert!(next == status || status.may_become(next), "{status} became {next}");
        status = next;
    }
    assert!(status.is_terminal());
}

/// Thirteen phases, each once.
pub(crate) fn passes_every_phase_once(facts: &[Fact]) {
    let lines: Vec<CallPhase> =
        facts.iter().flat_map(|fact| &fact.phases).map(|line| line.phase).collect();
    let different: BTreeSet<CallPhase> = lines.iter().copied().collect();
    assert_eq!((lines.len(), different.len()), (13, 13), "{lines:?}");
}

/// No start without an allow that is for the input that runs.
fn runs_only_what_was_allowed(facts: &[Fact]) {
    for (at, fact) in facts.iter().enumerate() {
        let Event::Started(started) = &fact.event else { continue };
        let allowed = facts[..at].iter().rev().find_map(|fact| match &fact.event {
            Event::PermissionDecided(decided) => Some(decided),
            _ => None,
        });
        let allowed = allowed.expect("nothing was decided before it started");
        assert_eq!(allowed.decision.verdict, Verdict::Allow);
        let frozen = allowed.call_input.as_ref().map(|kept| kept.digest.clone());
        assert_eq!(frozen.as_ref(), Some(&started.call_input));
        assert!(allowed.expires_at.is_none_or(|until| fact.at <= until));
    }
}

/// Reports are numbered from 1 on.
pub(crate) fn reports_without_a_gap(facts: &[Fact]) {
    let numbers: Vec<u64> = facts
        .iter()
        .filter_map(|fact| match &fact.event {
            Event::Progressed(reported) | Event::PartialResult(reported) => {
                let percent = reported.progress.percent.unwrap_or(0.0);
                assert!((0.0..=100.0).contains(&percent));
                Some(reported.sequence)
            }
            _ => None,
        })
        .collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

/// What is known of the effect of an attempt never goes back, and nothing happened that was not
/// submitted.
fn effect_moves_forward(facts: &[Fact], envelope: &Envelope) {
    let mut effect = EffectState::NotSubmitted;
    let lost = facts.iter().any(|fact| match &fact.event {
        Event::AttemptEnded(ended) => ended.effect == EffectState::Unknown,
        _ => false,
    });
    for fact in facts {
        let next = match &fact.event {
            // Each attempt has an effect of its own to have.
            Event::Started(_) => {
                effect = EffectState::NotSubmitted;
                continue;
            }
            Event::Submitted(_) => EffectState::Submitted,
            Event::AttemptEnded(ended) => ended.effect,
            event => match event.end() {
                // What an attempt before the last one may have done is not forgotten at the end.
                Some(end) if lost && end.effect == EffectState::Unknown => continue,
                Some(end) => end.effect,
                None => continue,
            },
        };
        assert!(next == EffectState::None || effect.may_become(next), "{effect} became {next}");
        effect = next;
    }
    let submitted = facts.iter().any(|fact| matches!(fact.event, Event::Submitted(_)));
    let happened = envelope.effect_state.may_have_happened();
    assert!(!happened || submitted, "an effect without a submission");
}

/// The digest of what was sent.
pub(crate) fn sent(facts: &[Fact]) -> Digest {
    let found = facts.iter().find_map(|fact| match &fact.event {
        Event::Planned(planned) => Some(planned.model_input.digest.clone()),
        _ => None,
    });
    found.expect("a call begins with what was sent")
}

fn places(facts: &[Fact], wanted: impl Fn(&Event) -> bool) -> Vec<usize> {
    let found = facts.iter().enumerate().filter(|(_, fact)| wanted(&fact.event));
    found.map(|(at, _)| at).collect()
}
