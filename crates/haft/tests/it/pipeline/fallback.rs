//! Driver fallback tests: another driver is tried only where nothing was sent, or for a read.

use haft_driver::{Failure, Output};
use haft_model::{Blame, Call, Code, EffectState, Envelope, Says, Stop};
use serde_json::json;

use crate::pipeline::weighing::says;
use crate::stage::*;
use crate::story::checked;

const ALLOW: &str = "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";

/// Two drivers for one tool; the first fails in this way.
fn failing(base: &str, code: Code, effect: EffectState) -> Setting {
    Setting::default().tool("pay", base).spare().settings(ALLOW).reporting_act(
        "pay",
        move |attempt| {
            Box::pin(async move {
                if attempt.plan.route.driver.as_str() == "canary" {
                    if effect != EffectState::NotSubmitted && effect != EffectState::None {
                        attempt.link.submit().await?;
                    }
                    return Err(Failure::new(Stop::new(code, "it could not"), effect));
                }
                attempt.link.submit().await?;
                Ok(Output::committed(json!({"by": "spare"})))
            })
        },
    )
}

async fn paid(stage: &Stage) -> (Option<Code>, Option<String>, usize) {
    let envelope = stage.call("pay", json!({})).await;
    checked(stage, &envelope).await;
    let told = stage.host.runtime().tell(&envelope.invocation_id).await.unwrap();
    let told = told.story.driver.map(|(driver, _)| driver.to_string());
    assert_eq!(told, envelope.driver, "the story names the driver that carried it out");
    about(stage, envelope)
}

fn about(stage: &Stage, envelope: Envelope) -> (Option<Code>, Option<String>, usize) {
    let code = envelope.error.map(|error| error.error_code);
    (code, envelope.driver, stage.canary.count())
}

#[tokio::test]
async fn driver_without_submission_falls_back_to_next_driver() {
    for code in [Code::DependencyUnavailable, Code::TimeoutBeforeSubmit, Code::RateLimited] {
        let stage = failing(WRITE, code, EffectState::NotSubmitted).open();
        assert_eq!(paid(&stage).await, (None, Some("spare".to_owned()), 2), "{code}");
    }
}

#[tokio::test]
async fn whatever_was_sent_is_not_sent_by_another() {
    for effect in [EffectState::Unknown, EffectState::NotCommitted, EffectState::PartiallyCommitted]
    {
        let stage = failing(WRITE, Code::DependencyUnavailable, effect).open();
        let (code, driver, count) = paid(&stage).await;
        assert_eq!(code, Some(Code::DependencyUnavailable), "{effect}");
        assert_eq!((driver, count), (Some("canary".to_owned()), 1), "{effect}");
    }
}

#[tokio::test]
async fn submitted_read_falls_back_to_next_driver() {
    // A read that was sent and not answered in its driver's time did no harm.
    for code in [Code::TimeoutUnknownCommit, Code::DependencyUnavailable] {
        let stage = failing(READ, code, EffectState::None).open();
        assert_eq!(paid(&stage).await, (None, Some("spare".to_owned()), 2), "{code}");
    }
}

#[tokio::test]
async fn a_refusal_is_not_taken_elsewhere() {
    let stage = failing(WRITE, Code::PermissionDenied, EffectState::NotSubmitted).open();
    assert_eq!(paid(&stage).await.2, 1);
}

#[tokio::test]
async fn pinned_driver_has_no_fallback() {
    let stage = failing(WRITE, Code::DependencyUnavailable, EffectState::NotSubmitted).open();
    let mut call = Call::new(stage.agent(), "pay", json!({}));
    call.pinned = Some("canary".into());
    let envelope = stage.host.call(call).await;
    assert_eq!(about(&stage, envelope).2, 1);
}

#[tokio::test]
async fn approved_call_does_not_fall_back_to_another_driver() {
    let stage = failing(WRITE, Code::DependencyUnavailable, EffectState::NotSubmitted)
        .hook(says("careful", Says::Ask))
        .open();
    let pending = stage.call_and_leave("pay", json!({})).await;
    let envelope = stage.answer(&pending.approval_id.unwrap(), stage.yes()).await;
    assert_eq!(about(&stage, envelope).2, 1);
}

#[tokio::test]
async fn circuit_breaker_skips_failing_driver_unless_pinned() {
    let stage = failing(WRITE, Code::DependencyUnavailable, EffectState::NotSubmitted).open();
    for _ in 0..5 {
        paid(&stage).await;
    }
    // Both were tried five times; from here on only the one that works is.
    let envelope = stage.call("pay", json!({})).await;
    assert_eq!(about(&stage, envelope), (None, Some("spare".to_owned()), 11));
    // A call that pins the driver bypasses the open circuit.
    let mut call = Call::new(stage.agent(), "pay", json!({}));
    call.pinned = Some("canary".into());
    let envelope = stage.host.call(call).await;
    let expected = (Some(Code::DependencyUnavailable), Some("canary".to_owned()), 12);
    assert_eq!(about(&stage, envelope), expected);
}

#[tokio::test]
async fn a_tool_whose_only_driver_rests_says_so() {
    let stage = Setting::default()
        .tool("pay", READ)
        .settings(&format!("{ALLOW}[limits]\nrest = {{ failures = 2 }}\n"))
        .act("pay", |_| {
            let stop = Stop::new(Code::DependencyUnavailable, "nobody answers");
            Box::pin(async move { Err(Failure::new(stop, EffectState::None)) })
        })
        .open();
    let mut said = Vec::new();
    for _ in 0..3 {
        let error = stage.call("pay", json!({})).await.error.unwrap();
        assert_eq!(error.error_code, Code::DependencyUnavailable);
        said.push(error.message);
    }
    assert_eq!(said[..2], ["nobody answers", "nobody answers"]);
    assert!(said[2].starts_with("driver `canary`: it failed 2 times in a row and rests until "));
    assert_eq!(stage.canary.count(), 2);
}

#[tokio::test]
async fn failures_of_one_tool_leave_other_tools_available() {
    let fails = |blame| {
        move || {
            let stop = Stop::new(Code::DependencyUnavailable, "no").blaming(blame);
            Err::<Output, _>(Failure::new(stop, EffectState::None))
        }
    };
    let (down, mistaken) = (fails(Blame::ByCode), fails(Blame::Request));
    let stage = Setting::default()
        .tool("down", READ)
        .tool("mistaken", READ)
        .tool("well", READ)
        .settings(&format!("{ALLOW}[limits]\nrest = {{ failures = 2 }}\n"))
        .act("down", move |_| Box::pin(async move { down() }))
        .act("mistaken", move |_| Box::pin(async move { mistaken() }))
        .open();
    for _ in 0..4 {
        for tool in ["mistaken", "down"] {
            assert!(stage.call(tool, json!({})).await.error.is_some());
        }
    }
    assert_eq!(stage.canary.count(), 6, "`down` rests after two, `mistaken` never");
    let well = stage.call("well", json!({})).await;
    assert_eq!(well.error.map(|error| error.message), None);
}
