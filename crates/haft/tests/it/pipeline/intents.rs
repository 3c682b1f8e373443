//! Idempotency tests: one intent, one effect, by key, by contract, and by the call itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;

use haft_driver::{Failure, Output};
use haft_ledger::{BoxFuture, IntentRecord, MemoryStore};
use haft_model::{
    Actor, Call, Code, EffectState, Envelope, Event, KeySource, ResultStatus, Role, Stop,
};
use haft_runtime::{Batch, CallOptions, ManualResolution, Patience, Receipt, StoppedClock};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::meddled::{MeddledStore, Meddler};
use crate::stage::*;

const ALLOW: &str = "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";

fn pay(haft: &str) -> Setting {
    Setting::default().tool("pay", &extras(WRITE, haft)).settings(ALLOW)
}

fn call(stage: &Stage, input: Value, key: Option<&str>) -> Call {
    let mut call = Call::new(stage.agent(), "pay", input);
    call.key = key.map(str::to_owned);
    call
}

async fn keyed(stage: &Stage, input: Value, key: &str) -> Envelope {
    stage.host.call(call(stage, input, Some(key))).await
}

fn code(envelope: &Envelope) -> Option<Code> {
    envelope.error.as_ref().map(|error| error.error_code)
}

/// §23, test 18.
#[tokio::test]
async fn test_18_key_is_bound_to_input_and_caller() {
    let stage = pay("{}").open();
    let first = keyed(&stage, json!({"amount": 5}), "k").await;
    let again = keyed(&stage, json!({"amount": 5}), "k").await;
    assert!(!first.replayed && again.replayed);
    assert_eq!(Envelope { replayed: false, ..again }, first, "one answer to both");
    let other = keyed(&stage, json!({"amount": 6}), "k").await;
    assert_eq!(
        (code(&other), other.effect_state),
        (Some(Code::Conflict), EffectState::NotSubmitted)
    );
    assert_eq!(other.error.unwrap().error_class, "invalid_arguments");
    assert_eq!(stage.canary.count(), 1);
    for (id, tenant) in [("agent:other", None), ("agent:coder", Some("elsewhere"))] {
        let tenant = tenant.map_or_else(|| stage.host.tenant(), str::to_owned);
        let actor = Actor::new(id, &tenant, [Role::Agent]);
        let mut call = Call::new(actor, "pay", json!({"amount": 6}));
        call.key = Some("k".to_owned());
        assert_eq!(stage.host.call(call).await.error, None, "{id} of {tenant} is somebody else");
    }
    assert_eq!(stage.canary.count(), 3);
    let after = stage.another(|_| {});
    let restarted = after.call(call(&stage, json!({"amount": 5}), Some("k"))).await;
    assert!(restarted.replayed);
    assert_eq!((restarted.invocation_id, stage.canary.count()), (first.invocation_id, 3));
}

/// A backend that says when it begins, and waits until it may go on.
fn gated(started: &Arc<Notify>, go: &Arc<Notify>) -> Setting {
    let (told, gate) = (started.clone(), go.clone());
    pay("{}").act("pay", move |_| {
        let (told, gate) = (told.clone(), gate.clone());
        Box::pin(async move {
            told.notify_one();
            gate.notified().await;
            Ok(Output::committed(json!({"n": 1})))
        })
    })
}

/// §23, test 18, at the same moment.
#[tokio::test]
async fn test_18_concurrent_equal_calls_share_first_result() {
    for key in [Some("k"), None] {
        let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let stage = gated(&started, &go).open();
        let runtime = stage.host.runtime();
        let send = || {
            Box::pin(runtime.call(call(&stage, json!({"amount": 5}), key), CallOptions::default()))
        };
        let mut calls: Vec<_> = (0..16).map(|_| send()).collect();
        // Each of them is in flight before the first may go on.
        for call in &mut calls {
            assert!(
                std::future::poll_fn(|context| Poll::Ready(
                    call.as_mut().poll(context).is_pending()
                ))
                .await
            );
        }
        go.notify_one();
        let mut ids = std::collections::BTreeSet::new();
        for call in calls {
            let envelope = call.await;
            assert_eq!(envelope.structured_content, Some(json!({"n": 1})));
            ids.insert(envelope.invocation_id);
        }
        assert_eq!((ids.len(), stage.canary.count()), (1, 1), "{key:?}");
    }
}

