//! Lost leases: calls that another process carried on, and attempts with an unknown outcome; every
//! caller is told the truth.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use haft::Host;
use haft_driver::{Failure, Output};
use haft_ledger::{BoxFuture, Draft, Error, Guard, MemoryStore, Receipt, RunFilter, Store, Wait};
use haft_model::{Call, Code, EffectState, Stop};
use haft_runtime::{Batch, BatchCall, CallOptions, StoppedClock, Unsent};
use serde_json::json;
use tokio::sync::Notify;

use crate::meddled::{MeddledStore, Meddler};
use crate::stage::*;

const ALLOW: &str = "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";
const RETRY: &str = "retry: { max_attempts: 2, backoff: fixed, initial_ms: 1 }\n";

fn failure(code: Code, effect: EffectState) -> Result<Output, Failure> {
    Err(Failure::new(Stop::new(code, "it failed"), effect))
}

/// A payment that loses its answer at first, and cannot be sent after that.
fn lost_then_unsent(retry: &str) -> Setting {
    let made = AtomicUsize::new(0);
    Setting::default()
        .tool("pay", &extras(&format!("{WRITE}{retry}"), "{ idempotency: { mode: natural } }"))
        .settings(ALLOW)
        .reporting_act("pay", move |attempt| {
            let first = made.fetch_add(1, Ordering::SeqCst) == 0;
            Box::pin(async move {
                if !first {
                    return failure(Code::DependencyUnavailable, EffectState::NotSubmitted);
                }
                attempt.link.submit().await?;
                failure(Code::TimeoutUnknownCommit, EffectState::Unknown)
            })
        })
}

#[tokio::test]
async fn unknown_effect_survives_next_unsent_attempt() {
    let stage = lost_then_unsent(RETRY).open();
    let envelope = stage.call("pay", json!({})).await;
    assert_eq!((envelope.effect_state, stage.canary.count()), (EffectState::Unknown, 2));
    let story = crate::story::checked(&stage, &envelope).await;
    assert!(!story.is_empty());
}

#[tokio::test]
async fn unknown_effect_prevents_fallback_to_another_driver() {
    let stage = lost_then_unsent(RETRY).spare().open();
    let envelope = stage.call("pay", json!({})).await;
    assert_eq!((envelope.effect_state, stage.canary.count()), (EffectState::Unknown, 2));
}

