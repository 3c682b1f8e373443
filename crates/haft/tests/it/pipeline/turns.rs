//! Batch ordering: the rules of a batch are on record, and each result comes in its turn.

use std::sync::Arc;
use std::time::Duration;

use haft_driver::Output;
use haft_ledger::Story;
use haft_model::{
    BatchOrdering, Code, Envelope, Event, InvocationId, Progress, QueueState, ResultStatus, Status,
    YieldPolicy,
};
use haft_runtime::{Batch, BatchNews, CallOptions, Reader, ResultStream};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::pipeline::batch::{ALLOW, call};
use crate::stage::{READ, Setting, Stage, WRITE, extras};
use crate::story::checked;

pub(crate) const SAFE: &str = "{ concurrency: { safe: true } }";

pub(crate) async fn story(stage: &Stage, id: &InvocationId) -> Story {
    stage.host.flush().await.unwrap();
    Story::fold(&stage.host.reader().story(id).await.unwrap()).unwrap()
}

/// Waits until the log tells of something.
pub(crate) async fn on_record(stage: &Stage, wanted: impl Fn(&Event) -> bool) {
    let mut subscription = stage.host.subscribe(None);
    loop {
        let entry = subscription.next(Duration::from_secs(5)).await.unwrap().unwrap();
        if Reader::facts(&entry).unwrap().iter().any(|fact| wanted(&fact.event)) {
            return;
        }
    }
}

pub(crate) async fn all(released: &mut ResultStream<'_>) -> Vec<Envelope> {
    let mut all = Vec::new();
    let work = async {
        while let Some((_, envelope)) = released.next().await {
            all.push(envelope);
        }
    };
    tokio::time::timeout(Duration::from_secs(20), work).await.expect("the batch hangs");
    all
}

/// The first waits for the gate; the second says how far it is and is done.
fn slow_and_fast(go: &Arc<Notify>) -> Stage {
    let gate = go.clone();
    Setting::default()
        .tool("note.show", &extras(READ, SAFE))
        .act("note.show", move |attempt| {
            let go = gate.clone();
            Box::pin(async move {
                match attempt.input["slow"].as_bool() {
                    Some(true) => go.notified().await,
                    _ => attempt.link.progress(Progress::default()).await,
                }
                Ok(Output::read(json!({})))
            })
        })
        .open()
}

fn slow_and_fast_batch(stage: &Stage) -> Batch {
    Batch::new([true, false].map(|slow| call(stage, "note.show", json!({ "slow": slow }))))
}

#[tokio::test]
async fn batch_records_scheduler_policy_and_calls_reference_it() {
    let locks = "{ concurrency: { locks: [\"file:${input.path}\"] } }";
    let stage = Setting::default().tool("note.write", &extras(WRITE, locks)).settings(ALLOW).open();
    let paths = ["a", "b", "a"].map(|path| call(&stage, "note.write", json!({ "path": path })));
    let batch = Batch { ordering: BatchOrdering::Serial, ..Batch::new(paths) };
    let mut released = stage.host.runtime().batch(batch, CallOptions::default()).unwrap();
    let handle = released.handle();
    let results = all(&mut released).await;
    stage.host.flush().await.unwrap();
    let entries = stage.store.entries(None, 100).await.unwrap();
    let events: Vec<Value> =
        entries.iter().flat_map(|entry| haft_ledger::events(entry).unwrap()).collect();
    let planned = &events[0];
    assert_eq!(planned["event_type"], "haft.batch.planned");
    let [one, two, three] = handle.calls() else { panic!() };
    let number = handle.id().strip_prefix("bat_").unwrap();
    assert_eq!(
        planned["data"],
        json!({
            "batch": handle.id(),
            "scheduler_policy_id": format!("sch_{number}"),
            "scope": "batch",
            "max_parallel": 10,
            "ordering_policy": "serial",
            "yield_policy": "progress_immediate_results_ordered",
            "interrupt_behavior": "block",
            "sibling_failure_policy": "cancel_dependent",
            "context_modifier_policy": "allow_serial_only",
            "calls": [one, two, three],
            "resource_locks": [
                {"lock": "file:a", "mode": "exclusive", "calls": [one, three]},
                {"lock": "file:b", "mode": "exclusive", "calls": [two]},
            ],
        })
    );
    for envelope in &results {
        let records = story(&stage, &envelope.invocation_id).await.records();
        let of = |kind: &str| records.iter().find(|(other, _)| *other == kind).unwrap().1.clone();
        let (call, policy) = (of("invocation"), of("scheduler-policy"));
        assert_eq!(call["scheduler_policy_ref"], planned["data"]["scheduler_policy_id"]);
        assert_eq!(policy["scheduler_policy_id"], call["scheduler_policy_ref"]);
        assert_eq!(policy["ordering_policy"], "serial");
        assert_eq!(policy["resource_locks"], call["scheduler"]["resource_locks"]);
        assert_eq!(call["scheduler"]["requires_exclusive_context"], true);
    }
}

