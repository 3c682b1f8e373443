//! Deduplication table: tells whether a call is new, a repeat, unknown or in conflict with its key.

use haft_ledger::IntentRecord;
use haft_model::{
    CauseDetail, Code, EffectState, Intent, InvocationId, KeySource, Stop, Timestamp,
};

/// Verdict about a call, given the recorded intent.
#[derive(Debug, PartialEq)]
pub(super) enum DedupVerdict {
    /// The call executes the intent itself; the id is that of an earlier holder that no longer
    /// counts.
    New(Option<InvocationId>),
    /// A repeat: it gets the result of the call on record.
    Same,
    /// The effect of the call on record is unknown, and the backend can be asked.
    Unknown,
    /// The key is bound to another tool, resource or input.
    Conflict,
}

/// Decides about a call by the record of its intent. `delivered` says whether the recorded result was
/// delivered, `askable` whether the contract has a status operation.
pub(super) fn classify(
    identity: &Intent,
    record: Option<&IntentRecord>,
    now: Timestamp,
    delivered: bool,
    askable: bool,
) -> DedupVerdict {
    let Some(record) = record else { return DedupVerdict::New(None) };
    let open = record.run.ended_at.is_none();
    let remembered = now < remembered_until(record);
    let unknown = matches!(record.run.effect_state, EffectState::Unknown | EffectState::Submitted);
    let by_key = identity.source != KeySource::Intent;
    let holds = match (open, record.run.effect_state.may_have_happened()) {
        // An open call holds its intent without a limit, and so does a key with an unknown effect.
        (true, _) => true,
        // No effect happened, so there is nothing to deduplicate.
        (false, false) => false,
        (false, true) if by_key => remembered || unknown,
        (false, true) => remembered && (unknown || !delivered),
    };
    if !holds {
        return DedupVerdict::New(Some(record.run.invocation_id.clone()));
    }
    match record.intent.binding == identity.binding {
        false => DedupVerdict::Conflict,
        true if !open && unknown && askable => DedupVerdict::Unknown,
        true => DedupVerdict::Same,
    }
}

/// End of the retention: the contract's time, counted from the end of the call, since a call that
/// waited for approval or ran for hours had no result before.
fn remembered_until(record: &IntentRecord) -> Timestamp {
    let run = &record.run;
    let open = run.ended_at.unwrap_or(run.created_at).duration_since(run.created_at);
    record.intent.until.checked_add(open).unwrap_or(Timestamp::MAX)
}

/// The refusal of a call whose idempotency key is bound to something else.
pub(super) fn key_reused(holder: &InvocationId) -> Stop {
    let words = format!(
        "the idempotency key belongs to `{holder}`, which means something else: \
         another tool, resource or input"
    );
    Stop::new(Code::Conflict, words)
        .because(CauseDetail::KeyReused(holder.clone()))
        .help(format!("use a new key, or look at `haft trace {holder}`"))
}

#[cfg(test)]
mod tests {
    use haft_ledger::Run;
    use haft_model::{Digest, Status};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn intent(source: KeySource, binding: &str) -> Intent {
        Intent {
            intent: Digest::from("sha256:1"),
            binding: Digest::from(binding),
            key: "k".to_owned(),
            source,
            until: at(100),
        }
    }

    fn record(source: KeySource, ended: bool, effect_state: EffectState) -> IntentRecord {
        let run = Run {
            invocation_id: InvocationId::from("inv_1"),
            tool_id: "pay@1".to_owned(),
            actor: "agent:a".to_owned(),
            tenant: "t".to_owned(),
            status: Status::Running,
            effect_state,
            error_code: None,
            approval_id: None,
            created_at: at(0),
            ended_at: ended.then(|| at(1)),
        };
        IntentRecord { intent: intent(source, "sha256:b"), run, lease: None }
    }

