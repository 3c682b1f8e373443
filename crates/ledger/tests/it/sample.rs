//! Sample drafts for store tests.

use haft_ledger::{Blob, Draft};
use haft_model::{
    Actor, ApprovalAnswer, ApprovalBinding, ArgumentsReady, AttemptEnded, CallPhase, Charge,
    Decided, Decision, Digest, DriverId, EffectState, Ended, Event, Fact, InvocationId, Layer,
    Needs, Opinion, PayloadRef, Persisted, PhaseLine, PhaseOutcome, Planned, Question, QuestionId,
    Queued, ResolvedFacts, ResultCreated, ResultStatus, Role, Says, Selected, Started, Status,
    Submitted, Timestamp, Tri, Verdict, Yielded,
};
use serde_json::json;

/// A timestamp, in milliseconds after the start.
pub(crate) fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(1_790_000_000_000 + ms).unwrap()
}

pub(crate) fn id(number: u64) -> InvocationId {
    InvocationId::from(format!("inv_{number:08}").as_str())
}

pub(crate) fn question_id(number: u64) -> QuestionId {
    QuestionId::from(format!("apr_{number:08}").as_str())
}

pub(crate) fn ana() -> Actor {
    Actor::new("agent:ana", "default", [Role::Agent])
}

pub(crate) fn fact(ms: i64, event: Event) -> Fact {
    Fact { at: at(ms), phases: Vec::new(), event }
}

pub(crate) fn blob(text: &str, sensitive: bool) -> Blob {
    let bytes = text.as_bytes().to_vec();
    Blob { digest: Digest::of_bytes(&bytes), bytes, sensitive }
}

pub(crate) fn kept(blob: &Blob) -> PayloadRef {
    PayloadRef {
        digest: blob.digest.clone(),
        size: blob.bytes.len() as u64,
        keys: vec!["order".to_owned(), "amount".to_owned()],
        shown: [("order".to_owned(), json!("A-1001"))].into_iter().collect(),
    }
}

/// A draft of an invocation by Ana.
pub(crate) fn draft(number: u64, facts: Vec<Fact>) -> Draft {
    Draft {
        invocation: Some(id(number)),
        actor: Some(ana()),
        subject: Some("shop.charge@2.1.0".to_owned()),
        facts,
        ..Draft::default()
    }
}

pub(crate) fn planned(ms: i64, actor: Actor, input: &Blob) -> Fact {
    fact(
        ms,
        Event::Planned(Box::new(Planned {
            requested: "shop.charge".to_owned(),
            actor,
            surface: "srf_1".to_owned(),
            revision: 3,
            model_input: kept(input),
            context: None,
            pinned: None,
            region: Vec::new(),
            native: vec![json!({"source": "openai", "native_call_id": "call_7"})],
            channel: "library".to_owned(),
            key: None,
            parent: None,
            compensates: None,
            batch: None,
        })),
    )
}

pub(crate) fn selected(ms: i64, tool: &str) -> Fact {
    fact(
        ms,
        Event::Selected(Selected {
            tool: tool.to_owned(),
            version: "2.1.0".to_owned(),
            matched_by: "id".to_owned(),
            grant: "shop:charge".to_owned(),
        }),
    )
}

pub(crate) fn ready(ms: i64, input: &Blob) -> Fact {
    let phases = [CallPhase::ResolveTool, CallPhase::ParseSchema, CallPhase::ValidateValues];
    let line = |(phase, from): (CallPhase, u64)| PhaseLine {
        phase,
        outcome: PhaseOutcome::Ok,
        from,
        to: from + 9,
    };
    Fact {
        phases: phases.into_iter().zip([0, 10, 20]).map(line).collect(),
        ..fact(
            ms,
            Event::ArgumentsReady(Box::new(ArgumentsReady {
                plan: Some(Digest::of(&"plan")),
                driver: Some(DriverId::from("shop-http")),
                driver_version: Some("1.0.0".to_owned()),
                effects: Digest::of(&"effects"),
                schema: Digest::of(&"schema"),
                observable_input: kept(input),
                mutations: Vec::new(),
                facts: ResolvedFacts {
                    is_read_only: Tri::No,
                    is_destructive: Tri::Unknown,
                    is_open_world: Tri::Yes,
                    is_concurrency_safe: false,
                },
            })),
        )
    }
}

pub(crate) fn decision(verdict: Verdict, ms: i64) -> Decision {
    let says = if verdict == Verdict::Ask { Says::Ask } else { Says::Allow };
    Decision {
        verdict,
        deciding: Some(0),
        opinions: vec![
            Opinion::new(Layer::Rule, says, "charges below 100 are fine").by("haft.toml#rules[0]"),
            Opinion::new(Layer::Policy, Says::Passthrough, "nothing to say").by("spending"),
        ],
        needs: Vec::new(),
        code: None,
        suggested_updates: Vec::new(),
        decided_at: at(ms),
    }
}

pub(crate) fn decided(ms: i64, input: &Blob, question: Option<QuestionId>) -> Fact {
    fact(
        ms,
        Event::PermissionDecided(Box::new(Decided {
            decision: decision(Verdict::Allow, ms),
            permission_input: kept(input),
            call_input: Some(kept(input)),
            mutations: Vec::new(),
            question,
            expires_at: None,
            driver_state: [].into(),
            mode: "non_interactive".to_owned(),
        })),
    )
}

