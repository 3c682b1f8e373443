//! Batch tests: which calls overlap, in which order they are answered, and which fail together.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_driver::{Failure, Output};
use haft_model::{
    AbortReason, BatchOrdering, Call, CancelFact, Code, EffectState, Envelope, Event, Fact,
    OnFailure, Progress, ResultStatus, Status, Stop,
};
use haft_runtime::{Batch, BatchCall, CallOptions, Patience, Reader};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::stage::{READ, Setting, Stage, WRITE, extras};
use crate::story::checked;

pub(crate) const ALLOW: &str = "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";

pub(crate) fn call(stage: &Stage, tool: &str, input: Value) -> BatchCall {
    BatchCall::from(Call::new(stage.agent(), tool, input))
}

pub(crate) fn after(call: BatchCall, names: &[&str]) -> BatchCall {
    BatchCall { depends_on: names.iter().map(|name| (*name).to_owned()).collect(), ..call }
}

async fn released(stage: &Stage, batch: Batch) -> Vec<(usize, Envelope)> {
    let mut released = stage.host.runtime().batch(batch, CallOptions::default()).unwrap();
    let mut all = Vec::new();
    let work = async {
        while let Some(one) = released.next().await {
            all.push(one);
        }
    };
    tokio::time::timeout(Duration::from_secs(20), work).await.expect("the batch hangs");
    all
}

fn place(facts: &[Fact]) -> Option<(u64, usize)> {
    facts.iter().find_map(|fact| match &fact.event {
        Event::Planned(planned) => {
            planned.batch.as_ref().map(|batch| (batch.index, batch.depends_on.len()))
        }
        _ => None,
    })
}

fn is_safe(facts: &[Fact]) -> Option<bool> {
    facts.iter().find_map(|fact| match &fact.event {
        Event::Queued(queued) => Some(queued.is_concurrency_safe),
        _ => None,
    })
}

/// Waits until the log tells of progress on one of the calls.
async fn progress_on_record(stage: &Stage) {
    let mut subscription = stage.host.subscribe(None);
    loop {
        let entry = subscription.next(Duration::from_secs(5)).await.unwrap().unwrap();
        let facts = Reader::facts(&entry).unwrap();
        if facts.iter().any(|fact| matches!(fact.event, Event::Progressed(_))) {
            return;
        }
    }
}

#[tokio::test]
async fn concurrency_by_input_order_by_request() {
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let go = Arc::new(Notify::new());
    let (noted, gate) = (log.clone(), go.clone());
    let stage = Setting::default()
        .tool("shell.run", &extras(WRITE, "{ concurrency: { safe: 'input.verb == \"cat\"' } }"))
        .settings(ALLOW)
        .act("shell.run", move |attempt| {
            let (log, go) = (noted.clone(), gate.clone());
            Box::pin(async move {
                let file = attempt.input["file"].as_str().unwrap_or_default().to_owned();
                log.lock().unwrap().push(format!("{file} begins"));
                match file.as_str() {
                    // It is slow: it ends only after the progress of the other was seen.
                    "a" => go.notified().await,
                    "b" => attempt.link.progress(Progress::default()).await,
                    _ => {}
                }
                log.lock().unwrap().push(format!("{file} ends"));
                Ok(Output::committed(json!({ "file": file })))
            })
        })
        .open();
    let asked = [("cat", "a"), ("cat", "b"), ("rm", "c"), ("cat", "d")];
    let batch = Batch::new(
        asked.map(|(verb, file)| call(&stage, "shell.run", json!({"verb": verb, "file": file}))),
    );
    let watching = async {
        progress_on_record(&stage).await;
        go.notify_one();
    };
    let (results, ()) = tokio::join!(released(&stage, batch), watching);
    let files = results.iter().map(|(index, envelope)| {
        (*index, envelope.structured_content.as_ref().unwrap()["file"].as_str().unwrap())
    });
    assert_eq!(files.collect::<Vec<_>>(), [(0, "a"), (1, "b"), (2, "c"), (3, "d")]);
    assert_eq!(
        *log.lock().unwrap(),
        ["a begins", "b begins", "b ends", "a ends", "c begins", "c ends", "d begins", "d ends"]
    );
    let mut safe = Vec::new();
    for (index, envelope) in &results {
        let facts = checked(&stage, envelope).await;
        assert_eq!(place(&facts), Some((*index as u64, 0)));
        safe.push(is_safe(&facts).unwrap());
    }
    assert_eq!(safe, [true, true, false, true]);
}

