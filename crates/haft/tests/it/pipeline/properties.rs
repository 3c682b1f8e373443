//! Pipeline property test: invariants hold for random mixes of tools, hooks, approvals and
//! cancellations.

use std::sync::Arc;
use std::time::Duration;

use haft_driver::{Attempt, BoxFuture, Cancel, Failure, HookAnswer, Output};
use haft_ledger::QuestionFilter;
use haft_model::{
    Call, Code, Content, Digest, EffectState, Envelope, Event, HookPoint, Progress, Says, Status,
    Stop,
};
use haft_runtime::{CallOptions, Patience, Reply};
use haft_testkit::SeededRandom;
use serde_json::{Value, json};

use crate::stage::{READ, Scripted, Setting, Stage, WRITE, extras};
use crate::story::{checked, sent};

/// A canary for a value that must stay redacted.
const SECRET: &str = "hush-hush-0042";

const TOOLS: [&str; 8] = [
    "note.show",
    "note.keep",
    "note.ask",
    "note.deferred",
    "note.old",
    "note.shut",
    "note.none",
    "note.block",
];

type Ran<'a> = BoxFuture<'a, Result<Output, Failure>>;

/// Does what its input says, and tells what it should not.
fn told(attempt: Attempt<'_>) -> Ran<'_> {
    Box::pin(async move {
        let input = attempt.input.clone().into_owned();
        let act = input["act"].as_str().unwrap_or_default().to_owned();
        let effect = match attempt.plan.effects.may_mutate() {
            true => EffectState::Committed,
            false => EffectState::None,
        };
        let failure = |code, effect| {
            Err(Failure::new(Stop::new(code, format!("it failed over {input}")), effect))
        };
        for step in 0..input["steps"].as_u64().unwrap_or(0) {
            let message = Some(format!("step {step} with {input}"));
            attempt.link.progress(Progress { message, ..Progress::default() }).await;
        }
        match act.as_str() {
            "fail" => failure(Code::ExecutionFailed, EffectState::Unknown),
            "away" => failure(Code::DependencyUnavailable, EffectState::NotCommitted),
            "part" => failure(Code::EffectPartial, EffectState::PartiallyCommitted),
            "panic" => panic!("broke over {input}"),
            "slow" => {
                tokio::select! {
                    () = attempt.cancel.cancelled() => attempt.link.cancel_heard().await,
                    () = tokio::time::sleep(Duration::from_millis(15)) => {}
                }
                failure(Code::CanceledCaller, EffectState::NotCommitted)
            }
            "hang" => std::future::pending().await,
            "odd" => Ok(Output { effect, ..Output::read(json!({"n": input})) }),
            "text" => {
                let content = vec![Content::text(input.to_string())];
                Ok(Output { content, effect, ..Output::read(json!({})) })
            }
            _ => Ok(Output { effect, ..Output::read(json!({"echo": input})) }),
        }
    })
}

fn stage(dice: &mut SeededRandom) -> Stage {
    let common = "timeout_ms: 60\noutputs: { type: object, properties: { n: { type: integer } } }\n\
        inputs: { type: object, additionalProperties: false, properties: { act: { type: string }, \
        steps: { type: integer, default: 1 }, secret: { type: string }, hidden: { type: string } } }\n";
    let haft = |more: &str| {
        format!("{{ data: {{ sensitive: [/secret], internal: [/hidden] }}, audit: [/act]{more} }}")
    };
    let tool = |base: &str, more: &str| extras(&format!("{base}{common}"), &haft(more));
    let mut setting = Setting::default()
        .tool("note.show", &tool(READ, ", supports_cancel: true"))
        .tool("note.keep", &tool(WRITE, ", supports_cancel: true"))
        .tool("note.block", &tool(WRITE, ", interrupt: block"))
        .tool("note.ask", &tool(WRITE, ""))
        .tool("note.deferred", &tool(READ, ", lifecycle: { state: deferred }"))
        .tool("note.old", &tool(READ, ", lifecycle: { state: retired }"))
        .tool("note.shut", &tool(READ, ""))
        .settings(
            "[[surface]]\nscope = \"role:agent\"\ntools = [\"*\"]\n\
             [[rule]]\ntool = \"note.ask\"\nverdict = \"ask\"\n\
             [[rule]]\ntool = \"note.shut\"\nverdict = \"deny\"\n\
             [[rule]]\ntool = \"note.*\"\nverdict = \"allow\"\n",
        )
        .options(|options| {
            options.grace = Duration::from_millis(20);
            options.max_parallel = 3;
        });
    for tool in ["note.show", "note.keep", "note.ask", "note.deferred"] {
        setting = setting.act(tool, told);
    }
    setting = setting.reporting_act("note.block", told);
    for _ in 0..dice.below(4) {
        setting = setting.hook(hook(dice));
    }
    setting.open()
}

fn hook(dice: &mut SeededRandom) -> Scripted {
    let point = dice.choose(&[
        HookPoint::PreToolUse,
        HookPoint::PreToolUse,
        HookPoint::PermissionRequest,
        HookPoint::PermissionDecision,
        HookPoint::PostToolUse,
        HookPoint::PostToolUseFailure,
        HookPoint::ResultPersistence,
    ]);
    let kind = dice.below(9);
    let hook = Scripted::new("dice", point, move |heard| {
        let input = Value::clone(&heard.plan.input);
        let mut answer = HookAnswer {
            message: Some(format!("about {input}")),
            additional_context: vec![input.clone()],
            ..HookAnswer::default()
        };
        match kind {
            0 => answer.opinion = Some((Says::Deny, format!("no to {input}"))),
            1 => answer.opinion = Some((Says::Allow, format!("yes to {input}"))),
            2 => answer.opinion = Some((Says::Ask, format!("who knows {input}"))),
            3 => answer.stop = Some(format!("stop {input}")),
            4 => answer.updated_input = Some(json!({"act": "ok", "hidden": "from the hook"})),
            5 => answer.updated_output = Some(json!({"instead": SECRET})),
            6 => return Err(format!("cannot hear {input}")),
            7 => panic!("cannot hear {input}"),
            _ => {}
        }
        Ok(answer)
    });
    Scripted { required: dice.one_in(2), trusted: dice.one_in(2), ..hook }
}

fn input(dice: &mut SeededRandom) -> Value {
    let act =
        dice.choose(&["ok", "ok", "fail", "away", "part", "panic", "slow", "hang", "odd", "text"]);
    let mut input = json!({"act": act, "steps": dice.below(25), "secret": SECRET});
    match dice.below(8) {
        0 => input["steps"] = json!(SECRET),
        1 => input["more"] = json!(SECRET),
        2 => input["hidden"] = json!(SECRET),
        _ => {}
    }
    input
}

/// Answers whatever is open, one way or another, until it is told to stop.
async fn answerer(stage: Arc<Stage>, mut dice: SeededRandom, over: Cancel) {
    let open = QuestionFilter { open: true, ..QuestionFilter::default() };
    while !over.is_cancelled() {
        for record in stage.store.questions(&open).await.unwrap() {
            let edited = json!({"act": "ok", "secret": SECRET});
            let reply = match dice.below(4) {
                0 => stage.no(&format!("not {}", "today")),
                1 => Reply { edited_input: Some(edited), ..stage.yes() },
                2 => Reply { by: stage.agent(), ..stage.yes() },
                _ => stage.yes(),
            };
            let _ = stage.host.runtime().answer_and_run(&record.question.id, reply).await;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn one(stage: Arc<Stage>, seed: u64) -> (Digest, Envelope) {
    let mut dice = SeededRandom::new(seed);
    let mut call = Call::new(stage.agent(), dice.choose(&TOOLS), input(&mut dice));
    if dice.one_in(3) {
        call.sent = Some(serde_json::to_string_pretty(&call.input).unwrap());
    }
    let bytes = match &call.sent {
        Some(text) => text.clone().into_bytes(),
        None => serde_json::to_vec(&call.input).unwrap(),
    };
    let cancel = Cancel::new();
    if dice.one_in(4) {
        let (later, wait) = (cancel.clone(), dice.below(30) as u64);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(wait)).await;
            later.cancel();
        });
    }
    let manner = CallOptions { cancel, patience: Patience::Wait, ..CallOptions::default() };
    let envelope = stage.host.runtime().call(call, manner).await;
    (Digest::of_bytes(&bytes), envelope)
}

async fn round(seed: u64) -> usize {
    let mut dice = SeededRandom::new(seed);
    let stage = Arc::new(stage(&mut dice));
    let over = Cancel::new();
    let answering =
        tokio::spawn(answerer(stage.clone(), SeededRandom::new(seed + 1), over.clone()));
    let calls: Vec<_> =
        (0..12).map(|number| tokio::spawn(one(stage.clone(), seed * 1000 + number))).collect();
    let mut envelopes = Vec::new();
    for call in calls {
        envelopes.push(call.await.expect("a call ends in an envelope and in nothing else"));
    }
    over.cancel();
    answering.await.unwrap();
    // A call that means what another one means has that one's answer, and no record of its own.
    envelopes.retain(|(_, envelope)| !envelope.replayed);
    let runs = stage.store.runs(&Default::default()).await.unwrap();
    assert_eq!(runs.len(), envelopes.len(), "calls in, records out");
    assert!(runs.iter().all(|run| run.ended_at.is_some()), "{runs:?}");
    let mut started = 0;
    for (bytes, envelope) in &envelopes {
        let facts = checked(&stage, envelope).await;
        assert_eq!(sent(&facts), *bytes, "what was sent changed");
        let starts = facts.iter().filter(|fact| matches!(fact.event, Event::Started(_))).count();
        assert!(starts <= 1, "it was tried again by itself");
        let gated = matches!(
            envelope.final_status,
            Status::Blocked | Status::Denied | Status::SchemaParseFailed | Status::ValidationFailed
        );
        assert!(starts == 0 || !gated, "it ran and was refused");
        started += starts;
        hides(&serde_json::to_string(envelope).unwrap());
    }
    assert_eq!(stage.canary.count(), started, "every run of a driver is on record");
    for entry in stage.store.entries(None, 10_000).await.unwrap() {
        hides(&entry.line);
    }
    for record in stage.store.questions(&Default::default()).await.unwrap() {
        assert!(record.state != haft_model::QuestionState::Open, "a question of an ended call");
        hides(&serde_json::to_string(&record).unwrap());
    }
    started
}

fn hides(text: &str) {
    assert!(!text.contains(SECRET), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_mixed_the_ten_invariants_hold() {
    let mut started = 0;
    for seed in 1..=60 {
        started += round(seed).await;
    }
    assert!(started > 60, "hardly anything ran, so hardly anything was shown: {started}");
}
