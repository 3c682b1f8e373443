//! Clock tests: how long a lost call is still possible, and how long a process may act that stalled
//! or whose clock was set.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_driver::{Attempt, Failure, Output};
use haft_ledger::{BoxFuture, Draft, Error, MemoryStore, Receipt, RunFilter, Store, Story, Wait};
use haft_model::{
    BootTime, Call, Code, DualTime, EffectState, Envelope, Event, InvocationId, Stop, Timestamp,
};
use haft_runtime::{CallOptions, Clock, ManualResolution};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::meddled::{MeddledStore, Meddler};
use crate::stage::*;

const ALLOW: &str = "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";

/// Both clocks of one machine: the time since boot is that of the timers, and the calendar can be set.
#[derive(Clone)]
pub(crate) struct Machine {
    boot: Instant,
    /// Seconds that stood still for the timers and not for the machine.
    slept: Arc<AtomicI64>,
    /// Seconds by which this process takes the calendar to be ahead.
    ahead: i64,
}

impl Machine {
    pub(crate) fn new() -> Machine {
        Machine { boot: Instant::now(), slept: Arc::default(), ahead: 0 }
    }

    fn ahead(&self, ahead: i64) -> Machine {
        Machine { ahead, ..self.clone() }
    }

    pub(crate) fn sleep(&self, seconds: i64) {
        self.slept.fetch_add(seconds, Ordering::SeqCst);
    }

    fn micros(&self) -> u64 {
        let slept = self.slept.load(Ordering::SeqCst) as u64 * 1_000_000;
        self.boot.elapsed().as_micros() as u64 + slept
    }
}

impl Clock for Machine {
    fn now(&self) -> Timestamp {
        let since = 1_767_225_600_000_000 + self.micros() as i64 + self.ahead * 1_000_000;
        Timestamp::from_microsecond(since).unwrap()
    }

    fn time(&self) -> DualTime {
        let boot = BootTime { id: "one".into(), micros: self.micros() };
        DualTime { at: self.now(), boot: Some(boot) }
    }
}

/// A payment with five seconds whose first answer is lost, and a backend that says what the test wants.
fn losing(state: &Arc<Mutex<&'static str>>, machine: &Machine, more: &str) -> Setting {
    let status = format!(
        "{{ status: {{ tool: look, input: {{ key: \"${{idempotency.key}}\" }}, \
         committed: \"output.state == 'done'\", absent: \"output.state == 'none'\", \
         output: {{ id: \"${{output.id}}\" }}{more} }} }}"
    );
    let (made, state) = (AtomicUsize::new(0), state.clone());
    Setting::default()
        .tool("pay", &extras(&format!("{WRITE}timeout_ms: 5000\n"), &status))
        .tool("look", READ)
        .settings(ALLOW)
        .clock(Arc::new(machine.clone()))
        .act("pay", move |_| {
            let first = made.fetch_add(1, Ordering::SeqCst) == 0;
            Box::pin(async move {
                match first {
                    true => Err(Failure::new(
                        Stop::new(Code::DependencyUnavailable, "the connection broke"),
                        EffectState::Unknown,
                    )),
                    false => Ok(Output::committed(json!({"id": "second"}))),
                }
            })
        })
        .act("look", move |_| {
            let state = *state.lock().unwrap();
            Box::pin(async move { Ok(Output::read(json!({"state": state, "id": "first"}))) })
        })
}

fn pays(stage: &Stage) -> usize {
    stage.canary.tools().iter().filter(|tool| *tool == "pay").count()
}

fn keyed(stage: &Stage) -> Call {
    Call { key: Some("k".to_owned()), ..Call::new(stage.agent(), "pay", json!({})) }
}

pub(crate) async fn recorded(stage: &Stage, id: &InvocationId) -> EffectState {
    let filter = RunFilter { id: Some(id.clone()), ..RunFilter::default() };
    stage.store.runs(&filter).await.unwrap()[0].effect_state
}

/// When the envelope says that the call is no longer possible, in milliseconds after it was sent.
async fn possible_for(stage: &Stage, envelope: &Envelope) -> i64 {
    let facts = stage.facts(&envelope.invocation_id).await;
    let sent = facts.iter().find(|fact| matches!(fact.event, Event::Submitted(_))).unwrap().at;
    let until = envelope.error.as_ref().unwrap().until.unwrap();
    until.as_millisecond() - sent.as_millisecond()
}

