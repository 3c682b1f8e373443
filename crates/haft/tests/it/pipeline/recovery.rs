//! Recovery tests: calls whose process died are resolved, stay unknown, or may still run.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use haft_driver::{BoxFuture, Failure, HookAnswer, Output};
use haft_ledger::{Draft, Error, MemoryStore, Receipt, Store, Wait};
use haft_model::{Call, Code, EffectState, Envelope, Event, HookPoint, Says, Status, Stop};
use haft_runtime::{CallOptions, StoppedClock, Unsent};
use serde_json::{Value, json};

use crate::meddled::{MeddledStore, Meddler};
use crate::stage::*;
use crate::story::checked;

const ALLOW: &str = "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";
const STATUS: &str = "{ status: { tool: look, input: { key: \"${idempotency.key}\" }, \
    committed: \"output.state == 'done'\", absent: \"output.state == 'none'\", \
    output: { id: \"${output.id}\" } } }";

/// A stage on which calls hang for ever, and the clock that ends leases.
fn hanging(haft: &str, submits: bool) -> (Setting, Arc<StoppedClock>) {
    let clock = Arc::new(StoppedClock::at("2026-01-01T00:00:00Z".parse().unwrap()));
    let setting = Setting::default()
        .tool("pay", &extras(WRITE, haft))
        .tool("look", READ)
        .settings(ALLOW)
        .clock(clock.clone())
        .options(|options| options.max_parallel = 10_000)
        .reporting_act("pay", move |attempt| {
            Box::pin(async move {
                if attempt.input.get("hangs").is_none() {
                    attempt.link.submit().await?;
                    return Ok(Output::committed(json!({"id": "now"})));
                }
                if submits {
                    attempt.link.submit().await?;
                }
                std::future::pending().await
            })
        });
    (setting, clock)
}

/// Calls, and dies as soon as the driver runs.
async fn die(stage: &Stage, input: Value, effect: EffectState) {
    let call = Call::new(stage.agent(), "pay", input);
    die_in(stage, stage.host.runtime().call(call, CallOptions::default()), effect).await;
}

