//! Graceful shutdown tests: calls in flight may end, people may still answer, and nothing new
//! begins.

use std::sync::Arc;
use std::time::Duration;

use haft_driver::{Failure, Output};
use haft_model::{AbortReason, Code, EffectState, Event, ResultStatus, Stop};
use serde_json::json;
use tokio::sync::Notify;

use crate::stage::*;
use crate::story::checked;

const ALLOW: &str = "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";

fn gated(haft: &str, started: &Arc<Notify>, go: &Arc<Notify>) -> Setting {
    let (told, gate) = (started.clone(), go.clone());
    Setting::default().tool("pay", &extras(WRITE, haft)).settings(ALLOW).act(
        "pay",
        move |attempt| {
            let (told, gate) = (told.clone(), gate.clone());
            Box::pin(async move {
                told.notify_one();
                tokio::select! {
                    () = gate.notified() => Ok(Output::committed(json!({}))),
                    () = attempt.cancel.cancelled() => {
                        let stop = Stop::new(Code::CanceledCaller, "stopped");
                        Err(Failure::new(stop, EffectState::NotCommitted))
                    }
                }
            })
        },
    )
}

#[tokio::test]
async fn what_is_under_way_ends_and_nothing_new_begins() {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let stage = gated("{}", &started, &go).open();
    let stopping = async {
        started.notified().await;
        let stopped = stage.host.runtime().stop(Duration::from_secs(60));
        let late = async {
            let late = stage.call("pay", json!({"late": true})).await;
            go.notify_one();
            late
        };
        tokio::join!(stopped, late)
    };
    let (first, (left, late)) = tokio::join!(stage.call("pay", json!({})), stopping);
    assert_eq!((first.error.clone(), left, stage.canary.count()), (None, 0, 1));
    let error = late.error.as_ref().unwrap();
    assert_eq!(error.error_code, Code::DependencyUnavailable);
    assert_eq!(error.message, "haft is about to stop");
    checked(&stage, &first).await;
    checked(&stage, &late).await;
}

#[tokio::test]
async fn shutdown_cancels_overdue_cancellable_calls() {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let stage = gated("{ supports_cancel: true }", &started, &go).open();
    let stopping = async {
        started.notified().await;
        stage.host.runtime().stop(Duration::ZERO).await
    };
    let (first, left) = tokio::join!(stage.call("pay", json!({})), stopping);
    assert_eq!((first.status, left), (ResultStatus::Canceled, 0));
    let facts = checked(&stage, &first).await;
    let reasons: Vec<_> = facts
        .iter()
        .filter_map(|fact| match &fact.event {
            Event::Progressed(reported) => reported.cancel.as_ref().map(|note| note.reason),
            _ => None,
        })
        .collect();
    assert!(reasons.contains(&AbortReason::RuntimeShutdown), "{reasons:?}");
}

#[tokio::test]
async fn shutdown_leaves_uncancellable_calls_to_recovery() {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let stage = gated("{ supports_cancel: false }", &started, &go).open();
    let calling = stage.call("pay", json!({}));
    let stopping = async {
        started.notified().await;
        let left = stage.host.runtime().stop(Duration::ZERO).await;
        go.notify_one();
        left
    };
    let (_, left) = tokio::join!(calling, stopping);
    assert_eq!(left, 1);
}

#[tokio::test]
async fn approval_can_be_answered_after_shutdown_by_next_process() {
    let stage = Setting::default().tool("pay", WRITE).open();
    let asked = async {
        loop {
            let filter = haft_ledger::QuestionFilter::default();
            if !stage.store.questions(&filter).await.unwrap().is_empty() {
                return stage.host.runtime().stop(Duration::from_secs(60)).await;
            }
            tokio::task::yield_now().await;
        }
    };
    let (pending, left) = tokio::join!(stage.call("pay", json!({})), asked);
    assert_eq!((pending.status, left), (ResultStatus::Pending, 0));
    let after = stage.another(|_| {});
    let id = pending.approval_id.unwrap();
    let answered = after.runtime().answer_and_run(&id, stage.yes()).await.unwrap();
    assert!(matches!(answered, haft_runtime::AnswerOutcome::CarriedOut(_)), "{answered:?}");
    assert_eq!(stage.canary.count(), 1);
}