/// Two reads at the beginning, of which the second fails once the first one runs; then one that
/// needs the second, and one that needs the first.
fn family() -> (Setting, Arc<Notify>) {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell, wait) = (started.clone(), go.clone());
    let safe = "{ interrupt: cancel, concurrency: { safe: true } }";
    let setting = Setting::default()
        .tool("note.slow", &extras(READ, safe))
        .tool("note.fail", &extras(READ, safe))
        .tool("note.show", &extras(READ, safe))
        .settings(ALLOW)
        .act("note.slow", move |attempt| {
            let (started, go) = (tell.clone(), wait.clone());
            Box::pin(async move {
                started.notify_one();
                tokio::select! {
                    () = go.notified() => Ok(Output::read(json!({}))),
                    () = attempt.cancel.cancelled() => {
                        let stop = Stop::new(Code::CanceledCaller, "it was called off");
                        Err(Failure::new(stop, EffectState::None))
                    }
                }
            })
        })
        .act("note.fail", move |_| {
            let started = started.clone();
            Box::pin(async move {
                started.notified().await;
                let stop = Stop::new(Code::ExecutionFailed, "it failed");
                Err(Failure::new(stop, EffectState::None))
            })
        });
    (setting, go)
}

fn family_batch(stage: &Stage, on_failure: Option<OnFailure>) -> Batch {
    let fail = BatchCall { id: Some("bad".into()), ..call(stage, "note.fail", json!({})) };
    let calls = vec![
        call(stage, "note.slow", json!({})),
        fail,
        after(call(stage, "note.show", json!({})), &["bad"]),
        after(call(stage, "note.show", json!({})), &["0"]),
    ];
    Batch { on_failure, ..Batch::new(calls) }
}

#[tokio::test]
async fn sibling_failure() {
    use ResultStatus::{Failed, Succeeded, SyntheticError};
    let cases = [
        (Some(OnFailure::Ignore), [Succeeded, Failed, Succeeded, Succeeded]),
        (Some(OnFailure::CancelSiblings), [SyntheticError, Failed, SyntheticError, SyntheticError]),
        (Some(OnFailure::CancelDependent), [Succeeded, Failed, SyntheticError, Succeeded]),
        // All are reads, so nothing happens to the others unless said.
        (None, [Succeeded, Failed, Succeeded, Succeeded]),
    ];
    for (policy, expected) in cases {
        let (setting, go) = family();
        let stage = setting.open();
        if policy != Some(OnFailure::CancelSiblings) {
            go.notify_one();
        }
        let results = released(&stage, family_batch(&stage, policy)).await;
        let statuses: Vec<_> = results.iter().map(|(_, envelope)| envelope.status).collect();
        assert_eq!(statuses, expected, "{policy:?}");
        for (index, envelope) in &results {
            let facts = checked(&stage, envelope).await;
            assert_eq!(place(&facts), Some((*index as u64, usize::from(*index > 1))));
            let error = envelope.error.as_ref();
            let taken = envelope.status == SyntheticError;
            assert_eq!(envelope.abort_reason, taken.then_some(AbortReason::SiblingError));
            if taken {
                let error = error.unwrap();
                assert_eq!(
                    (error.error_code, error.error_class.as_str(), error.retry.sibling_caused),
                    (Code::CanceledSibling, "sibling_canceled", true)
                );
                assert!(error.message.contains("`bad`"), "{}", error.message);
                assert_eq!(envelope.final_status, Status::Canceled);
            }
        }
    }
}