pub(crate) fn queued(ms: i64) -> Fact {
    let locks = vec!["account:7".to_owned()];
    fact(ms, Event::Queued(Queued { locks, is_concurrency_safe: false, max_parallel: 4 }))
}

pub(crate) fn started(ms: i64, input: &Blob, fence: u64) -> Fact {
    fact(
        ms,
        Event::Started(Started {
            attempt: 1,
            driver: DriverId::from("shop-http"),
            call_input: input.digest.clone(),
            fence,
            charge: Charge::default(),
        }),
    )
}

pub(crate) fn submitted(ms: i64) -> Fact {
    fact(ms, Event::Submitted(Submitted { attempt: 1, until: None }))
}

pub(crate) fn attempt_ended(ms: i64, effect: EffectState) -> Fact {
    let native = vec![json!({"source": "http", "request_id": "r-1"})];
    let ended = AttemptEnded { attempt: 1, effect, code: None, native };
    fact(ms, Event::AttemptEnded(Box::new(ended)))
}

pub(crate) fn ended(ms: i64, final_status: Status, effect: EffectState) -> Fact {
    let ended = Ended { final_status, effect, code: None, message: None, stage: None };
    fact(ms, Event::ending(ended))
}

/// Everything before a call runs.
pub(crate) fn beginning(number: u64, ms: i64) -> Draft {
    let input = blob(&format!("{{\"amount\":{number},\"order\":\"A-1001\"}}"), false);
    let facts = vec![
        planned(ms, ana(), &input),
        selected(ms, "shop.charge@2"),
        ready(ms + 1, &input),
        decided(ms + 2, &input, None),
        queued(ms + 2),
        started(ms + 3, &input, 0),
        submitted(ms + 3),
    ];
    Draft { blobs: vec![input], ..draft(number, facts) }
}

/// Everything after it.
pub(crate) fn end(number: u64, ms: i64) -> Draft {
    let result = blob(&format!("{{\"charged\":{number}}}"), false);
    let persisted = Persisted {
        strategy: "inline".to_owned(),
        max_inline_chars: 4000,
        original_size: 20,
        preview_size: 20,
        payload: None,
        reason: "it is small".to_owned(),
    };
    let created =
        ResultCreated { result: kept(&result), status: ResultStatus::Succeeded, is_error: false };
    let facts = vec![
        attempt_ended(ms, EffectState::Committed),
        fact(ms + 1, Event::Persisted(persisted)),
        fact(ms + 1, Event::ResultCreated(created)),
        fact(ms + 2, Event::Yielded(Yielded {})),
        ended(ms + 2, Status::Succeeded, EffectState::Committed),
    ];
    Draft { blobs: vec![result], ..draft(number, facts) }
}

/// A whole call in one entry.
pub(crate) fn whole(number: u64, ms: i64) -> Draft {
    let [mut whole, end] = [beginning(number, ms), end(number, ms + 10)];
    whole.facts.extend(end.facts);
    whole.blobs.extend(end.blobs);
    whole
}

/// A question about an invocation, open until `until`.
pub(crate) fn question(number: u64, ms: i64, until: i64) -> Question {
    Question {
        id: question_id(number),
        bound: ApprovalBinding {
            invocation: id(number),
            tool: "shop.charge@2.1.0".to_owned(),
            driver_version: "1.0.0".into(),
            driver_digest: Some(Digest::of(&"driver")),
            driver: DriverId::from("shop-http"),
            call_input: Digest::of(&"input"),
            targets: None,
            effects: Digest::of(&"effects"),
            actor: ana().id,
            tenant: "default".to_owned(),
        },
        grant: "shop:charge".to_owned(),
        decision: decision(Verdict::Ask, ms),
        needs: vec![Needs::default()],
        shown_input: json!({"order": "A-1001"}),
        driver_state: [].into(),
        summary: "charge A-1001".to_owned(),
        asked_at: at(ms),
        expires_at: at(until),
        rememberable: true,
        form: None,
    }
}

/// A call that waits for an answer.
pub(crate) fn asking(number: u64, ms: i64, until: i64) -> Draft {
    let input = blob(&format!("{{\"amount\":{number}}}"), false);
    let asked = Event::PermissionRequested(Box::new(question(number, ms, until)));
    let facts = vec![
        planned(ms, ana(), &input),
        selected(ms, "shop.charge@2"),
        ready(ms, &input),
        fact(ms, asked),
    ];
    Draft { blobs: vec![input], ..draft(number, facts) }
}

pub(crate) fn answer(number: u64, by: &str, approves: bool, ms: i64) -> Fact {
    fact(
        ms,
        Event::Answered(Box::new(ApprovalAnswer {
            question: question_id(number),
            by: by.into(),
            speaking: None,
            roles: vec!["approver".to_owned()],
            approves,
            reason: (!approves).then(|| "too much".to_owned()),
            edited_input: None,
            content: None,
            always: false,
            channel: "inbox".to_owned(),
            at: at(ms),
        })),
    )
}
