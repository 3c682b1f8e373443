//! Cancellation tests: a call is cancelled where its contract allows it, and refused otherwise.

use std::sync::Arc;
use std::time::Duration;

use haft_catalog::Viewer;
use haft_driver::{Cancel, Failure, Output};
use haft_ledger::{BoxFuture, Draft, Error, MemoryStore, Receipt, RunFilter, Store, Wait};
use haft_model::{
    Call, CancelFact, Code, EffectState, Envelope, Event, Fact, InvocationId, Progress,
    QuestionState, ResultStatus, Role, Status, Stop,
};
use haft_runtime::{CallOptions, CancelAnswer, Patience};
use serde_json::json;
use tokio::sync::Notify;

use crate::meddled::{MeddledStore, Meddler};
use crate::stage::{READ, Setting, Stage, WRITE, extras};
use crate::story::checked;

/// The outcome of cancellation requests.
fn wishes(facts: &[Fact]) -> Vec<CancelFact> {
    let wish = |fact: &Fact| match &fact.event {
        Event::Progressed(reported) => reported.cancel.as_ref().map(|note| note.fact),
        _ => None,
    };
    facts.iter().filter_map(wish).collect()
}

/// Calls, and cancels as soon as the driver works.
async fn interrupted(stage: &Stage, tool: &str, started: &Notify) -> Envelope {
    let cancel = Cancel::new();
    let manner = CallOptions { cancel: cancel.clone(), ..CallOptions::default() };
    let calling = stage.host.runtime().call(Call::new(stage.agent(), tool, json!({})), manner);
    let stopping = async {
        started.notified().await;
        cancel.cancel();
    };
    tokio::join!(calling, stopping).0
}

fn obedient(
    started: Arc<Notify>,
) -> impl for<'a> Fn(haft_driver::Attempt<'a>) -> haft_driver::BoxFuture<'a, Result<Output, Failure>>
{
    move |attempt| {
        let started = started.clone();
        Box::pin(async move {
            started.notify_one();
            attempt.cancel.cancelled().await;
            attempt.link.cancel_heard().await;
            let stop = Stop::new(Code::CanceledCaller, "it was called off");
            Err(Failure::new(stop, EffectState::NotCommitted))
        })
    }
}

/// A driver that ignores cancellation and finishes after a while.
fn busy(
    started: Arc<Notify>,
    time: Duration,
) -> impl for<'a> Fn(haft_driver::Attempt<'a>) -> haft_driver::BoxFuture<'a, Result<Output, Failure>>
{
    move |_| {
        let started = started.clone();
        Box::pin(async move {
            started.notify_one();
            tokio::time::sleep(time).await;
            Ok(Output::read(json!({"done": true})))
        })
    }
}

#[tokio::test]
async fn a_tool_that_can_be_called_off_is() {
    let started = Arc::new(Notify::new());
    let stage = Setting::default()
        .tool("note.show", &extras(READ, "{ interrupt: cancel }"))
        .act("note.show", obedient(started.clone()))
        .open();
    let envelope = interrupted(&stage, "note.show", &started).await;
    assert_eq!(
        (envelope.error.clone().unwrap().error_code, envelope.status, envelope.final_status),
        (Code::CanceledCaller, ResultStatus::Canceled, Status::Canceled)
    );
    let facts = checked(&stage, &envelope).await;
    assert_eq!(
        wishes(&facts),
        [CancelFact::Requested, CancelFact::Acknowledged, CancelFact::Canceled]
    );
}

#[tokio::test]
async fn uncancellable_tool_finishes_and_cancellation_is_unsupported() {
    for haft in ["{ }", "{ supports_cancel: false }", "{ supports_cancel: true, interrupt: block }"]
    {
        let started = Arc::new(Notify::new());
        let stage = Setting::default()
            .tool("note.show", &extras(READ, haft))
            .act("note.show", busy(started.clone(), Duration::from_millis(20)))
            .open();
        let envelope = interrupted(&stage, "note.show", &started).await;
        assert_eq!((envelope.error.clone(), envelope.status), (None, ResultStatus::Succeeded));
        let facts = checked(&stage, &envelope).await;
        assert_eq!(wishes(&facts), [CancelFact::Requested, CancelFact::Unsupported], "{haft}");
    }
}

