//! Retry tests: another attempt only where the effect of the last one allows it (test 17 of the
//! twenty, as far as drivers in Rust can show it).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_driver::{Failure, Output};
use haft_model::{Call, Code, EffectState, Envelope, Event, InvocationId, Stop};
use haft_runtime::StoppedClock;
use serde_json::json;

use crate::stage::{READ, Setting, Stage, WRITE, extras};
use crate::story::checked;

const RETRY: &str = "timeout_ms: 5000\nretry: { max_attempts: 3, backoff: fixed, initial_ms: 1 }\n";

const STATUS: &str = "{ idempotency: { mode: optional, key: \"order-${input.order}\" }, \
    status: { tool: pay.status, input: { key: \"${idempotency.key}\" }, \
    committed: \"output.state == 'done'\", absent: \"output.state == 'none'\", \
    output: { id: \"${output.charge}\" } } }";

/// A charge that fails so often before it works, each time with what is known of its effect.
fn charge(haft: &str, failures: usize, code: Code, effect: EffectState) -> Setting {
    let left = Arc::new(AtomicUsize::new(failures));
    Setting::default()
        .settings("[[rule]]\ntool = \"pay*\"\nverdict = \"allow\"\n")
        .tool("pay", &extras(&format!("{WRITE}{RETRY}"), haft))
        .tool("pay.status", READ)
        .act("pay", move |_| {
            let fails = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
            Box::pin(async move {
                match fails {
                    Ok(_) => Err(Failure::new(Stop::new(code, "it failed"), effect)),
                    Err(_) => Ok(Output::committed(json!({"id": "ch-1"}))),
                }
            })
        })
}

/// A backend that says one thing about every charge.
fn saying(setting: Setting, state: &'static str) -> Setting {
    setting.act("pay.status", move |attempt| {
        let key = attempt.input["key"].clone();
        Box::pin(
            async move { Ok(Output::read(json!({"state": state, "charge": format!("of {key}")}))) },
        )
    })
}

async fn paid(stage: &Stage) -> Envelope {
    stage.host.call(Call::new(stage.agent(), "pay", json!({"order": 7}))).await
}

/// What is on record of every attempt: its number and what became of its effect.
async fn attempts(stage: &Stage, id: &InvocationId) -> Vec<(u32, EffectState)> {
    let facts = stage.facts(id).await;
    let ended = facts.iter().filter_map(|fact| match &fact.event {
        Event::AttemptEnded(ended) => Some((ended.attempt, ended.effect)),
        _ => None,
    });
    ended.collect()
}

fn charges(stage: &Stage) -> usize {
    stage.canary.inputs().iter().filter(|input| input.get("order").is_some()).count()
}

#[tokio::test]
async fn what_was_not_sent_is_sent_again() {
    let effect = EffectState::NotSubmitted;
    let stage = charge("{}", 2, Code::DependencyUnavailable, effect);
    let left = Arc::new(AtomicUsize::new(2));
    let stage = stage
        .reporting_act("pay", move |attempt| {
            let fails = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
            Box::pin(async move {
                if fails.is_ok() {
                    let stop = Stop::new(Code::DependencyUnavailable, "refused");
                    return Err(Failure::new(stop, EffectState::NotSubmitted));
                }
                attempt.link.submit().await?;
                Ok(Output::committed(json!({"id": "ch-1"})))
            })
        })
        .open();
    let envelope = paid(&stage).await;
    assert_eq!((envelope.error.clone(), envelope.effect_state), (None, EffectState::Committed));
    let found = attempts(&stage, &envelope.invocation_id).await;
    assert_eq!(found, [(1, effect), (2, effect), (3, EffectState::Committed)]);
    checked(&stage, &envelope).await;
}

#[tokio::test]
async fn the_contracts_number_of_attempts_is_not_exceeded() {
    let stage = charge("{}", 9, Code::RateLimited, EffectState::NotCommitted).open();
    let envelope = paid(&stage).await;
    assert_eq!(envelope.error.as_ref().map(|error| error.error_code), Some(Code::RateLimited));
    assert_eq!(charges(&stage), 3);
    checked(&stage, &envelope).await;
}

#[tokio::test]
async fn status_lookup_adopts_committed_charge_with_lost_response() {
    let setting = charge(STATUS, 1, Code::TimeoutUnknownCommit, EffectState::Unknown);
    let stage = saying(setting, "done").open();
    let envelope = paid(&stage).await;
    assert_eq!((envelope.error.clone(), envelope.effect_state), (None, EffectState::Committed));
    let facts = stage.facts(&envelope.invocation_id).await;
    let bound = facts.iter().find_map(|fact| match &fact.event {
        Event::IntentBound(intent) => Some(intent.key.clone()),
        _ => None,
    });
    let id = format!("of \"{}\"", bound.unwrap());
    assert_eq!(envelope.structured_content, Some(json!({"id": id})));
    assert_eq!(charges(&stage), 1);
    let found = attempts(&stage, &envelope.invocation_id).await;
    assert_eq!(found, [(1, EffectState::Unknown), (1, EffectState::Committed)]);
    checked(&stage, &envelope).await;
}