#[tokio::test]
async fn equal_calls_with_delivered_results_execute_separately() {
    let stage = pay("{}").open();
    let first = stage.call("pay", json!({"amount": 5})).await;
    let second = stage.call("pay", json!({"amount": 5})).await;
    assert_ne!(first.invocation_id, second.invocation_id);
    assert_eq!((second.replayed, stage.canary.count()), (false, 2));
    let keys: Vec<_> = [first, second].into_iter().collect();
    let [one, two] = [bound_key(&stage, &keys[0]).await, bound_key(&stage, &keys[1]).await];
    assert_ne!(one, two, "the backend has to tell them apart too");
}

async fn bound_key(stage: &Stage, envelope: &Envelope) -> (KeySource, String) {
    let facts = stage.facts(&envelope.invocation_id).await;
    let bound = facts.iter().find_map(|fact| match &fact.event {
        Event::IntentBound(intent) => Some((intent.source, intent.key.clone())),
        _ => None,
    });
    bound.unwrap()
}

#[tokio::test]
async fn undelivered_result_is_replayed_to_equal_call() {
    let stage = pay("{}").open();
    let unheard = CallOptions { receipt: Receipt::Acknowledged, ..CallOptions::default() };
    let runtime = stage.host.runtime();
    let first = runtime.call(call(&stage, json!({"amount": 5}), None), unheard.clone()).await;
    // Another process asks, the answer is handed over there, and only then it is another call.
    let other = stage.another(|_| {});
    let again = other.call(call(&stage, json!({"amount": 5}), None)).await;
    assert_eq!((again.replayed, &again.invocation_id), (true, &first.invocation_id));
    let third = other.call(call(&stage, json!({"amount": 5}), None)).await;
    assert_eq!((third.replayed, stage.canary.count()), (false, 2));
}

/// Gives a lease back only while the dedup entry of its call is being read.
#[derive(Default)]
struct LateRelease {
    armed: AtomicBool,
    entry_read: Notify,
    released: Notify,
}

impl Meddler for Arc<LateRelease> {
    fn around<'a>(&'a self, write: BoxFuture<'a, ()>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let armed = self.armed.swap(false, Ordering::SeqCst);
            if armed {
                self.entry_read.notified().await;
            }
            write.await;
            if armed {
                self.released.notify_one();
            }
        })
    }

    fn after_intent<'a>(&'a self, record: Option<&'a IntentRecord>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if record.is_some() {
                self.entry_read.notify_one();
                self.released.notified().await;
            }
        })
    }
}

#[tokio::test]
async fn delivered_result_is_not_replayed_during_racing_release() {
    let late = Arc::<LateRelease>::default();
    let store = MeddledStore::new(Arc::new(MemoryStore::new()), late.clone());
    let stage = pay("{}").store(Arc::new(store)).open();
    let first = stage.call("pay", json!({"amount": 5})).await;
    late.armed.store(true, Ordering::SeqCst);
    let second = stage.call("pay", json!({"amount": 5})).await;
    assert_ne!(first.invocation_id, second.invocation_id);
    assert_eq!((second.replayed, stage.canary.count()), (false, 2));
}

#[tokio::test]
async fn disconnected_caller_gets_result_by_calling_again() {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let stage = gated(&started, &go).open();
    {
        let vanishing = stage.host.call(call(&stage, json!({"amount": 5}), None));
        tokio::select! {
            _ = vanishing => panic!("it cannot have ended"),
            () = started.notified() => {}
        }
    }
    go.notify_one();
    let again = stage.call("pay", json!({"amount": 5})).await;
    assert_eq!((again.error, again.replayed, stage.canary.count()), (None, true, 1));
}