#[tokio::test]
async fn running_sibling_is_cancelled_and_record_names_sibling_error() {
    let (setting, _go) = family();
    let stage = setting.open();
    let batch = family_batch(&stage, Some(OnFailure::CancelSiblings));
    let results = released(&stage, batch).await;
    let facts = checked(&stage, &results[0].1).await;
    let notes = facts.iter().filter_map(|fact| match &fact.event {
        Event::Progressed(reported) => reported.cancel.clone(),
        _ => None,
    });
    let notes: Vec<_> = notes.map(|note| (note.fact, note.reason)).collect();
    let sibling = AbortReason::SiblingError;
    assert_eq!(notes, [(CancelFact::Requested, sibling), (CancelFact::Canceled, sibling)]);
    assert_eq!(stage.canary.count(), 2);
}

#[tokio::test]
async fn failed_write_skips_its_dependents_in_batch() {
    let stage = Setting::default()
        .tool("note.fail", WRITE)
        .tool("note.write", WRITE)
        .settings(ALLOW)
        .act("note.fail", |_| {
            Box::pin(async {
                let stop = Stop::new(Code::ExecutionFailed, "it failed");
                Err(Failure::new(stop, EffectState::NotCommitted))
            })
        })
        .open();
    let batch = Batch::new([
        call(&stage, "note.fail", json!({})),
        after(call(&stage, "note.write", json!({"n": 1})), &["0"]),
        after(call(&stage, "note.write", json!({"n": 2})), &["1"]),
        call(&stage, "note.write", json!({"n": 3})),
    ]);
    let results = stage.host.runtime().batch_all(batch, CallOptions::default()).await.unwrap();
    let ends: Vec<_> =
        results.iter().map(|envelope| (envelope.status, envelope.effect_state)).collect();
    assert_eq!(
        ends,
        [
            (ResultStatus::Failed, EffectState::NotCommitted),
            (ResultStatus::SyntheticError, EffectState::NotSubmitted),
            (ResultStatus::SyntheticError, EffectState::NotSubmitted),
            (ResultStatus::Succeeded, EffectState::Committed),
        ]
    );
    assert_eq!(stage.canary.inputs(), [json!({}), json!({"n": 3})]);
}

#[tokio::test]
async fn unordered_batch_yields_by_completion_and_serial_by_index() {
    for (ordering, expected) in [
        (BatchOrdering::AllowUnordered, vec![1, 0]),
        (BatchOrdering::Serial, vec![0, 1]),
        (BatchOrdering::PreserveTerminalOrder, vec![0, 1]),
    ] {
        let done = Arc::new(Notify::new());
        let stage = Setting::default()
            .tool("note.show", &extras(READ, "{ concurrency: { safe: true } }"))
            .act("note.show", move |attempt| {
                let done = done.clone();
                Box::pin(async move {
                    match attempt.input["waits"].as_bool() {
                        Some(true) => done.notified().await,
                        _ => done.notify_one(),
                    }
                    Ok(Output::read(json!({})))
                })
            })
            .open();
        // One by one, the first would wait for the second in vain.
        let waits = ordering != BatchOrdering::Serial;
        let calls = [json!({ "waits": waits }), json!({})];
        let batch = Batch::new(calls.map(|input| call(&stage, "note.show", input)));
        let results = released(&stage, Batch { ordering, ..batch }).await;
        let order: Vec<usize> = results.iter().map(|(index, _)| *index).collect();
        assert_eq!(order, expected, "{ordering:?}");
        assert!(results.iter().all(|(_, envelope)| !envelope.is_error));
    }
}

#[tokio::test]
async fn invalid_batch_is_refused_before_anything_is_recorded() {
    let stage = Setting::default().tool("note.show", READ).open();
    for names in [["nobody"], ["0"]] {
        let batch = Batch::new([after(call(&stage, "note.show", json!({})), &names)]);
        let refused = stage.host.runtime().batch(batch, CallOptions::default());
        assert_eq!(refused.err().map(|stop| stop.code), Some(Code::InputValue));
    }
    assert_eq!(stage.store.runs(&Default::default()).await.unwrap(), []);
}