#[tokio::test]
async fn batch_result_stays_completed_until_yielded_in_order() {
    let go = Arc::new(Notify::new());
    let stage = slow_and_fast(&go);
    let batch = slow_and_fast_batch(&stage);
    let mut released = stage.host.runtime().batch(batch, CallOptions::default()).unwrap();
    let ids = released.handle().calls().to_vec();
    let first = async { released.next().await.unwrap() };
    let watching = async {
        on_record(&stage, |event| matches!(event, Event::Succeeded(_))).await;
        let waits = story(&stage, &ids[1]).await;
        assert_eq!(
            (waits.status, waits.queue_state(), waits.released_at),
            (Status::Succeeded, Some(QueueState::Completed), None)
        );
        go.notify_one();
    };
    let ((index, slow), ()) = tokio::join!(first, watching);
    assert_eq!(index, 0);
    let told = story(&stage, &ids[0]).await;
    let statuses: Vec<_> = told.transitions.iter().rev().take(2).map(|one| one.status).collect();
    assert_eq!(statuses, [Status::Succeeded, Status::Yielded]);
    assert_eq!(story(&stage, &ids[1]).await.queue_state(), Some(QueueState::Completed));
    let (_, fast) = released.next().await.unwrap();
    let told = story(&stage, &ids[1]).await;
    assert_eq!((told.status, told.queue_state()), (Status::Succeeded, Some(QueueState::Yielded)));
    assert!(told.released_at > told.ended_at);
    assert_eq!(released.next().await, None);
    for envelope in [slow, fast] {
        checked(&stage, &envelope).await;
    }
}

#[tokio::test]
async fn caller_leaving_before_yield_keeps_completed_result() {
    let go = Arc::new(Notify::new());
    let stage = slow_and_fast(&go);
    let batch = slow_and_fast_batch(&stage);
    let mut released = stage.host.runtime().batch(batch, CallOptions::default()).unwrap();
    let id = released.handle().calls()[1].clone();
    tokio::select! {
        _ = released.next() => panic!("the first does not end"),
        () = on_record(&stage, |event| matches!(event, Event::Succeeded(_))) => {}
    }
    drop(released);
    let another = stage.another(|_| {});
    another.runtime().recover().await.unwrap();
    let told = story(&stage, &id).await;
    assert_eq!(told.queue_state(), Some(QueueState::Completed));
    let envelope = stage.host.reader().result(&id).await.unwrap().unwrap();
    assert_eq!(envelope.status, ResultStatus::Succeeded);
    checked(&stage, &envelope).await;
}

#[tokio::test]
async fn progress_and_results_go_out_as_the_batch_wishes() {
    use YieldPolicy::{AllOrdered, ProgressImmediateResultsOrdered, UnorderedStreaming};
    let ordered = BatchOrdering::PreserveTerminalOrder;
    let cases = [
        (ordered, ProgressImmediateResultsOrdered, ["1 moves", "0", "1"]),
        (ordered, AllOrdered, ["0", "1 moves", "1"]),
        (BatchOrdering::AllowUnordered, UnorderedStreaming, ["1 moves", "1", "0"]),
        (BatchOrdering::AllowUnordered, AllOrdered, ["0", "1 moves", "1"]),
    ];
    for (ordering, policy, expected) in cases {
        let go = Arc::new(Notify::new());
        let stage = slow_and_fast(&go);
        let batch = Batch { ordering, yields: Some(policy), ..slow_and_fast_batch(&stage) };
        let mut released = stage.host.runtime().batch(batch, CallOptions::default()).unwrap();
        let mut seen = Vec::new();
        let taking = async {
            while let Some(news) = released.news().await {
                seen.push(match news {
                    BatchNews::Progress { index, .. } => format!("{index} moves"),
                    BatchNews::Result { index, .. } => index.to_string(),
                });
            }
        };
        let watching = async {
            on_record(&stage, |event| matches!(event, Event::Succeeded(_))).await;
            go.notify_one();
        };
        tokio::join!(taking, watching);
        assert_eq!(seen, expected, "{policy}");
    }
}

#[tokio::test]
async fn an_order_that_contradicts_itself_is_refused() {
    let stage = Setting::default().tool("note.show", READ).open();
    let yields = Some(YieldPolicy::UnorderedStreaming);
    let batch = Batch { yields, ..Batch::new([call(&stage, "note.show", json!({}))]) };
    let stop = stage.host.runtime().batch(batch, CallOptions::default()).err().unwrap();
    assert_eq!((stop.code, stop.field.as_deref()), (Code::InputValue, Some("/yield")));
}
