//! Deadlines of submitted attempts: moved by forms and by further requests, and kept where a
//! record has none.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_driver::{Attempt, Failure, Inquiry, InquiryKind, Output};
use haft_ledger::{BoxFuture, Draft, Error, MemoryStore, Receipt, Store, Story, Wait};
use haft_model::{Call, Code, EffectState, Event, Stop};
use haft_runtime::{CallOptions, Clock};
use serde_json::json;
use tokio::sync::Notify;

use crate::meddled::{MeddledStore, Meddler};
use crate::pipeline::lapses::{Machine, recorded};
use crate::stage::*;

const ALLOW: &str = "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";
const STATUS: &str = "{ status: { tool: look, input: {}, committed: \"output.state == 'done'\", \
                      absent: \"output.state == 'none'\" } }";

/// A payment of five seconds at a backend that knows nothing of it.
fn payment(machine: &Machine) -> Setting {
    let retry = "retry: { max_attempts: 2, backoff: fixed, initial_ms: 1 }\n";
    Setting::default()
        .tool("pay", &extras(&format!("{WRITE}timeout_ms: 5000\n{retry}"), STATUS))
        .tool("look", READ)
        .settings(ALLOW)
        .clock(Arc::new(machine.clone()))
        .act("look", |_| Box::pin(async { Ok(Output::read(json!({"state": "none"}))) }))
}

fn keyed(stage: &Stage) -> Call {
    Call { key: Some("k".to_owned()), ..Call::new(stage.agent(), "pay", json!({})) }
}

fn pays(stage: &Stage) -> usize {
    stage.canary.tools().iter().filter(|tool| *tool == "pay").count()
}

fn lost() -> Failure {
    let stop = Stop::new(Code::DependencyUnavailable, "the connection broke");
    Failure::new(stop, EffectState::Unknown)
}

/// Asks people for a word in the middle of a call that was submitted.
async fn ask(attempt: &Attempt<'_>) -> Result<(), Failure> {
    let schema = json!({"type": "object", "properties": {"word": {"type": "string"}}});
    let params = json!({"mode": "form", "message": "Which word?", "requestedSchema": schema});
    let inquiry = Inquiry { kind: InquiryKind::Form, params };
    let asked = attempt.link.ask([("q".to_owned(), inquiry)].into()).await;
    asked.map(drop).map_err(|stop| Failure::new(stop, EffectState::Unknown))
}

/// A payment whose connection breaks once people have filled in its form.
fn lost_after_form(machine: &Machine) -> Setting {
    payment(machine).reporting_act("pay", |attempt| {
        Box::pin(async move {
            attempt.link.submit().await?;
            ask(&attempt).await?;
            Err(lost())
        })
    })
}

async fn fill_in(stage: &Stage, after: Duration) {
    let record = stage.form().await;
    tokio::time::sleep(after).await;
    let reply = stage.filled(json!({"word": "yes"}));
    stage.host.runtime().answer(&record.question.id, reply).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn attempt_lost_after_form_is_still_possible() {
    let machine = Machine::new();
    let stage = lost_after_form(&machine).open();
    let filled_in = fill_in(&stage, Duration::from_secs(60));
    let (envelope, ()) = tokio::join!(stage.host.call(keyed(&stage)), filled_in);
    assert_eq!((envelope.effect_state, pays(&stage)), (EffectState::Unknown, 1));
    assert!(envelope.error.as_ref().unwrap().until.unwrap() > machine.now());
    let facts = stage.facts(&envelope.invocation_id).await;
    let deadlines = facts.iter().filter_map(|fact| match &fact.event {
        Event::Submitted(submitted) => submitted.until.clone(),
        _ => None,
    });
    let deadlines: Vec<_> = deadlines.collect();
    let [first, second] = &deadlines[..] else { panic!("{deadlines:?}") };
    assert_eq!(second.remaining(first), Duration::from_secs(600));
    crate::story::checked(&stage, &envelope).await;
    let story = stage.store.story(&envelope.invocation_id).await.unwrap();
    let submitted = facts.iter().find(|fact| matches!(fact.event, Event::Submitted(_))).unwrap();
    let attempts = Story::fold(&story).unwrap().attempts;
    assert_eq!(attempts[0].submitted_at, Some(submitted.at));
}

#[tokio::test(start_paused = true)]
async fn recovery_after_form_waits_for_its_deadline() {
    let machine = Machine::new();
    let stage = payment(&machine)
        .reporting_act("pay", |attempt| {
            Box::pin(async move {
                attempt.link.submit().await?;
                ask(&attempt).await?;
                std::future::pending().await
            })
        })
        .open();
    let called = stage.host.runtime().call(keyed(&stage), CallOptions::default());
    let answered = async {
        fill_in(&stage, Duration::from_secs(60)).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    tokio::select! {
        _ = called => panic!("it hangs"),
        () = answered => {}
    }
    machine.sleep(20);
    let other = stage.another(|_| {});
    let found = other.runtime().recover().await.unwrap();
    let [envelope] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(envelope.effect_state, EffectState::Unknown);
    machine.sleep(600);
    other.runtime().recover().await.unwrap();
    assert_eq!(recorded(&stage, &envelope.invocation_id).await, EffectState::NotCommitted);
}

/// Writes submissions as releases without deadlines did.
struct WithoutDeadlines;

impl Meddler for WithoutDeadlines {
    fn append<'a>(
        &'a self,
        store: &'a dyn Store,
        mut draft: Draft,
        wait: Wait,
    ) -> BoxFuture<'a, Result<Receipt, Error>> {
        for fact in &mut draft.facts {
            if let Event::Submitted(submitted) = &mut fact.event {
                submitted.until = None;
            }
        }
        Box::pin(async move { store.append(draft, wait).await })
    }
}