    /// Every combination, one per line: source, open or ended, effect and delivery; then the
    /// verdicts for an equal binding within and after the retention, and for another binding.
    fn table() -> String {
        let mut lines = String::new();
        for source in [KeySource::Caller, KeySource::Intent] {
            for ended in [false, true] {
                for effect in EffectState::ALL {
                    for delivered in [false, true] {
                        let record = record(source, ended, *effect);
                        let cell = |binding: &str, now| {
                            let identity = intent(source, binding);
                            match classify(&identity, Some(&record), now, delivered, true) {
                                DedupVerdict::New(_) => "new",
                                DedupVerdict::Same => "same",
                                DedupVerdict::Unknown => "ask",
                                DedupVerdict::Conflict => "conflict",
                            }
                        };
                        let cells = [("sha256:b", 50), ("sha256:b", 101), ("sha256:c", 50)];
                        let cells = cells.map(|(binding, now)| cell(binding, at(now)));
                        let stands = if ended { "ended" } else { "open" };
                        let delivered = if delivered { "delivered" } else { "undelivered" };
                        lines += &format!("{source} {stands} {effect} {delivered}: {cells:?}\n");
                    }
                }
            }
        }
        lines
    }

    #[test]
    fn every_combination_stands_in_the_reviewed_table() {
        let open = table()
            .lines()
            .filter(|line| line.contains(" open "))
            .map(|line| line.ends_with(r#"["same", "same", "conflict"]"#))
            .filter(|same| !same)
            .count();
        assert_eq!(open, 0, "whatever is open is the same, for ever, and holds its key");
        let ended: Vec<_> =
            table().lines().filter(|line| line.contains(" ended ")).map(str::to_owned).collect();
        let cells = |source: &str, effect: &str, delivered: &str| {
            let begins = format!("{source} ended {effect} {delivered}: ");
            let line = ended.iter().find(|line| line.starts_with(&begins)).unwrap();
            line.trim_start_matches(&begins).to_owned()
        };
        for delivered in ["delivered", "undelivered"] {
            for effect in ["none", "not_submitted", "not_committed"] {
                for source in ["caller", "intent"] {
                    assert_eq!(
                        cells(source, effect, delivered),
                        r#"["new", "new", "new"]"#,
                        "{effect}"
                    );
                }
            }
            for effect in ["committed", "partially_committed", "compensated", "compensation_failed"]
            {
                assert_eq!(
                    cells("caller", effect, delivered),
                    r#"["same", "new", "conflict"]"#,
                    "{effect}"
                );
            }
            assert_eq!(cells("caller", "unknown", delivered), r#"["ask", "ask", "conflict"]"#);
            assert_eq!(cells("intent", "unknown", delivered), r#"["ask", "new", "conflict"]"#);
        }
        // Two equal calls whose results were both delivered are two intents.
        assert_eq!(cells("intent", "committed", "delivered"), r#"["new", "new", "new"]"#);
        assert_eq!(cells("intent", "committed", "undelivered"), r#"["same", "new", "conflict"]"#);
    }

    #[test]
    fn unknown_effect_without_status_lookup_replays_unknown() {
        let record = record(KeySource::Caller, true, EffectState::Unknown);
        let identity = intent(KeySource::Caller, "sha256:b");
        assert_eq!(classify(&identity, Some(&record), at(50), true, false), DedupVerdict::Same);
    }

    #[test]
    fn idempotency_retention_begins_when_call_ends() {
        let mut record = record(KeySource::Intent, true, EffectState::Committed);
        record.run.ended_at = Some(at(5000));
        let identity = intent(KeySource::Intent, "sha256:b");
        let stands = |now| classify(&identity, Some(&record), at(now), false, false);
        assert_eq!(stands(5099), DedupVerdict::Same);
        assert_eq!(stands(5100), DedupVerdict::New(Some(InvocationId::from("inv_1"))));
    }

    #[test]
    fn unseen_intent_is_new() {
        let identity = intent(KeySource::Intent, "sha256:b");
        assert_eq!(classify(&identity, None, at(0), false, true), DedupVerdict::New(None));
    }
}