#[tokio::test]
async fn absent_charge_is_retried_only_after_its_deadline() {
    let clock = Arc::new(StoppedClock::at("2026-01-01T00:00:00Z".parse().unwrap()));
    let setting = charge(STATUS, 1, Code::TimeoutUnknownCommit, EffectState::Unknown);
    let stage = saying(setting, "none").clock(clock.clone()).open();
    let envelope = paid(&stage).await;
    let until = envelope.error.as_ref().and_then(|error| error.until);
    assert_eq!(until.map(|until| until.to_string()).as_deref(), Some("2026-01-01T00:00:10Z"));
    assert_eq!((envelope.effect_state, charges(&stage)), (EffectState::Unknown, 1));
    checked(&stage, &envelope).await;
    clock.set("2026-01-01T00:00:10Z".parse().unwrap());
    let again = paid(&stage).await;
    assert_eq!((again.error.clone(), charges(&stage)), (None, 2));
    assert_eq!(again.structured_content, Some(json!({"id": "ch-1"})));
    checked(&stage, &again).await;
}

#[tokio::test]
async fn write_with_unknown_outcome_is_not_retried() {
    for (haft, state) in [("{}", "done"), (STATUS, "perhaps")] {
        let setting = charge(haft, 1, Code::TimeoutUnknownCommit, EffectState::Unknown);
        let stage = saying(setting, state).open();
        let envelope = paid(&stage).await;
        let code = envelope.error.as_ref().map(|error| error.error_code);
        assert_eq!((code, charges(&stage)), (Some(Code::TimeoutUnknownCommit), 1), "{state}");
        assert_eq!(envelope.effect_state, EffectState::Unknown);
        checked(&stage, &envelope).await;
    }
}

#[tokio::test]
async fn idempotent_write_is_retried_despite_unknown_outcome() {
    let left = Arc::new(AtomicUsize::new(1));
    let stage = Setting::default()
        .settings("[[rule]]\ntool = \"put\"\nverdict = \"allow\"\n")
        .tool("put", &format!("{WRITE}{RETRY}idempotent: true\n"))
        .act("put", move |_| {
            let fails = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
            Box::pin(async move {
                match fails {
                    Ok(_) => {
                        let stop = Stop::new(Code::TimeoutUnknownCommit, "lost");
                        Err(Failure::new(stop, EffectState::Unknown))
                    }
                    Err(_) => Ok(Output::committed(json!({}))),
                }
            })
        })
        .open();
    let envelope = stage.call("put", json!({})).await;
    assert_eq!((envelope.error.clone(), stage.canary.count()), (None, 2));
    checked(&stage, &envelope).await;
}

#[tokio::test]
async fn read_is_retried_despite_unknown_outcome() {
    let left = Arc::new(AtomicUsize::new(1));
    let stage = Setting::default()
        .tool("look", &format!("{READ}{RETRY}"))
        .act("look", move |_| {
            let fails = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
            Box::pin(async move {
                match fails {
                    Ok(_) => {
                        let stop = Stop::new(Code::DependencyUnavailable, "gone");
                        Err(Failure::new(stop, EffectState::Unknown))
                    }
                    Err(_) => Ok(Output::read(json!({}))),
                }
            })
        })
        .open();
    let envelope = stage.call("look", json!({})).await;
    assert_eq!((envelope.error.clone(), stage.canary.count()), (None, 2));
    checked(&stage, &envelope).await;
}

#[tokio::test]
async fn status_lookup_prefers_driver_that_made_the_attempt() {
    let only_pay = "---\nname: spare\nid: spare\nversion: 1.0.0\ndescription: Counts.\n\
                    kind: builtin\nimplements:\n  - { tool: pay, version: \"^1\" }\n\
                    metadata: { builtin: { host_id: haft } }\n---\n\nCounts.\n";
    for (serves_both, asked) in [(true, "spare"), (false, "canary")] {
        let setting = charge(STATUS, 0, Code::Internal, EffectState::None);
        let setting = match serves_both {
            true => setting.spare(),
            false => setting.file(".drivers/spare/DRIVER.md", only_pay),
        };
        // The first driver sends nothing, and the answer to the second is lost.
        let stage = setting
            .reporting_act("pay", |attempt| {
                Box::pin(async move {
                    if attempt.plan.route.driver.as_str() == "canary" {
                        let stop = Stop::new(Code::DependencyUnavailable, "it is away");
                        return Err(Failure::new(stop, EffectState::NotSubmitted));
                    }
                    attempt.link.submit().await?;
                    let stop = Stop::new(Code::TimeoutUnknownCommit, "no answer came");
                    Err(Failure::new(stop, EffectState::Unknown))
                })
            })
            .act("pay.status", |attempt| {
                let driver = attempt.plan.route.driver.clone();
                Box::pin(
                    async move { Ok(Output::read(json!({"state": "done", "charge": driver}))) },
                )
            })
            .open();
        let envelope = paid(&stage).await;
        assert_eq!(envelope.driver.as_deref(), Some("spare"));
        assert_eq!(envelope.structured_content, Some(json!({"id": asked})));
        checked(&stage, &envelope).await;
    }
}
