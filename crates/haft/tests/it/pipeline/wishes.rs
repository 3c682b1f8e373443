//! Batch cancellation from outside: interrupted, or superseded by another stream.

use std::sync::Arc;

use haft_driver::{Attempt, BoxFuture, Cancel, Failure, Output};
use haft_model::{
    AbortReason, CancelFact, Code, EffectState, Envelope, Event, Fact, InterruptBehavior,
    QueueState, ResultStatus, Status, Stop,
};
use haft_runtime::{Batch, CallOptions, Discarding, Patience};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::pipeline::batch::{ALLOW, after, call};
use crate::pipeline::turns::{SAFE, all, on_record, story};
use crate::stage::{READ, Setting, Stage, WRITE, extras};
use crate::story::checked;

type Ran<'a> = BoxFuture<'a, Result<Output, Failure>>;

/// A driver that tells when it runs, and what it does then.
fn told(
    started: &Arc<Notify>,
    go: &Arc<Notify>,
) -> impl for<'a> Fn(Attempt<'a>) -> Ran<'a> + Send + Sync + 'static {
    let (started, go) = (started.clone(), go.clone());
    move |attempt| {
        let (started, go) = (started.clone(), go.clone());
        Box::pin(async move {
            let writes = attempt.plan.effects.may_mutate();
            started.notify_one();
            match attempt.input["deaf"].as_bool() {
                Some(true) => go.notified().await,
                _ => tokio::select! {
                    () = go.notified() => {}
                    () = attempt.cancel.cancelled() => {
                        let stop = Stop::new(Code::CanceledCaller, "it was called off");
                        return Err(Failure::new(stop, EffectState::NotCommitted));
                    }
                },
            }
            Ok(if writes { Output::committed(json!({})) } else { Output::read(json!({})) })
        })
    }
}

fn wishes(facts: &[Fact]) -> Vec<(CancelFact, AbortReason)> {
    let wish = |fact: &Fact| match &fact.event {
        Event::Progressed(reported) => {
            reported.cancel.as_ref().map(|note| (note.fact, note.reason))
        }
        _ => None,
    };
    facts.iter().filter_map(wish).collect()
}

/// One that runs, one behind it; interrupted while the first runs. Where the first is let finish, it
/// is checked that nothing is handed over before it has.
async fn interrupted(
    how: &str,
    behavior: InterruptBehavior,
    input: Value,
    finishes: bool,
) -> (Stage, Vec<Envelope>) {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let stage = Setting::default()
        .tool("note.first", &extras(READ, how))
        .tool("note.second", READ)
        .act("note.first", told(&started, &go))
        .open();
    let batch = Batch {
        interrupt: behavior,
        ..Batch::new([
            call(&stage, "note.first", input),
            after(call(&stage, "note.second", json!({})), &["0"]),
        ])
    };
    let cancel = Cancel::new();
    let manner = CallOptions { cancel: cancel.clone(), ..CallOptions::default() };
    let mut results = Vec::new();
    {
        let mut released = stage.host.runtime().batch(batch, manner).unwrap();
        let mut taking = std::pin::pin!(all(&mut released));
        let interrupting = async {
            started.notified().await;
            cancel.cancel();
            // The one behind it is answered at once, and its result waits for its turn.
            on_record(&stage, |event| matches!(event, Event::Canceled(_))).await;
        };
        tokio::select! {
            early = &mut taking => results = early,
            () = interrupting => {}
        }
        if results.is_empty() {
            if finishes {
                go.notify_one();
            }
            results = taking.await;
        }
    }
    for envelope in &results {
        checked(&stage, envelope).await;
    }
    (stage, results)
}

fn ends(results: &[Envelope]) -> Vec<(ResultStatus, Option<AbortReason>)> {
    results.iter().map(|envelope| (envelope.status, envelope.abort_reason)).collect()
}

/// What the one that had not begun comes to, always.
const CALLED_OFF: (ResultStatus, Option<AbortReason>) =
    (ResultStatus::Canceled, Some(AbortReason::UserInterruption));

const USER: AbortReason = AbortReason::UserInterruption;

#[tokio::test]
async fn interrupt_a_cancellable_tool_stops_and_rest_never_starts() {
    let (stage, results) =
        interrupted("{ interrupt: cancel }", InterruptBehavior::Cancel, json!({}), false).await;
    assert_eq!(ends(&results), [(ResultStatus::Canceled, None), CALLED_OFF]);
    let facts = checked(&stage, &results[0]).await;
    assert_eq!(wishes(&facts), [(CancelFact::Requested, USER), (CancelFact::Canceled, USER)]);
    assert_eq!(stage.canary.count(), 1);
}

#[tokio::test]
async fn interrupt_b_unspecified_tool_finishes_and_next_is_cancelled() {
    for behavior in [InterruptBehavior::Cancel, InterruptBehavior::Block] {
        let (stage, results) = interrupted("{ }", behavior, json!({}), true).await;
        assert_eq!(ends(&results), [(ResultStatus::Succeeded, None), CALLED_OFF], "{behavior}");
        assert_eq!(stage.canary.count(), 1);
    }
}