#[tokio::test]
async fn key_of_uncommitted_call_can_be_reused() {
    let tries = AtomicUsize::new(0);
    let stage = pay("{}").act("pay", move |_| {
        let number = tries.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            match number {
                0 => Err(Failure::new(
                    Stop::new(Code::ExecutionFailed, "declined"),
                    EffectState::NotCommitted,
                )),
                _ => Ok(Output::committed(json!({}))),
            }
        })
    });
    let stage = stage.open();
    let first = keyed(&stage, json!({"amount": 5}), "k").await;
    assert_eq!(first.effect_state, EffectState::NotCommitted);
    // Even with another input: nothing holds the key.
    let second = keyed(&stage, json!({"amount": 6}), "k").await;
    assert_eq!((second.error.clone(), second.replayed), (None, false));
    let third = keyed(&stage, json!({"amount": 5}), "k").await;
    assert_eq!((code(&third), stage.canary.count()), (Some(Code::Conflict), 2));
}

#[tokio::test]
async fn idempotency_key_expires_after_ttl_but_not_while_open() {
    let clock = Arc::new(StoppedClock::at("2026-01-01T00:00:00Z".parse().unwrap()));
    let stage = pay("{ idempotency: { ttl: PT1H } }")
        .settings("[[rule]]\ntool = \"*\"\nverdict = \"ask\"\n")
        .clock(clock.clone())
        .open();
    let leave = || CallOptions { patience: Patience::Leave, ..CallOptions::default() };
    let send = async || {
        stage.host.runtime().call(call(&stage, json!({"amount": 5}), Some("k")), leave()).await
    };
    let pending = send().await;
    clock.set("2026-01-01T02:00:00Z".parse().unwrap());
    let still = send().await;
    assert_eq!((still.status, &still.approval_id), (ResultStatus::Pending, &pending.approval_id));
    stage.answer(&pending.approval_id.unwrap(), stage.yes()).await;
    assert_eq!(stage.canary.count(), 1);
    clock.set("2026-01-01T02:59:00Z".parse().unwrap());
    assert!(send().await.replayed, "its hour begins with its end");
    clock.set("2026-01-01T03:00:00Z".parse().unwrap());
    let late = send().await;
    assert_eq!(late.status, ResultStatus::Pending, "its hour is over, so it is another call");
    assert_ne!(late.approval_id, still.approval_id);
}

#[tokio::test]
async fn contract_derives_idempotency_key_from_input() {
    let stage = pay("{ idempotency: { mode: required, key: \"${input.order}\" } }").open();
    let first = stage.call("pay", json!({"order": "o-1", "amount": 5})).await;
    assert_eq!(bound_key(&stage, &first).await.0, KeySource::Contract);
    let again = stage.call("pay", json!({"order": "o-1", "amount": 5})).await;
    assert_eq!(
        (again.replayed, stage.canary.count()),
        (true, 1),
        "answered or not, it is the same"
    );
    let other = stage.call("pay", json!({"order": "o-1", "amount": 6})).await;
    assert_eq!(code(&other), Some(Code::Conflict));
    let nameless = stage.call("pay", json!({"amount": 6})).await;
    assert_eq!(code(&nameless), Some(Code::InputValue), "{:?}", nameless.error);
    assert_eq!(stage.canary.count(), 1);
}

#[tokio::test]
async fn contract_requiring_key_refuses_keyless_call() {
    let stage = pay("{ idempotency: { mode: required } }").open();
    let keyless = stage.call("pay", json!({"amount": 5})).await;
    let error = keyless.error.unwrap();
    assert_eq!((error.error_code, stage.canary.count()), (Code::InputValue, 0));
    assert!(error.message.contains("without an idempotency key"), "{}", error.message);
    assert!(error.help.unwrap().contains("--key"));
    assert_eq!(keyed(&stage, json!({"amount": 5}), "k").await.error, None);
}