#[tokio::test]
async fn tool_ignoring_cancellation_is_aborted_with_unknown_effect() {
    let started = Arc::new(Notify::new());
    let stage = Setting::default()
        .tool("note.keep", &extras(WRITE, "{ supports_cancel: true }"))
        .act("note.keep", busy(started.clone(), Duration::from_secs(60)))
        .settings("[[rule]]\ntool = \"note.*\"\nverdict = \"allow\"\n")
        .open();
    let envelope = interrupted(&stage, "note.keep", &started).await;
    let error = envelope.error.clone().unwrap();
    assert_eq!(
        (error.error_code, envelope.final_status, envelope.effect_state),
        (Code::CanceledCaller, Status::Canceled, EffectState::Unknown)
    );
    assert_eq!(error.aruntime_code, "x:canceled.unknown-commit");
    assert!(!error.retry.safe);
    let facts = checked(&stage, &envelope).await;
    assert_eq!(wishes(&facts), [CancelFact::Requested, CancelFact::Canceled]);
}

#[tokio::test]
async fn tool_finished_before_cancellation_records_cancel_failed() {
    let started = Arc::new(Notify::new());
    let stage = Setting::default()
        .tool("note.show", &extras(READ, "{ supports_cancel: true }"))
        .act("note.show", busy(started.clone(), Duration::from_millis(20)))
        .open();
    let envelope = interrupted(&stage, "note.show", &started).await;
    assert_eq!(envelope.error, None);
    let facts = checked(&stage, &envelope).await;
    assert_eq!(wishes(&facts), [CancelFact::Requested, CancelFact::Failed]);
}

#[tokio::test]
async fn call_cancelled_before_start_runs_nothing() {
    for tool in ["note.show", "note.keep"] {
        let stage = Setting::default()
            .tool("note.show", READ)
            .tool("note.keep", WRITE)
            .settings("[[rule]]\ntool = \"note.*\"\nverdict = \"allow\"\n")
            .open();
        let cancel = Cancel::new();
        cancel.cancel();
        let manner = CallOptions { cancel, ..CallOptions::default() };
        let call = Call::new(stage.agent(), tool, json!({}));
        let envelope = stage.host.runtime().call(call, manner).await;
        assert_eq!(envelope.final_status, Status::Canceled);
        assert!(envelope.error.clone().unwrap().retry.safe);
        checked(&stage, &envelope).await;
        assert_eq!(stage.canary.count(), 0);
    }
}