/// Dies in the middle of something, as soon as the driver runs.
async fn die_in(stage: &Stage, calling: impl Future, effect: EffectState) {
    let before = stage.canary.count();
    let mut calling = Box::pin(calling);
    for _ in 0..1000 {
        let polled = std::future::poll_fn(|context| Poll::Ready(calling.as_mut().poll(context)));
        assert!(polled.await.is_pending());
        if stage.canary.count() > before && stage.all_are(effect).await {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("the driver was never reached");
}

impl Stage {
    /// Whether everything that was begun last is as far as it gets.
    async fn all_are(&self, effect: EffectState) -> bool {
        let open = haft_ledger::RunFilter { open: true, most: 1, ..Default::default() };
        let runs = self.store.runs(&open).await.unwrap();
        runs.iter().all(|run| run.status == Status::Running && run.effect_state == effect)
    }
}

async fn recovered(stage: &Stage, clock: &StoppedClock, unsent: Unsent) -> Vec<Envelope> {
    clock.set("2026-01-01T00:01:00Z".parse().unwrap());
    let other = stage.another(|options| options.unsent = unsent);
    other.runtime().recover().await.unwrap()
}

fn looks(setting: Setting, state: &'static str) -> Setting {
    setting.act("look", move |_| {
        Box::pin(async move { Ok(Output::read(json!({"state": state, "id": "ch-1"}))) })
    })
}

#[tokio::test]
async fn recovery_looks_up_call_submitted_before_crash() {
    for (state, effect, code) in [
        ("done", EffectState::Committed, None),
        ("none", EffectState::NotCommitted, Some(Code::DependencyUnavailable)),
        ("who knows", EffectState::Unknown, Some(Code::ExecutionFailed)),
    ] {
        let (setting, clock) = hanging(STATUS, true);
        let stage = looks(setting, state).open();
        die(&stage, json!({"hangs": 1}), EffectState::Submitted).await;
        let found = recovered(&stage, &clock, Unsent::Refuse).await;
        let [envelope] = found.as_slice() else { panic!("{found:?}") };
        let error = envelope.error.as_ref().map(|error| error.error_code);
        assert_eq!((envelope.effect_state, error), (effect, code), "{state}");
        let adopted = (state == "done").then(|| json!({"id": "ch-1"}));
        assert_eq!(envelope.structured_content, adopted);
        checked(&stage, envelope).await;
        let pays = stage.canary.tools().iter().filter(|tool| *tool == "pay").count();
        assert_eq!(pays, 1, "recovery sends nothing by itself");
    }
}

#[tokio::test]
async fn recovery_refuses_or_runs_unsent_call_as_configured() {
    for (unsent, runs, status) in
        [(Unsent::Refuse, 1, Status::Failed), (Unsent::Run, 2, Status::Succeeded)]
    {
        let once = std::sync::atomic::AtomicBool::new(false);
        let (setting, clock) = hanging("{}", false);
        let stage = setting
            .reporting_act("pay", move |attempt| {
                let again = once.swap(true, std::sync::atomic::Ordering::SeqCst);
                Box::pin(async move {
                    if !again {
                        return std::future::pending().await;
                    }
                    attempt.link.submit().await?;
                    Ok(Output::committed(json!({})))
                })
            })
            .open();
        die(&stage, json!({"hangs": 1}), EffectState::NotSubmitted).await;
        let found = recovered(&stage, &clock, unsent).await;
        let [envelope] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((envelope.final_status, stage.canary.count()), (status, runs), "{unsent:?}");
        checked(&stage, envelope).await;
    }
}

#[tokio::test]
async fn recovery_does_not_run_call_now_denied() {
    let (setting, clock) = hanging("{}", false);
    let stage = setting.open();
    die(&stage, json!({"hangs": 1}), EffectState::NotSubmitted).await;
    stage.rewrite("haft.toml", |text| text.replace("allow", "deny"));
    let found = recovered(&stage, &clock, Unsent::Run).await;
    let [envelope] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((envelope.final_status, stage.canary.count()), (Status::Failed, 1));
}

#[tokio::test]
async fn recovery_settles_over_thousand_open_calls() {
    let (setting, clock) = hanging("{}", true);
    let stage = setting.tool("other", READ).open();
    for number in 0..1100 {
        die(&stage, json!({"hangs": number}), EffectState::Submitted).await;
    }
    let found = recovered(&stage, &clock, Unsent::Refuse).await;
    assert_eq!(found.len(), 1100);
    assert!(found.iter().all(|envelope| envelope.effect_state == EffectState::Unknown));
    let open = haft_ledger::RunFilter { open: true, ..Default::default() };
    assert_eq!(stage.store.runs(&open).await.unwrap(), []);
}

#[tokio::test]
async fn repeat_call_takes_over_call_of_dead_process() {
    let (setting, clock) = hanging(STATUS, true);
    let stage = looks(setting, "done").open();
    die(&stage, json!({"hangs": 1}), EffectState::Submitted).await;
    clock.set("2026-01-01T00:01:00Z".parse().unwrap());
    let other = stage.another(|_| {});
    let again = other.call(Call::new(stage.agent(), "pay", json!({"hangs": 1}))).await;
    assert_eq!((again.structured_content, again.replayed), (Some(json!({"id": "ch-1"})), true));
}

/// Keeps hooks that were told of a decision out of the record, as if the process had died between
/// the two.
struct Untold(bool);

impl Meddler for Untold {
    fn append<'a>(
        &'a self,
        store: &'a dyn Store,
        mut draft: Draft,
        wait: Wait,
    ) -> BoxFuture<'a, Result<Receipt, Error>> {
        let of_a_decision = |event: &Event| match event {
            Event::PreHookStarted(started) => started.point == HookPoint::PermissionDecision,
            Event::PreHookCompleted(run) => run.point == HookPoint::PermissionDecision,
            _ => false,
        };
        let over = draft.facts.iter().any(|fact| fact.event.end().is_some());
        if self.0 && !over {
            draft.facts.retain(|fact| !of_a_decision(&fact.event));
        }
        store.append(draft, wait)
    }
}