#[tokio::test]
async fn interrupt_c_uncancellable_tool_finishes_and_records_unsupported() {
    let never = "{ supports_cancel: false }";
    let (stage, results) = interrupted(never, InterruptBehavior::Cancel, json!({}), true).await;
    assert_eq!(ends(&results), [(ResultStatus::Succeeded, None), CALLED_OFF]);
    let facts = checked(&stage, &results[0]).await;
    assert_eq!(wishes(&facts), [(CancelFact::Requested, USER), (CancelFact::Unsupported, USER)]);
}

#[tokio::test]
async fn interrupt_d_tool_ignoring_cancellation_is_aborted() {
    let obeys = "{ supports_cancel: true }";
    let (stage, results) =
        interrupted(obeys, InterruptBehavior::Cancel, json!({ "deaf": true }), false).await;
    assert_eq!(ends(&results), [(ResultStatus::Canceled, None), CALLED_OFF]);
    let facts = checked(&stage, &results[0]).await;
    assert_eq!(wishes(&facts), [(CancelFact::Requested, USER), (CancelFact::Canceled, USER)]);
    let message = results[0].error.clone().unwrap().message;
    assert!(message.contains("by force"), "{message}");
}

#[tokio::test]
async fn blocking_batch_lets_cancellable_tool_finish() {
    let (stage, results) =
        interrupted("{ interrupt: cancel }", InterruptBehavior::Block, json!({}), true).await;
    assert_eq!(ends(&results), [(ResultStatus::Succeeded, None), CALLED_OFF]);
    assert_eq!(wishes(&checked(&stage, &results[0]).await), []);
}

#[tokio::test]
async fn streaming_fallback_keeps_ended_calls_and_possible_effects() {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (sent, done) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let stage = Setting::default()
        .tool("note.done", &extras(READ, SAFE))
        .tool("note.stops", &extras(READ, "{ interrupt: cancel, concurrency: { safe: true } }"))
        .tool("note.write", &extras(WRITE, "{ interrupt: cancel, concurrency: { safe: true } }"))
        .tool("note.ask", &extras(WRITE, SAFE))
        .settings("[[rule]]\ntool = \"note.ask\"\nverdict = \"ask\"\n")
        .settings(ALLOW)
        .act("note.stops", told(&started, &go))
        .act("note.write", told(&sent, &done))
        .open();
    let batch = Batch::new([
        call(&stage, "note.stops", json!({})),
        call(&stage, "note.write", json!({})),
        call(&stage, "note.done", json!({})),
        call(&stage, "note.ask", json!({})),
        after(call(&stage, "note.done", json!({})), &["1"]),
    ]);
    let manner = CallOptions { patience: Patience::Leave, ..CallOptions::default() };
    let mut released = stage.host.runtime().batch(batch, manner).unwrap();
    let handle = released.handle();
    let discarding = async {
        tokio::join!(started.notified(), sent.notified());
        on_record(&stage, |event| matches!(event, Event::Succeeded(_))).await;
        on_record(&stage, |event| matches!(event, Event::PermissionRequested(_))).await;
        let answers = handle.discard(&[0, 1, 2, 3, 4], "the stream was given up").await.unwrap();
        done.notify_one();
        answers
    };
    let (results, answers) = tokio::join!(all(&mut released), discarding);
    assert_eq!(
        answers,
        [
            Discarding::Told,
            Discarding::Kept("its effect may have happened".to_owned()),
            Discarding::Kept("it had ended".to_owned()),
            Discarding::Dropped,
            Discarding::Dropped,
        ]
    );
    use ResultStatus::{Discarded, Pending, Succeeded};
    let statuses: Vec<_> = results.iter().map(|envelope| envelope.status).collect();
    assert_eq!(statuses, [Discarded, Succeeded, Succeeded, Pending, Discarded]);
    let mut kept = Vec::new();
    for envelope in &results {
        let envelope = stage.host.reader().result(&envelope.invocation_id).await.unwrap().unwrap();
        checked(&stage, &envelope).await;
        let told = story(&stage, &envelope.invocation_id).await;
        let (_, discarded) = told.discarded.clone().unwrap();
        assert_eq!(discarded.reason, "the stream was given up");
        let superseded = envelope.status == Discarded;
        assert_eq!(superseded, discarded.kept.is_none());
        assert_eq!(told.queue_state() == Some(QueueState::Discarded), superseded);
        if superseded {
            let error = envelope.error.as_ref().unwrap();
            assert_eq!(
                (error.error_code, error.error_class.as_str(), envelope.final_status),
                (Code::CanceledDiscarded, "streaming_fallback_discarded", Status::Canceled)
            );
            assert_eq!(envelope.abort_reason, Some(AbortReason::Fallback));
        }
        kept.push(!superseded);
    }
    assert_eq!(kept, [false, true, true, false, false]);
    assert_eq!(results[1].effect_state, EffectState::Committed);
    let unknown = handle.discard(&[5], "the stream was given up").await;
    assert_eq!(unknown.map_err(|stop| stop.code), Err(Code::InputValue));
}