#[tokio::test]
async fn unknown_effect_survives_takeover_by_recovery() {
    let clock = Arc::new(StoppedClock::at("2026-01-01T00:00:00Z".parse().unwrap()));
    let stage =
        lost_then_unsent("retry: { max_attempts: 3, backoff: exponential, initial_ms: 50 }\n");
    let stage = stage.clock(clock.clone()).open();
    let call = Call::new(stage.agent(), "pay", json!({}));
    {
        let mut calling = Box::pin(stage.host.runtime().call(call, CallOptions::default()));
        while stage.canary.count() < 2 {
            assert!(is_pending(&mut calling).await);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(is_pending(&mut calling).await, "it waits for its third attempt");
    }
    clock.set("2026-01-01T00:01:00Z".parse().unwrap());
    let other = stage.another(|options| options.unsent = Unsent::Run);
    let found = other.runtime().recover().await.unwrap();
    let effects: Vec<_> = found.iter().map(|envelope| envelope.effect_state).collect();
    assert_eq!((effects, stage.canary.count()), (vec![EffectState::Unknown], 2));
}

/// Polls a call once.
async fn is_pending(call: &mut (impl Future + Unpin)) -> bool {
    let mut call = std::pin::Pin::new(call);
    std::future::poll_fn(|context| Poll::Ready(call.as_mut().poll(context).is_pending())).await
}

/// The question that a call waits for, while no process drives it.
async fn asked(stage: &Stage, call: &mut (impl Future + Unpin)) -> haft_model::QuestionId {
    loop {
        assert!(is_pending(call).await);
        let open = haft_ledger::QuestionFilter { open: true, ..Default::default() };
        match stage.store.questions(&open).await.unwrap().pop() {
            Some(record) => return record.question.id,
            None => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn superseded_process_reports_unknown_effect_not_unsent() {
    let clock = Arc::new(StoppedClock::at("2026-01-01T00:00:00Z".parse().unwrap()));
    let ask = "[[rule]]\ntool = \"*\"\nverdict = \"ask\"\n";
    for cancels in [false, true] {
        let stage = Setting::default().tool("pay", WRITE).settings(ask).clock(clock.clone()).open();
        let call = Call::new(stage.agent(), "pay", json!({}));
        let manner = CallOptions::default();
        let cancel = manner.cancel.clone();
        let mut slow = Box::pin(stage.host.runtime().call(call, manner));
        let question = asked(&stage, &mut slow).await;
        let later = clock_later(&clock);
        clock.set(later);
        let other = stage.another(|_| {});
        let taken = other.runtime().answer_and_run(&question, stage.yes()).await.unwrap();
        assert!(matches!(taken, haft_runtime::AnswerOutcome::CarriedOut(_)), "{taken:?}");
        if cancels {
            cancel.cancel();
        }
        let told = slow.await;
        assert_eq!((told.effect_state, stage.canary.count()), (EffectState::Unknown, 1));
        assert!(!told.error.unwrap().retry.safe);
        // A repeat gets the stored answer.
        let again = other.call(Call::new(stage.agent(), "pay", json!({}))).await;
        assert_eq!((again.effect_state, again.replayed), (EffectState::Committed, true));
    }
}

fn clock_later(clock: &StoppedClock) -> haft_model::Timestamp {
    use haft_runtime::Clock;
    clock.now().checked_add(haft_model::Span::new().minutes(1)).unwrap()
}

#[tokio::test]
async fn superseded_process_does_not_release_compensation_claim() {
    let clock = Arc::new(StoppedClock::at("2026-01-01T00:00:00Z".parse().unwrap()));
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, gate) = (started.clone(), go.clone());
    let stage = Setting::default()
        .tool("pay", &extras(WRITE, "{ compensation: { tool: refund, input: {} } }"))
        .tool("refund", WRITE)
        .settings("[[rule]]\ntool = \"refund\"\nverdict = \"ask\"\n")
        .settings(ALLOW)
        .clock(clock.clone())
        .act("refund", move |_| {
            let (told, gate) = (told.clone(), gate.clone());
            Box::pin(async move {
                told.notify_one();
                gate.notified().await;
                Ok(Output::committed(json!({})))
            })
        })
        .open();
    let paid = stage.call("pay", json!({})).await.invocation_id;
    let (runtime, owner) = (stage.host.runtime(), stage.owner());
    let mut slow = Box::pin(runtime.compensate(&paid, &owner, CallOptions::default()));
    let question = asked(&stage, &mut slow).await;
    clock.set(clock_later(&clock));
    let other = stage.another(|_| {});
    let mut taken = Box::pin(other.runtime().answer_and_run(&question, stage.yes()));
    tokio::select! {
        _ = &mut taken => panic!("it cannot have ended"),
        () = started.notified() => {}
    }
    let told = slow.await.unwrap();
    assert_eq!(told.effect_state, EffectState::Unknown);
    let refused = runtime.compensate(&paid, &owner, CallOptions::default()).await.unwrap_err();
    assert!(refused.message.contains("is being undone"), "{}", refused.message);
    go.notify_one();
    taken.await.unwrap();
    assert_eq!(stage.canary.tools(), ["pay", "refund"]);
}

/// A payment that says when it begins, and waits until it may go on.
fn gated(started: &Arc<Notify>, go: &Arc<Notify>) -> Setting {
    let (told, gate) = (started.clone(), go.clone());
    Setting::default().tool("pay", WRITE).settings(ALLOW).act("pay", move |_| {
        let (told, gate) = (told.clone(), gate.clone());
        Box::pin(async move {
            told.notify_one();
            gate.notified().await;
            Ok(Output::committed(json!({})))
        })
    })
}

#[tokio::test]
async fn waiter_gets_first_result_after_next_call_began() {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let stage = gated(&started, &go).open();
    let other = stage.another(|options| options.look = Duration::from_millis(500));
    let call = || Call::new(stage.agent(), "pay", json!({}));
    let mut first = Box::pin(stage.host.call(call()));
    assert!(is_pending(&mut first).await);
    started.notified().await;
    let mut waiting = Box::pin(other.runtime().call(call(), CallOptions::default()));
    assert!(is_pending(&mut waiting).await);
    go.notify_one();
    let first = first.await;
    let mut second = Box::pin(stage.host.call(call()));
    assert!(is_pending(&mut second).await);
    started.notified().await;
    let waited = waiting.await;
    assert_eq!((waited.error, waited.replayed), (None, true));
    assert_eq!((waited.invocation_id, stage.canary.count()), (first.invocation_id, 2));
    go.notify_one();
    second.await;
}

/// Lets another process make a call right before the first that depends on who was first.
#[derive(Default)]
struct Faster(Mutex<Option<(Arc<Host>, Call)>>);

impl Meddler for Arc<Faster> {
    fn append<'a>(
        &'a self,
        store: &'a dyn Store,
        draft: Draft,
        wait: Wait,
    ) -> BoxFuture<'a, Result<Receipt, Error>> {
        Box::pin(async move {
            let bound = draft.guards.iter().any(|guard| matches!(guard, Guard::Intent { .. }));
            let faster = if bound { self.0.lock().unwrap().take() } else { None };
            if let Some((host, call)) = faster {
                assert_eq!(host.call(call).await.error, None);
            }
            store.append(draft, wait).await
        })
    }
}

#[tokio::test]
async fn batch_call_losing_idempotency_race_replays_winning_result() {
    for key in [Some("k".to_owned()), None] {
        let faster = Arc::<Faster>::default();
        let store: Arc<dyn Store> =
            Arc::new(MeddledStore::new(Arc::new(MemoryStore::new()), faster.clone()));
        let looked_at = store.clone();
        let stage = Setting::default()
            .tool("pay", WRITE)
            .tool("slow", READ)
            .settings(ALLOW)
            .act("slow", move |_| {
                let store = looked_at.clone();
                Box::pin(async move {
                    let shown = RunFilter { tool: Some("pay".into()), ..Default::default() };
                    while store.runs(&shown).await.unwrap().is_empty() {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    Ok(Output::read(json!({})))
                })
            })
            .store(store)
            .open();
        let mut pay = Call::new(stage.agent(), "pay", json!({}));
        pay.key = key;
        *faster.0.lock().unwrap() = Some((Arc::new(stage.another(|_| {})), pay.clone()));
        let mut second = BatchCall::from(pay);
        second.depends_on = vec!["0".to_owned()];
        let first = BatchCall::from(Call::new(stage.agent(), "slow", json!({})));
        let batch = Batch::new([first, second]);
        let results = stage.host.runtime().batch_all(batch, CallOptions::default()).await.unwrap();
        let paid = &results[1];
        assert_eq!((&paid.error, paid.effect_state), (&None, EffectState::Committed));
        assert!(paid.replayed);
        assert_eq!(stage.canary.tools().iter().filter(|tool| *tool == "pay").count(), 1);
        let open = RunFilter { open: true, ..Default::default() };
        assert_eq!(stage.store.runs(&open).await.unwrap(), [], "nobody would ever end it");
    }
}

#[tokio::test]
async fn abandoned_call_is_recoverable_while_its_process_is_busy() {
    let stage = Setting::default()
        .tool("pay", WRITE)
        .settings(ALLOW)
        .options(|options| options.lease = Duration::from_millis(450))
        .reporting_act("pay", |_| Box::pin(std::future::pending()))
        .open();
    let runtime = stage.host.runtime();
    let call = |n: u32| Call::new(stage.agent(), "pay", json!({"n": n}));
    {
        let mut gone = Box::pin(runtime.call(call(1), CallOptions::default()));
        while stage.canary.count() < 1 {
            assert!(is_pending(&mut gone).await);
            tokio::task::yield_now().await;
        }
    }
    let other = stage.another(|_| {});
    let busy = runtime.call(call(2), CallOptions::default());
    let again = tokio::select! {
        again = other.call(call(1)) => again,
        _ = busy => panic!("it hangs"),
        () = tokio::time::sleep(Duration::from_secs(10)) => panic!("nobody can take it up"),
    };
    assert_eq!((again.effect_state, again.replayed), (EffectState::NotSubmitted, true));
}

#[tokio::test]
async fn result_after_hour_long_approval_is_replayed() {
    let clock = Arc::new(StoppedClock::at("2026-01-01T00:00:00Z".parse().unwrap()));
    let ask = "[[rule]]\ntool = \"*\"\nverdict = \"ask\"\n";
    let stage = Setting::default().tool("pay", WRITE).settings(ask).clock(clock.clone()).open();
    let pending = stage.call_and_leave("pay", json!({})).await;
    clock.set("2026-01-01T01:00:00Z".parse().unwrap());
    let done = stage.answer(&pending.approval_id.unwrap(), stage.yes()).await;
    let again = stage.call_and_leave("pay", json!({})).await;
    assert_eq!((again.invocation_id, again.replayed), (done.invocation_id, true));
    assert_eq!(stage.canary.count(), 1);
}

#[tokio::test]
async fn unrecoverable_call_does_not_block_recovery_of_others() {
    let clock = Arc::new(StoppedClock::at("2026-01-01T00:00:00Z".parse().unwrap()));
    let stage = Setting::default()
        .tool("pay", WRITE)
        .settings(ALLOW)
        .clock(clock.clone())
        .reporting_act("pay", |_| Box::pin(std::future::pending()))
        .open();
    for n in 0..70 {
        let call = Call::new(stage.agent(), "pay", json!({"n": n}));
        let mut gone = Box::pin(stage.host.runtime().call(call, CallOptions::default()));
        while stage.canary.count() <= n {
            assert!(is_pending(&mut gone).await);
            tokio::task::yield_now().await;
        }
    }
    let open = RunFilter { open: true, ..Default::default() };
    let broken = stage.store.runs(&open).await.unwrap()[0].invocation_id.clone();
    let sent = crate::story::sent(&stage.facts_so_far(&broken).await);
    assert!(stage.store.forget(&broken, &sent).await.unwrap());
    clock.set("2026-01-01T00:01:00Z".parse().unwrap());
    let stop = stage.another(|_| {}).runtime().recover().await.unwrap_err();
    assert!(stop.message.contains(broken.as_str()), "{}", stop.message);
    let left: Vec<_> = stage.store.runs(&open).await.unwrap();
    assert_eq!(left.iter().map(|run| &run.invocation_id).collect::<Vec<_>>(), [&broken]);
}