#[tokio::test]
async fn naturally_idempotent_contract_executes_every_call() {
    let stage = pay("{ idempotency: { mode: natural } }").open();
    let unheard = CallOptions { receipt: Receipt::Acknowledged, ..CallOptions::default() };
    for _ in 0..2 {
        let call = call(&stage, json!({"amount": 5}), None);
        stage.host.runtime().call(call, unheard.clone()).await;
    }
    assert_eq!(stage.canary.count(), 2);
}

#[tokio::test]
async fn equal_batch_calls_deduplicate_only_with_same_key() {
    let stage = pay("{}").open();
    let three = || (0..3).map(|_| call(&stage, json!({"amount": 5}), None));
    let first = stage.host.runtime().batch_all(Batch::new(three()), CallOptions::default());
    assert!(first.await.unwrap().iter().all(|envelope| !envelope.is_error));
    assert_eq!(stage.canary.count(), 3);
    let same_key = (0..3).map(|_| call(&stage, json!({"amount": 5}), Some("k")));
    let second = stage.host.runtime().batch_all(Batch::new(same_key), CallOptions::default());
    let second = second.await.unwrap();
    assert_eq!(second.iter().filter(|envelope| envelope.replayed).count(), 2);
    assert_eq!(stage.canary.count(), 4);
}

/// A backend that loses its answer once, and knows afterwards what became of the call.
fn forgetful(state: &str) -> Setting {
    let status = "{ status: { tool: look, input: { key: \"${idempotency.key}\" }, \
        committed: \"output.state == 'done'\", absent: \"output.state == 'none'\", \
        output: { id: \"${output.id}\" } } }";
    let lost = AtomicUsize::new(0);
    let answer = json!({"state": state, "id": "ch-1"});
    let asked = AtomicUsize::new(0);
    pay(status)
        .tool("look", READ)
        .act("pay", move |_| {
            let number = lost.fetch_add(1, Ordering::SeqCst);
            Box::pin(async move {
                match number {
                    0 => Err(Failure::new(
                        Stop::new(Code::TimeoutUnknownCommit, "no answer"),
                        EffectState::Unknown,
                    )),
                    _ => Ok(Output::committed(json!({"id": "ch-2"}))),
                }
            })
        })
        .act("look", move |_| {
            // At first the backend is gone altogether.
            let first = asked.fetch_add(1, Ordering::SeqCst) == 0;
            let answer = answer.clone();
            Box::pin(async move {
                match first {
                    true => Err(Failure::new(
                        Stop::new(Code::DependencyUnavailable, "gone"),
                        EffectState::None,
                    )),
                    false => Ok(Output::read(answer)),
                }
            })
        })
}

#[tokio::test]
async fn repeat_of_unknown_call_looks_up_status_first() {
    for (state, id, charges) in [("done", "ch-1", 1), ("none", "ch-2", 2)] {
        for key in [Some("k"), None] {
            let clock = Arc::new(StoppedClock::at("2026-01-01T00:00:00Z".parse().unwrap()));
            let stage = forgetful(state).clock(clock.clone()).open();
            let paid =
                |stage: &Stage| stage.canary.tools().iter().filter(|tool| *tool == "pay").count();
            let first = stage.host.call(call(&stage, json!({"amount": 5}), key)).await;
            assert_eq!(first.effect_state, EffectState::Unknown);
            clock.set("2026-01-01T00:02:00Z".parse().unwrap());
            let again = stage.host.call(call(&stage, json!({"amount": 5}), key)).await;
            assert_eq!(again.structured_content, Some(json!({"id": id})), "{:?}", again.error);
            assert_eq!((again.effect_state, paid(&stage)), (EffectState::Committed, charges));
            let settled = match state {
                "done" => EffectState::Committed,
                _ => EffectState::NotCommitted,
            };
            let runs = stage.store.runs(&Default::default()).await.unwrap();
            let run = runs.iter().find(|run| run.invocation_id == first.invocation_id).unwrap();
            assert_eq!(run.effect_state, settled);
        }
    }
}