#[tokio::test(start_paused = true)]
async fn record_without_deadline_gets_timeout_and_margin() {
    for (slept, effect) in [(7, EffectState::Unknown), (30, EffectState::NotCommitted)] {
        let machine = Machine::new();
        let store = MeddledStore::new(Arc::new(MemoryStore::new()), WithoutDeadlines);
        let stage = payment(&machine)
            .store(Arc::new(store))
            .options(|options| options.lease = Duration::from_secs(5))
            .act("pay", |_| Box::pin(std::future::pending()))
            .open();
        let called = stage.host.runtime().call(keyed(&stage), CallOptions::default());
        let _ = tokio::time::timeout(Duration::from_millis(100), called).await;
        machine.sleep(slept);
        let found = stage.another(|_| {}).runtime().recover().await.unwrap();
        let [envelope] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(envelope.effect_state, effect, "{slept}");
    }
}

/// What a driver that was told to go on hears of its second submission.
type Heard = Arc<Mutex<Option<Result<bool, (Code, EffectState)>>>>;

/// A payment that submits, waits until it may go on, submits again and sends.
fn twice(machine: &Machine, gate: &(Arc<Notify>, Arc<Notify>), heard: &Heard) -> Setting {
    let (gate, heard, sent) = (gate.clone(), heard.clone(), Arc::new(AtomicUsize::new(0)));
    payment(machine).reporting_act("pay", move |attempt| {
        let ((begun, go), heard, sent) = (gate.clone(), heard.clone(), sent.clone());
        Box::pin(async move {
            let first = attempt.link.submit().await?;
            begun.notify_one();
            go.notified().await;
            let second = attempt.link.submit().await;
            let told = second.as_ref().map(|_| first.check().is_err());
            *heard.lock().unwrap() =
                Some(told.map_err(|failure| (failure.stop.code, failure.effect)));
            second?;
            sent.fetch_add(1, Ordering::SeqCst);
            Ok(Output::committed(json!({})))
        })
    })
}

#[tokio::test(start_paused = true)]
async fn second_submission_renews_clearance_and_deadline() {
    let (machine, heard) = (Machine::new(), Heard::default());
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let stage = twice(&machine, &(begun.clone(), go.clone()), &heard);
    let stage = stage.options(|options| options.final_after = Duration::from_secs(2)).open();
    let later = async {
        begun.notified().await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        go.notify_one();
    };
    let (envelope, ()) = tokio::join!(stage.host.call(keyed(&stage)), later);
    assert_eq!(envelope.effect_state, EffectState::Committed);
    assert_eq!(heard.lock().unwrap().take(), Some(Ok(true)), "the first clearance has expired");
    let facts = stage.facts(&envelope.invocation_id).await;
    let submitted = facts.iter().filter(|fact| matches!(fact.event, Event::Submitted(_))).count();
    assert_eq!(submitted, 2);
    crate::story::checked(&stage, &envelope).await;
}

#[tokio::test(start_paused = true)]
async fn second_submission_after_takeover_is_refused() {
    let (machine, heard) = (Machine::new(), Heard::default());
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let stage = twice(&machine, &(begun.clone(), go.clone()), &heard).open();
    let other = stage.another(|_| {});
    let taken_over = async {
        begun.notified().await;
        machine.sleep(60);
        let found = other.runtime().recover().await.unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        go.notify_one();
    };
    let (_, ()) = tokio::join!(stage.host.call(keyed(&stage)), taken_over);
    let heard = heard.lock().unwrap().take().unwrap();
    assert!(heard.is_err(), "{heard:?}");
    assert_eq!(pays(&stage), 1);
}

#[tokio::test(start_paused = true)]
async fn timed_out_sent_request_is_not_before_submit() {
    for (effect, code) in [
        (EffectState::NotSubmitted, Code::TimeoutBeforeSubmit),
        (EffectState::NotCommitted, Code::TimeoutUnknownCommit),
        (EffectState::Unknown, Code::TimeoutUnknownCommit),
    ] {
        let stage = Setting::default()
            .tool("pay", &format!("{WRITE}timeout_ms: 50\n"))
            .settings(ALLOW)
            .reporting_act("pay", move |attempt| {
                Box::pin(async move {
                    attempt.link.submit().await?;
                    attempt.cancel.cancelled().await;
                    Err(Failure::new(Stop::new(Code::CanceledCaller, "called off"), effect))
                })
            })
            .open();
        let error = stage.call("pay", json!({})).await.error.unwrap();
        assert_eq!(error.error_code, code, "{effect}");
    }
}