#[tokio::test(start_paused = true)]
async fn absent_before_its_deadline_is_told_as_still_possible() {
    let (state, machine) = (Arc::new(Mutex::new("none")), Machine::new());
    let stage = losing(&state, &machine, "").open();
    let first = stage.host.call(keyed(&stage)).await;
    assert_eq!(first.effect_state, EffectState::Unknown);
    assert_eq!(possible_for(&stage, &first).await, 10_000);
    assert!(!first.error.as_ref().unwrap().retry.safe);
    // Too early to wait: it is told the same, and nothing is sent.
    let again = stage.host.call(keyed(&stage)).await;
    assert_eq!((again.effect_state, again.replayed), (EffectState::Unknown, true));
    assert_eq!(again.error.unwrap().until, first.error.unwrap().until);
    // The request took effect after all.
    *state.lock().unwrap() = "done";
    let later = stage.host.call(keyed(&stage)).await;
    assert_eq!((later.effect_state, pays(&stage)), (EffectState::Committed, 1));
    assert_eq!(later.structured_content, Some(json!({"id": "first"})));
}

#[tokio::test(start_paused = true)]
async fn a_repeat_waits_for_the_deadline_within_its_time() {
    for late in ["none", "done"] {
        let (state, machine) = (Arc::new(Mutex::new("none")), Machine::new());
        let stage = losing(&state, &machine, "").open();
        let began = Instant::now();
        let first = stage.host.call(keyed(&stage)).await;
        tokio::time::sleep(Duration::from_secs(6)).await;
        let (at_the_end, told) = (state.clone(), late);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(2)).await;
            *at_the_end.lock().unwrap() = told;
        });
        let again = stage.host.call(keyed(&stage)).await;
        assert!(began.elapsed() >= Duration::from_secs(10), "{:?}", began.elapsed());
        let (id, sent) = if late == "done" { ("first", 1) } else { ("second", 2) };
        assert_eq!((again.structured_content, pays(&stage)), (Some(json!({"id": id})), sent));
        let settled = match late {
            "done" => EffectState::Committed,
            _ => EffectState::NotCommitted,
        };
        assert_eq!(recorded(&stage, &first.invocation_id).await, settled);
    }
}

#[tokio::test(start_paused = true)]
async fn final_after_raises_deadline_and_never_lowers_it() {
    for (stated, expected) in [("PT1H", 3_605_000), ("PT0S", 10_000)] {
        let (state, machine) = (Arc::new(Mutex::new("none")), Machine::new());
        let more = format!(", final_after: {stated}");
        let stage = losing(&state, &machine, &more).open();
        let first = stage.host.call(keyed(&stage)).await;
        assert_eq!(possible_for(&stage, &first).await, expected, "{stated}");
    }
}

#[tokio::test(start_paused = true)]
async fn recovery_looks_again_after_the_deadline_and_settles() {
    for (late, effect) in [("none", EffectState::NotCommitted), ("done", EffectState::Committed)] {
        let (state, machine) = (Arc::new(Mutex::new("none")), Machine::new());
        let stage = losing(&state, &machine, ", final_after: PT1M")
            .act("pay", |_| Box::pin(std::future::pending()));
        let stage = stage.open();
        let called = stage.host.runtime().call(keyed(&stage), CallOptions::default());
        let _ = tokio::time::timeout(Duration::from_secs(1), called).await;
        tokio::time::sleep(Duration::from_secs(20)).await;
        let other = stage.another(|_| {});
        let found = other.runtime().recover().await.unwrap();
        let [envelope] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(envelope.effect_state, EffectState::Unknown);
        assert_eq!(possible_for(&stage, envelope).await, 65_000);
        other.runtime().recover().await.unwrap();
        assert_eq!(recorded(&stage, &envelope.invocation_id).await, EffectState::Unknown);
        *state.lock().unwrap() = late;
        tokio::time::sleep(Duration::from_secs(60)).await;
        other.runtime().recover().await.unwrap();
        assert_eq!(recorded(&stage, &envelope.invocation_id).await, effect, "{late}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_settles_absent_only_after_the_deadline() {
    let (state, machine) = (Arc::new(Mutex::new("perhaps")), Machine::new());
    let stage = losing(&state, &machine, "").open();
    let first = stage.host.call(keyed(&stage)).await.invocation_id;
    let (runtime, owner) = (stage.host.runtime(), stage.owner());
    let early =
        runtime.settle(&first, ManualResolution::Absent, &owner, "I looked").await.unwrap_err();
    assert_eq!(early.code, Code::Conflict);
    assert!(early.message.contains("may still take effect until"), "{}", early.message);
    tokio::time::sleep(Duration::from_secs(10)).await;
    runtime.settle(&first, ManualResolution::Absent, &owner, "I looked").await.unwrap();
    assert_eq!(recorded(&stage, &first).await, EffectState::NotCommitted);
}

/// Lets the machine sleep once a submission is on record, before the runtime learns of it.
struct Sleepy(Machine, i64);

impl Meddler for Sleepy {
    fn append<'a>(
        &'a self,
        store: &'a dyn Store,
        draft: Draft,
        wait: Wait,
    ) -> BoxFuture<'a, Result<Receipt, Error>> {
        Box::pin(async move {
            let sent = draft.facts.iter().any(|fact| matches!(fact.event, Event::Submitted(_)));
            let receipt = store.append(draft, wait).await;
            if sent {
                self.0.sleep(self.1);
            }
            receipt
        })
    }
}