async fn first_run(stage: &Stage, status: Status) -> InvocationId {
    let filter = RunFilter { status: vec![status], ..RunFilter::default() };
    loop {
        if let [run] = stage.store.runs(&filter).await.unwrap().as_slice() {
            return run.invocation_id.clone();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn call_is_cancelled_by_id_from_any_process() {
    for from_elsewhere in [false, true] {
        let started = Arc::new(Notify::new());
        let stage = Setting::default()
            .tool("note.show", &extras(READ, "{ supports_cancel: true }"))
            .act("note.show", obedient(started.clone()))
            .open();
        let other = stage.another(|_| {});
        let host = if from_elsewhere { &other } else { &stage.host };
        let calling = stage.call("note.show", json!({}));
        let stopping = async {
            let id = first_run(&stage, Status::Running).await;
            let stranger = stage.host.actor("agent:other");
            let refused = host.runtime().cancel(&id, &stranger).await.unwrap_err();
            assert_eq!(refused.code, Code::PermissionDenied);
            assert_eq!(host.runtime().cancel(&id, &stage.owner()).await, Ok(CancelAnswer::Told));
        };
        let (envelope, ()) = tokio::join!(calling, stopping);
        assert_eq!(envelope.final_status, Status::Canceled);
        let facts = checked(&stage, &envelope).await;
        assert!(facts.iter().any(|fact| matches!(fact.event, Event::CancelRequested(_))));
        let again = host.runtime().cancel(&envelope.invocation_id, &stage.owner()).await;
        assert_eq!(again.unwrap_err().code, Code::Conflict);
    }
}

#[tokio::test]
async fn words_about_calling_off_call_nothing_off() {
    let stage = Setting::default()
        .tool("note.show", &extras(READ, "{ supports_cancel: true }"))
        .act("note.show", |attempt| {
            Box::pin(async move {
                let message = Some("haft.cancel.requested".to_owned());
                attempt.link.progress(Progress { message, ..Progress::default() }).await;
                tokio::select! {
                    () = attempt.cancel.cancelled() => {
                        let stop = Stop::new(Code::CanceledCaller, "it was called off");
                        Err(Failure::new(stop, EffectState::None))
                    }
                    () = tokio::time::sleep(Duration::from_millis(250)) => Ok(Output::read(json!({}))),
                }
            })
        })
        .open();
    assert_eq!(stage.call("note.show", json!({})).await.error, None);
}

#[tokio::test]
async fn call_pending_approval_can_be_cancelled_by_authorized_actor() {
    let stage = Setting::default().tool("note.keep", WRITE).open();
    // No caller waits for it here.
    let pending = stage.call_and_leave("note.keep", json!({})).await;
    let runtime = stage.host.runtime();
    let answer = runtime.cancel(&pending.invocation_id, &stage.owner()).await;
    assert_eq!(answer, Ok(CancelAnswer::Over));
    let ended = stage.host.reader().result(&pending.invocation_id).await.unwrap().unwrap();
    assert_eq!(ended.final_status, Status::Canceled);
    checked(&stage, &ended).await;
    // Its caller waits for it.
    let calling = stage.call("note.keep", json!({}));
    let stopping = async {
        let id = first_run(&stage, Status::AwaitingApproval).await;
        runtime.cancel(&id, &stage.agent()).await
    };
    let (envelope, answer) = tokio::join!(calling, stopping);
    assert_eq!(answer, Ok(CancelAnswer::Told));
    assert_eq!(envelope.final_status, Status::Canceled);
    checked(&stage, &envelope).await;
    // Its caller stops waiting.
    let cancel = Cancel::new();
    let manner =
        CallOptions { cancel: cancel.clone(), patience: Patience::Wait, ..CallOptions::default() };
    let calling = runtime.call(Call::new(stage.agent(), "note.keep", json!({})), manner);
    let stopping = async {
        first_run(&stage, Status::AwaitingApproval).await;
        cancel.cancel();
    };
    let (envelope, ()) = tokio::join!(calling, stopping);
    assert_eq!(envelope.final_status, Status::Canceled);
    checked(&stage, &envelope).await;
    let records = stage.store.questions(&Default::default()).await.unwrap();
    let states: Vec<_> = records.iter().map(|record| record.state).collect();
    assert_eq!(states, [QuestionState::Withdrawn; 3], "no question is left open");
    assert_eq!(stage.canary.count(), 0);
}

#[tokio::test]
async fn queued_call_can_be_cancelled_by_id() {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, gate) = (started.clone(), go.clone());
    let stage = Setting::default()
        .tool("note.keep", WRITE)
        .act("note.keep", move |_| {
            let (told, gate) = (told.clone(), gate.clone());
            Box::pin(async move {
                told.notify_one();
                gate.notified().await;
                Ok(Output::committed(json!({})))
            })
        })
        .settings("[[rule]]\ntool = \"note.*\"\nverdict = \"allow\"\n")
        .open();
    let first = stage.call("note.keep", json!({}));
    let second = async {
        started.notified().await;
        let second = stage.call("note.keep", json!({"n": 2}));
        let stopping = async {
            let id = first_run(&stage, Status::Queued).await;
            stage.host.runtime().cancel(&id, &stage.agent()).await.unwrap();
        };
        let (second, ()) = tokio::join!(second, stopping);
        go.notify_one();
        second
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!((first.error, second.final_status), (None, Status::Canceled));
    assert_eq!(stage.canary.count(), 1);
}

/// Lets a call end between its lookup and the cancellation request.
struct Overtaken {
    go: Arc<Notify>,
}

impl Meddler for Overtaken {
    fn append<'a>(
        &'a self,
        store: &'a dyn Store,
        draft: Draft,
        wait: Wait,
    ) -> BoxFuture<'a, Result<Receipt, Error>> {
        Box::pin(async move {
            let wished =
                draft.facts.iter().any(|fact| matches!(fact.event, Event::CancelRequested(_)));
            if let Some(id) = draft.invocation.clone().filter(|_| wished) {
                self.go.notify_one();
                let filter = RunFilter { id: Some(id), ..RunFilter::default() };
                let mut seen = None;
                while !store.runs(&filter).await?.iter().all(|run| run.status.is_terminal()) {
                    seen = store.wait_past(seen, Duration::from_secs(30)).await?;
                }
            }
            store.append(draft, wait).await
        })
    }
}

#[tokio::test]
async fn cancel_of_a_call_that_just_ended_conflicts() {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, gate) = (started.clone(), go.clone());
    let store = MeddledStore::new(Arc::new(MemoryStore::new()), Overtaken { go });
    let stage = Setting::default()
        .tool("note.keep", WRITE)
        .settings("[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n")
        .store(Arc::new(store))
        .act("note.keep", move |_| {
            let (told, gate) = (told.clone(), gate.clone());
            Box::pin(async move {
                told.notify_one();
                gate.notified().await;
                Ok(Output::committed(json!({})))
            })
        })
        .open();
    let cancelling = async {
        started.notified().await;
        let runs = stage.store.runs(&RunFilter::default()).await.unwrap();
        stage.host.runtime().cancel(&runs[0].invocation_id, &stage.agent()).await.unwrap_err()
    };
    let (envelope, stop) = tokio::join!(stage.call("note.keep", json!({})), cancelling);
    assert_eq!((envelope.status, stop.code), (ResultStatus::Succeeded, Code::Conflict), "{stop:?}");
    let id = &envelope.invocation_id;
    assert_eq!(stop.message, format!("`{id}` has ended already"));
}