#[tokio::test]
async fn call_with_unknown_effect_is_not_executed_again() {
    let clock = Arc::new(StoppedClock::at("2026-01-01T00:00:00Z".parse().unwrap()));
    let stage = pay("{}").clock(clock.clone()).act("pay", |_| {
        Box::pin(async {
            let stop = Stop::new(Code::TimeoutUnknownCommit, "no answer");
            Err(Failure::new(stop, EffectState::Unknown))
        })
    });
    let stage = stage.open();
    let first = stage.call("pay", json!({"amount": 5})).await;
    let again = stage.call("pay", json!({"amount": 5})).await;
    assert_eq!((again.effect_state, again.replayed), (EffectState::Unknown, true));
    assert_eq!(stage.canary.count(), 1);
    let runtime = stage.host.runtime();
    clock.set("2026-01-01T00:02:00Z".parse().unwrap());
    runtime
        .settle(&first.invocation_id, ManualResolution::Absent, &stage.owner(), "I looked")
        .await
        .unwrap();
    let third = stage.call("pay", json!({"amount": 5})).await;
    assert_eq!((third.replayed, stage.canary.count()), (false, 2));
}

#[tokio::test]
async fn effect_settled_as_committed_is_reported_to_repeat_call() {
    let stage = pay("{}").act("pay", |_| {
        Box::pin(async {
            let stop = Stop::new(Code::TimeoutUnknownCommit, "no answer");
            Err(Failure::new(stop, EffectState::Unknown))
        })
    });
    let stage = stage.open();
    let first = keyed(&stage, json!({"amount": 5}), "k").await;
    let runtime = stage.host.runtime();
    let id = &first.invocation_id;
    runtime.settle(id, ManualResolution::Committed, &stage.owner(), "I looked").await.unwrap();
    let again = keyed(&stage, json!({"amount": 5}), "k").await;
    assert_eq!((again.effect_state, stage.canary.count()), (EffectState::Committed, 1));
    let error = again.error.unwrap();
    assert_eq!((error.error_code, error.retry.safe), (Code::OutputInvalid, false));
    assert!(error.message.contains("took effect"), "{}", error.message);
}

#[tokio::test]
async fn same_key_in_two_processes_executes_once() {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let stage = gated(&started, &go).open();
    let other = stage.another(|_| {});
    let first = stage.host.call(call(&stage, json!({"amount": 5}), Some("k")));
    let second = async {
        started.notified().await;
        let second = other.call(call(&stage, json!({"amount": 5}), Some("k")));
        let (second, ()) = tokio::join!(second, async { go.notify_one() });
        second
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!((first.replayed, second.replayed, stage.canary.count()), (false, true, 1));
    assert_eq!(first.invocation_id, second.invocation_id);
}

/// Both processes look before either has written: the ledger lets one of them begin.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ledger_lets_one_of_two_racing_processes_execute() {
    for _ in 0..20 {
        let stage = Arc::new(pay("{}").open());
        let other = Arc::new(stage.another(|_| {}));
        let calls: Vec<_> = [0, 1]
            .into_iter()
            .map(|which| {
                let (stage, other) = (stage.clone(), other.clone());
                tokio::spawn(async move {
                    let call = call(&stage, json!({"amount": 5}), Some("k"));
                    if which == 0 { stage.host.call(call).await } else { other.call(call).await }
                })
            })
            .collect();
        for call in calls {
            assert_eq!(call.await.unwrap().error, None);
        }
        assert_eq!(stage.canary.count(), 1);
    }
}