/// A stage whose driver hangs the first time, with a hook that is told of decisions and says no to
/// the second one it hears of, if it is to.
fn told(
    verdict: &str,
    untold: bool,
    says_no: bool,
) -> (Stage, Arc<StoppedClock>, Arc<AtomicUsize>) {
    let (times, attempts) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
    let heard = times.clone();
    let hook = Scripted::new("watcher", HookPoint::PermissionDecision, move |_| {
        let before = heard.fetch_add(1, Ordering::SeqCst);
        let no = (says_no && before > 0).then(|| (Says::Deny, "not any more".to_owned()));
        Ok(HookAnswer { opinion: no, ..HookAnswer::default() })
    });
    let clock = Arc::new(StoppedClock::at("2026-01-01T00:00:00Z".parse().unwrap()));
    let stage = Setting::default()
        .tool("pay", WRITE)
        .settings(&ALLOW.replace("allow", verdict))
        .clock(clock.clone())
        .store(Arc::new(MeddledStore::new(Arc::new(MemoryStore::new()), Untold(untold))))
        .hook(hook)
        .reporting_act("pay", move |attempt| {
            let again = attempts.fetch_add(1, Ordering::SeqCst) > 0;
            Box::pin(async move {
                if !again {
                    return std::future::pending().await;
                }
                attempt.link.submit().await?;
                Ok(Output::committed(json!({})))
            })
        })
        .open();
    (stage, clock, times)
}

#[tokio::test]
async fn recovery_notifies_missed_permission_decision_hook_before_running() {
    for (untold, says_no, heard, ran, code) in [
        (false, false, 1, 2, None),
        (true, false, 2, 2, None),
        (true, true, 2, 1, Some(Code::HookBlocked)),
    ] {
        for verdict in ["allow", "ask"] {
            let (stage, clock, times) = told(verdict, untold, says_no);
            let runtime = stage.host.runtime();
            if verdict == "ask" {
                let asked = stage.call_and_leave("pay", json!({})).await.approval_id.unwrap();
                let answering = runtime.answer_and_run(&asked, stage.yes());
                die_in(&stage, answering, EffectState::NotSubmitted).await;
            } else {
                die(&stage, json!({}), EffectState::NotSubmitted).await;
            }
            let found = recovered(&stage, &clock, Unsent::Run).await;
            let [envelope] = found.as_slice() else { panic!("{found:?}") };
            let error = envelope.error.as_ref().map(|error| error.error_code);
            let times = times.load(Ordering::SeqCst);
            let case = format!("{verdict} {untold} {says_no}");
            assert_eq!((error, times, stage.canary.count()), (code, heard, ran), "{case}");
            checked(&stage, envelope).await;
        }
    }
}

#[tokio::test]
async fn recovery_asks_attempting_driver_for_call_status() {
    let (setting, clock) = hanging(STATUS, true);
    let stage = setting
        .spare()
        .reporting_act("pay", |attempt| {
            Box::pin(async move {
                if attempt.plan.route.driver.as_str() == "canary" {
                    let stop = Stop::new(Code::DependencyUnavailable, "it is away");
                    return Err(Failure::new(stop, EffectState::NotSubmitted));
                }
                attempt.link.submit().await?;
                std::future::pending().await
            })
        })
        .act("look", |attempt| {
            let driver = attempt.plan.route.driver.clone();
            Box::pin(async move { Ok(Output::read(json!({"state": "done", "id": driver}))) })
        })
        .open();
    die(&stage, json!({}), EffectState::Submitted).await;
    let found = recovered(&stage, &clock, Unsent::Refuse).await;
    let [envelope] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(envelope.structured_content, Some(json!({"id": "spare"})));
    checked(&stage, envelope).await;
}