#[tokio::test]
async fn auditor_cancels_undoes_and_loads_nothing() {
    let stage = Setting::default().tool("note.keep", WRITE).tool("note.show", READ).open();
    let mut auditor = stage.owner();
    auditor.roles = [Role::Auditor].into();
    let runtime = stage.host.runtime();
    let waits = stage.call_and_leave("note.keep", json!({})).await;
    let id = &waits.invocation_id;
    let names = ["note.keep"];
    let viewer = Viewer { actor: &auditor, within: &[] };
    let refused = [
        runtime.cancel(id, &auditor).await.unwrap_err(),
        runtime.compensation(id, &auditor).await.unwrap_err(),
        runtime.load(&viewer, &names).await.unwrap_err(),
    ];
    for stop in refused {
        assert_eq!(stop.code, Code::PermissionDenied, "{stop:?}");
        assert!(stop.message.ends_with("is an auditor, who changes nothing"), "{stop:?}");
    }
    let call = |tool: &str| Call::new(auditor.clone(), tool, json!({}));
    let manner = || CallOptions { patience: Patience::Leave, ..CallOptions::default() };
    let denied = runtime.call(call("note.keep"), manner()).await;
    assert_eq!(denied.error.map(|error| error.error_code), Some(Code::PermissionDenied));
    let read = runtime.call(call("note.show"), manner()).await;
    assert_eq!((read.error, stage.canary.tools()), (None, vec!["note.show".to_owned()]));
    let filter = RunFilter { id: Some(id.clone()), ..RunFilter::default() };
    assert_eq!(stage.store.runs(&filter).await.unwrap()[0].status, Status::AwaitingApproval);
}