type Paid<'a> = haft_driver::BoxFuture<'a, Result<Output, Failure>>;

/// A payment that counts how often it is sent.
fn paying(
    reports: bool,
    sent: &Arc<AtomicUsize>,
) -> impl for<'a> Fn(Attempt<'a>) -> Paid<'a> + use<> {
    let sent = sent.clone();
    move |attempt| {
        let sent = sent.clone();
        Box::pin(async move {
            if reports {
                attempt.link.submit().await?;
            }
            sent.fetch_add(1, Ordering::SeqCst);
            Ok(Output::committed(json!({})))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_slept_after_submitting_sends_nothing() {
    for (slept, effects) in [(4, 1), (6, 0), (60, 0)] {
        for reports in [true, false] {
            let machine = Machine::new();
            let store =
                MeddledStore::new(Arc::new(MemoryStore::new()), Sleepy(machine.clone(), slept));
            let done = Arc::new(AtomicUsize::new(0));
            let act = paying(reports, &done);
            let setting = Setting::default()
                .tool("pay", WRITE)
                .settings(ALLOW)
                .clock(Arc::new(machine))
                .store(Arc::new(store));
            let setting = match reports {
                true => setting.reporting_act("pay", act),
                false => setting.act("pay", act),
            };
            let stage = setting.open();
            let envelope = stage.host.call(keyed(&stage)).await;
            assert_eq!(done.load(Ordering::SeqCst), effects, "{slept} {reports}");
            assert_eq!(envelope.effect_state.is_done(), effects > 0);
            if let Some(error) = envelope.error {
                assert_eq!(error.error_code, Code::TimeoutBeforeSubmit);
                assert!(!envelope.effect_state.may_have_happened() && error.retry.safe);
            }
        }
    }
}

/// A payment that says when it begins, and waits until it may go on.
fn gated(started: &Arc<Notify>, go: &Arc<Notify>, machine: &Machine) -> Setting {
    let (told, gate) = (started.clone(), go.clone());
    Setting::default().tool("pay", WRITE).settings(ALLOW).clock(Arc::new(machine.clone())).act(
        "pay",
        move |_| {
            let (told, gate) = (told.clone(), gate.clone());
            Box::pin(async move {
                told.notify_one();
                gate.notified().await;
                Ok(Output::committed(json!({"id": "seen"})))
            })
        },
    )
}

#[tokio::test(start_paused = true)]
async fn clock_ahead_does_not_take_over_live_call() {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let machine = Machine::new();
    let stage = gated(&started, &go, &machine).open();
    let ahead = stage.another_with(Arc::new(machine.ahead(60)));
    let called = stage.host.call(keyed(&stage));
    let looked = async {
        started.notified().await;
        let taken = ahead.runtime().recover().await.unwrap();
        go.notify_one();
        taken
    };
    let (envelope, taken) = tokio::join!(called, looked);
    assert_eq!(taken, []);
    assert_eq!((envelope.effect_state, envelope.unrecorded), (EffectState::Committed, None));
    let story = stage.store.story(&envelope.invocation_id).await.unwrap();
    assert!(Story::fold(&story).unwrap().observed.is_empty());
}

#[tokio::test(start_paused = true)]
async fn process_that_lost_lease_records_observed_effect() {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let machine = Machine::new();
    let stage = gated(&started, &go, &machine).open();
    let other = stage.another(|_| {});
    let called = stage.host.runtime().call(keyed(&stage), CallOptions::default());
    let taken_over = async {
        started.notified().await;
        machine.sleep(60);
        let taken = other.runtime().recover().await.unwrap();
        go.notify_one();
        taken
    };
    let (envelope, taken) = tokio::join!(called, taken_over);
    let told: Vec<_> = taken.iter().map(|envelope| envelope.effect_state).collect();
    assert_eq!(told, [EffectState::Unknown]);
    assert_eq!((envelope.effect_state, envelope.unrecorded), (EffectState::Committed, None));
    let id = envelope.invocation_id;
    assert_eq!(recorded(&stage, &id).await, EffectState::Committed);
    let story = Story::fold(&stage.store.story(&id).await.unwrap()).unwrap();
    assert_eq!((story.effect_state, story.observed.len()), (EffectState::Committed, 1));
    let again = other.call(keyed(&stage)).await;
    assert_eq!((again.effect_state, again.replayed), (EffectState::Committed, true));
    assert_eq!(again.structured_content, Some(json!({"id": "seen"})));
    assert_eq!(pays(&stage), 1);
}