#[tokio::test]
async fn dependents_of_call_pending_approval_are_skipped() {
    let stage = Setting::default()
        .tool("note.write", WRITE)
        .tool("note.show", READ)
        .settings("[[rule]]\ntool = \"note.write\"\nverdict = \"ask\"\n")
        .open();
    let batch = Batch::new([
        call(&stage, "note.write", json!({})),
        after(call(&stage, "note.show", json!({})), &["0"]),
        call(&stage, "note.show", json!({})),
    ]);
    let manner = CallOptions { patience: Patience::Leave, ..CallOptions::default() };
    let results = stage.host.runtime().batch_all(batch, manner).await.unwrap();
    let statuses: Vec<_> = results.iter().map(|envelope| envelope.status).collect();
    use ResultStatus::{Pending, Succeeded, SyntheticError};
    assert_eq!(statuses, [Pending, SyntheticError, Succeeded]);
}

#[tokio::test]
async fn caller_cancellation_cancels_every_call_of_batch() {
    let (setting, _go) = family();
    let stage = setting.open();
    let cancel = haft_driver::Cancel::new();
    cancel.cancel();
    let manner = CallOptions { cancel, ..CallOptions::default() };
    let batch = family_batch(&stage, Some(OnFailure::CancelSiblings));
    let results = stage.host.runtime().batch_all(batch, manner).await.unwrap();
    let codes: Vec<_> = results
        .iter()
        .map(|envelope| envelope.error.as_ref().map(|error| error.error_code))
        .collect();
    assert_eq!(codes, [Some(Code::CanceledCaller); 4]);
    assert_eq!(stage.canary.count(), 0);
}

#[tokio::test]
async fn call_record_names_its_batch_and_dependencies() {
    let stage = Setting::default().tool("note.show", READ).open();
    let batch = Batch::new([
        call(&stage, "note.show", json!({})),
        after(call(&stage, "note.show", json!({})), &["0"]),
    ]);
    let results = stage.host.runtime().batch_all(batch, CallOptions::default()).await.unwrap();
    let mut places = Vec::new();
    let named = |record: &Value| {
        let scheduler = record.get("scheduler")?;
        let names = ["batch_id", "batch_index", "depends_on"];
        Some(Value::from_iter(names.map(|name| (name, scheduler[name].clone()))))
    };
    for envelope in &results {
        stage.host.flush().await.unwrap();
        let entries = stage.host.reader().story(&envelope.invocation_id).await.unwrap();
        let records = haft_ledger::Story::fold(&entries).unwrap().records();
        let found = records.iter().find_map(|(_, record)| named(record));
        places.push(found.unwrap());
    }
    let batch = places[0]["batch_id"].clone();
    assert!(batch.as_str().unwrap().starts_with("bat_"));
    let first = &results[0].invocation_id;
    assert_eq!(
        places,
        [
            json!({"batch_id": batch, "batch_index": 0, "depends_on": []}),
            json!({"batch_id": batch, "batch_index": 1, "depends_on": [first]}),
        ]
    );
}

#[tokio::test]
async fn safe_calls_share_the_locks_that_their_contract_names() {
    let both = Arc::new(tokio::sync::Barrier::new(2));
    let locks = "{ concurrency: { safe: true, locks: [\"file:${input.path}\"] } }";
    let stage = Setting::default()
        .tool("note.show", &extras(READ, locks))
        .act("note.show", move |_| {
            let both = both.clone();
            Box::pin(async move {
                // Neither goes on before both are here.
                both.wait().await;
                Ok(Output::read(json!({})))
            })
        })
        .open();
    let paths = ["a", "a/b"];
    let batch = Batch::new(paths.map(|path| call(&stage, "note.show", json!({ "path": path }))));
    let mut named = Vec::new();
    for (_, envelope) in released(&stage, batch).await {
        assert_eq!(envelope.error, None);
        for fact in checked(&stage, &envelope).await {
            if let Event::Queued(queued) = fact.event {
                named.extend(queued.locks);
            }
        }
    }
    assert_eq!(named, ["file:a", "file:a/b"]);
}
