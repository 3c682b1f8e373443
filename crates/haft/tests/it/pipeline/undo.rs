//! Resolution and compensation: people resolve unknown outcomes, and calls undo calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft_driver::{BoxFuture, Failure, Output};
use haft_ledger::{Draft, Error, MemoryStore, OpenUndoing, Receipt, RunFilter, Store, Story, Wait};
use haft_model::{
    Call, Code, EffectState, Envelope, Event, InvocationId, ResultStatus, Status, Stop,
    parse_timestamp,
};
use haft_runtime::{CallOptions, ManualResolution, Patience, StoppedClock};
use serde_json::{Value, json};

use crate::meddled::{MeddledStore, Meddler};
use crate::stage::{Setting, Stage, WRITE, extras};

const UNDO: &str = "{ compensation: { tool: list.remove, input: { items: \"${output.done}\", \
                    order: \"${input.order}\" }, approval: always, window: P1D } }";

/// A tool that writes three of five items, and the one that takes them away again, which fails as
/// often as said.
fn list(failures: usize, effect: EffectState) -> Setting {
    let left = Arc::new(AtomicUsize::new(failures));
    Setting::default()
        .settings("[[rule]]\ntool = \"list.*\"\nverdict = \"allow\"\n")
        .tool("list.add", &extras(WRITE, UNDO))
        .act("list.add", |_| {
            Box::pin(async {
                let stop = Stop::new(Code::EffectPartial, "three of five items were written");
                let mut failure = Failure::new(stop, EffectState::PartiallyCommitted);
                failure.partial = Some(Box::new(Output {
                    effect: EffectState::PartiallyCommitted,
                    ..Output::committed(json!({"done": ["a", "b", "c"]}))
                }));
                Err(failure)
            })
        })
        .tool("list.remove", WRITE)
        .act("list.remove", move |attempt| {
            let input = attempt.input.clone().into_owned();
            let fails = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
            Box::pin(async move {
                match fails {
                    Ok(_) => {
                        let stop = Stop::new(Code::ExecutionFailed, "the list is locked");
                        Err(Failure::new(stop, effect))
                    }
                    Err(_) => Ok(Output::committed(input)),
                }
            })
        })
        .tool("list.lose", WRITE)
        .act("list.lose", |_| {
            Box::pin(async {
                let stop = Stop::new(Code::TimeoutUnknownCommit, "no answer came");
                Err(Failure::new(stop, EffectState::Unknown))
            })
        })
}

impl Stage {
    async fn told(&self, id: &InvocationId) -> Story {
        self.host.flush().await.unwrap();
        Story::fold(&self.store.story(id).await.unwrap()).unwrap()
    }

    /// Undoes a call and leaves the question to the inbox.
    async fn undo(&self, id: &InvocationId) -> Result<Envelope, Stop> {
        let manner = CallOptions { patience: Patience::Leave, ..CallOptions::default() };
        self.host.runtime().compensate(id, &self.agent(), manner).await
    }

    /// Undoes a call, and says yes.
    async fn undo_with_a_yes(&self, id: &InvocationId) -> Envelope {
        let asked = self.undo(id).await.unwrap();
        assert_eq!(asked.status, ResultStatus::Pending, "{asked:?}");
        self.answer(&asked.approval_id.unwrap(), self.yes()).await
    }

    async fn effect(&self, id: &InvocationId) -> EffectState {
        let filter = RunFilter { id: Some(id.clone()), ..RunFilter::default() };
        let run = self.store.runs(&filter).await.unwrap().remove(0);
        assert_eq!(run.effect_state, self.told(id).await.effect_state);
        run.effect_state
    }

    async fn refused(&self, id: &InvocationId) -> String {
        let before = self.store.runs(&RunFilter::default()).await.unwrap().len();
        let stop = self.undo(id).await.unwrap_err();
        assert_eq!(stop.code, Code::Conflict, "{stop:?}");
        let after = self.store.runs(&RunFilter::default()).await.unwrap().len();
        assert_eq!(before, after, "no call was made");
        stop.message.replace(id.as_str(), "it")
    }
}

async fn added(stage: &Stage) -> Envelope {
    let envelope = stage.call("list.add", json!({"order": 7})).await;
    let error = envelope.error.clone().unwrap();
    assert_eq!(
        (envelope.status, error.error_code, error.aruntime_code.as_str(), envelope.effect_state),
        (
            ResultStatus::PartialSucceeded,
            Code::EffectPartial,
            "partial-effect",
            EffectState::PartiallyCommitted
        )
    );
    envelope
}

/// The parts of a compensated call that must not change.
fn unchanged(story: &Story) -> Value {
    let mut record = story.records().remove(0).1;
    for name in ["effect_state", "compensated_by", "evidence_refs"] {
        record.as_object_mut().unwrap().remove(name);
    }
    record
}

#[tokio::test]
async fn partial_effect_and_compensation() {
    let stage = list(1, EffectState::NotCommitted).open();
    let original = added(&stage).await.invocation_id;
    assert_eq!(stage.canary.count(), 1, "it is not tried again");
    let before = stage.told(&original).await;

    let asked = stage.undo(&original).await.unwrap();
    let by = asked.invocation_id.clone();
    assert_eq!((asked.status, stage.canary.count()), (ResultStatus::Pending, 1), "it asks first");
    assert_eq!(stage.told(&by).await.compensates.as_ref(), Some(&original));
    assert_eq!(stage.refused(&original).await, format!("`it` is being undone by `{by}`"));

    let failed = stage.answer(&asked.approval_id.unwrap(), stage.yes()).await;
    let error = failed.error.clone().unwrap();
    assert_eq!(
        (
            error.error_code,
            error.aruntime_code.as_str(),
            &error.cause.to_json()["error"]["error_code"]
        ),
        (Code::CompensationFailed, "compensation.failed", &json!("execution.failed"))
    );
    assert_eq!(error.message, format!("undoing `{original}` failed: the list is locked"));
    assert_eq!((failed.invocation_id, failed.final_status), (by.clone(), Status::Failed));
    assert_eq!(stage.effect(&original).await, EffectState::CompensationFailed);
    let after = stage.told(&original).await;
    assert_eq!(unchanged(&after), unchanged(&before));
    assert_eq!(
        stage.host.reader().result(&original).await.unwrap(),
        Some(added_as(&before, &stage).await)
    );

    let undone = stage.undo_with_a_yes(&original).await;
    assert_eq!(undone.status, ResultStatus::Succeeded);
    assert_eq!(stage.effect(&original).await, EffectState::Compensated);
    let input = json!({"items": ["a", "b", "c"], "order": 7});
    assert_eq!(stage.canary.inputs()[1..], [input.clone(), input]);
    let undoings = stage.told(&original).await.undoings;
    let linked: Vec<_> = undoings.iter().map(|undoing| &undoing.by).collect();
    assert_eq!(linked, [&by, &undone.invocation_id]);
    assert_eq!(stage.refused(&original).await, "`it` was undone already");
    assert_eq!(unchanged(&stage.told(&original).await), unchanged(&before));
}

/// The result that the story names, byte for byte as it was kept.
async fn added_as(story: &Story, stage: &Stage) -> Envelope {
    let digest = &story.result.as_ref().unwrap().kept.digest;
    let bytes = stage.store.payload(&story.invocation_id, digest).await.unwrap().unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[tokio::test]
async fn undoing_that_is_refused_leaves_everything_as_it_was() {
    let stage = list(0, EffectState::None).open();
    let original = added(&stage).await.invocation_id;
    let asked = stage.undo(&original).await.unwrap();
    let rejected = stage.answer(&asked.approval_id.unwrap(), stage.no("keep them")).await;
    assert_eq!(rejected.error.unwrap().error_code, Code::ApprovalRejected);
    assert_eq!(stage.effect(&original).await, EffectState::PartiallyCommitted);

    let asked = stage.undo(&original).await.unwrap();
    stage.host.runtime().cancel(&asked.invocation_id, &stage.agent()).await.unwrap();
    assert_eq!(stage.effect(&original).await, EffectState::PartiallyCommitted);
    assert_eq!(stage.canary.count(), 1);
    assert_eq!(stage.undo_with_a_yes(&original).await.status, ResultStatus::Succeeded);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_compensations_of_one_call_admit_one() {
    let stage = Arc::new(list(0, EffectState::None).open());
    let original = added(&stage).await.invocation_id;
    let call = stage.host.runtime().compensation(&original, &stage.agent()).await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (stage, call) = (stage.clone(), call.clone());
        calls.spawn(async move {
            let manner = CallOptions { patience: Patience::Leave, ..CallOptions::default() };
            stage.host.runtime().call(call, manner).await
        });
    }
    let mut pending = 0;
    for envelope in calls.join_all().await {
        match envelope.error {
            None => pending += usize::from(envelope.status == ResultStatus::Pending),
            Some(error) => assert_eq!(error.error_code, Code::Conflict, "{error:?}"),
        }
    }
    assert_eq!(pending, 1);
    assert_eq!(stage.told(&original).await.undoings.len(), 1);
}

#[tokio::test]
async fn forged_compensation_claim_is_refused() {
    let stage = list(0, EffectState::None).open();
    let original = added(&stage).await.invocation_id;
    let mut call = Call::new(stage.agent(), "list.remove", json!({"items": ["z"]}));
    call.compensates = Some(original.clone());
    let envelope = stage.host.call(call).await;
    assert_eq!(envelope.error.unwrap().error_code, Code::Conflict);
    assert_eq!(stage.canary.count(), 1);
    assert_eq!(stage.effect(&original).await, EffectState::PartiallyCommitted);

    let other = stage.host.actor("agent:other");
    let stop = stage.host.runtime().compensation(&original, &other).await.unwrap_err();
    assert_eq!(stop.code, Code::PermissionDenied);
}

#[tokio::test]
async fn what_cannot_be_undone_is_refused_before_any_call() {
    let stage = list(0, EffectState::None).open();
    let lost = stage.call("list.lose", json!({})).await.invocation_id;
    assert_eq!(stage.refused(&lost).await, "the effect of `it` is unknown");
    let removed = stage.call("list.remove", json!({})).await.invocation_id;
    let words = "`list.remove@1` does not say how a call of it is undone";
    assert_eq!(stage.refused(&removed).await, words);

    let clock = Arc::new(StoppedClock::at(parse_timestamp("2026-01-31T12:00:00Z").unwrap()));
    let stage = list(0, EffectState::None).clock(clock.clone()).open();
    let original = added(&stage).await.invocation_id;
    clock.set(parse_timestamp("2026-02-01T12:00:01Z").unwrap());
    assert_eq!(stage.refused(&original).await, "`it` could be undone until 2026-02-01T12:00:00Z");
    clock.set(parse_timestamp("2026-02-01T12:00:00Z").unwrap());
    assert_eq!(stage.undo_with_a_yes(&original).await.status, ResultStatus::Succeeded);
}

#[tokio::test]
async fn approval_after_compensation_deadline_compensates_nothing() {
    let late = "2026-02-01T12:00:01Z";
    for (here, moment, code) in [
        (true, "2026-02-01T12:00:00Z", None),
        (true, late, Some(Code::Conflict)),
        (false, late, Some(Code::Conflict)),
    ] {
        let clock = Arc::new(StoppedClock::at(parse_timestamp("2026-01-31T12:00:00Z").unwrap()));
        let setting = list(0, EffectState::None).clock(clock.clone());
        let stage =
            setting.options(|options| options.question = Duration::from_secs(200_000)).open();
        let original = added(&stage).await.invocation_id;
        let asked = stage.undo(&original).await.unwrap();
        let id = asked.approval_id.unwrap();
        clock.set(parse_timestamp(moment).unwrap());
        let envelope = match here {
            true => stage.answer(&id, stage.yes()).await,
            false => {
                // A person approves elsewhere, and another process runs it.
                stage.host.runtime().answer(&id, stage.yes()).await.unwrap();
                stage.another(|_| {}).runtime().recover().await.unwrap().remove(0)
            }
        };
        assert_eq!(envelope.invocation_id, asked.invocation_id);
        let error = envelope.error;
        assert_eq!(error.as_ref().map(|error| error.error_code), code, "{moment} {error:?}");
        let (ran, effect) = match error {
            None => (2, EffectState::Compensated),
            Some(error) => {
                let words = format!("`{original}` could be undone until 2026-02-01T12:00:00Z");
                assert_eq!(error.message, words);
                (1, EffectState::PartiallyCommitted)
            }
        };
        assert_eq!((stage.canary.count(), stage.effect(&original).await), (ran, effect));
        assert_eq!(stage.told(&original).await.open_undoing(), None, "nothing is under way");
    }
}

#[tokio::test]
async fn unknown_compensation_must_be_settled_before_next_one() {
    for (what, effect) in [
        (ManualResolution::Committed, EffectState::Compensated),
        (ManualResolution::Absent, EffectState::CompensationFailed),
    ] {
        let clock = Arc::new(StoppedClock::at(parse_timestamp("2026-01-31T12:00:00Z").unwrap()));
        let stage = list(1, EffectState::Unknown).clock(clock.clone()).open();
        let original = added(&stage).await.invocation_id;
        let lost = stage.undo_with_a_yes(&original).await;
        assert_eq!(lost.effect_state, EffectState::Unknown);
        let by = &lost.invocation_id;
        let words = format!("it is unknown whether `{by}` undid it");
        assert_eq!(stage.refused(&original).await, words);
        let runtime = stage.host.runtime();
        clock.set(parse_timestamp("2026-01-31T12:02:00Z").unwrap());
        runtime.settle(by, what, &stage.owner(), "looked at the list").await.unwrap();
        assert_eq!(stage.effect(&original).await, effect);
        match what {
            ManualResolution::Committed => {
                assert_eq!(stage.refused(&original).await, "`it` was undone already");
            }
            ManualResolution::Absent => {
                let undone = stage.undo_with_a_yes(&original).await;
                assert_eq!(undone.status, ResultStatus::Succeeded);
                assert_eq!(stage.effect(&original).await, EffectState::Compensated);
            }
        }
    }
}

#[tokio::test]
async fn unknown_effect_is_settled_once_by_person_with_reason() {
    for (what, effect) in [
        (ManualResolution::Committed, EffectState::Committed),
        (ManualResolution::Absent, EffectState::NotCommitted),
    ] {
        let clock = Arc::new(StoppedClock::at(parse_timestamp("2026-01-31T12:00:00Z").unwrap()));
        let stage = list(0, EffectState::None).clock(clock.clone()).open();
        let lost = stage.call("list.lose", json!({})).await.invocation_id;
        clock.set(parse_timestamp("2026-01-31T12:02:00Z").unwrap());
        let unknown = RunFilter { unknown: true, ..RunFilter::default() };
        let before = stage.store.runs(&unknown).await.unwrap();
        assert_eq!(before.len(), 1);
        let settle = async |by, reason: &str| {
            let settled = stage.host.runtime().settle(&lost, what, &by, reason).await;
            settled.map_err(|stop| stop.code)
        };
        assert_eq!(settle(stage.agent(), "sure").await, Err(Code::PermissionDenied));
        assert_eq!(settle(stage.owner(), " ").await, Err(Code::InputValue));
        assert_eq!(settle(stage.owner(), "the list has it").await, Ok(()));
        assert_eq!(settle(stage.owner(), "the list has it").await, Err(Code::Conflict));
        assert_eq!(stage.effect(&lost).await, effect);
        assert_eq!(stage.store.runs(&unknown).await.unwrap(), []);
        let mut after = stage.store.runs(&RunFilter::default()).await.unwrap().remove(0);
        after.effect_state = EffectState::Unknown;
        assert_eq!([after], before[..], "nothing but the effect changed");
        assert_eq!(stage.events(&lost).await.last().unwrap(), "haft.effect.settled");
    }
}

/// Whether an entry tells a call that its undoing is over.
fn tells_of_an_end(draft: &Draft) -> bool {
    draft.facts.iter().any(|fact| matches!(fact.event, Event::CompensationEnded(_)))
}

/// Loses the first word about the end of an undoing, as a process does that dies before it.
struct Forgetful(AtomicUsize);

impl Meddler for Forgetful {
    fn append<'a>(
        &'a self,
        store: &'a dyn Store,
        draft: Draft,
        wait: Wait,
    ) -> BoxFuture<'a, Result<Receipt, Error>> {
        if tells_of_an_end(&draft) && self.0.fetch_add(1, Ordering::SeqCst) == 0 {
            return Box::pin(async { Err(Error::Closed) });
        }
        store.append(draft, wait)
    }
}

#[tokio::test]
async fn unrecorded_compensation_outcome_is_applied_on_next_request() {
    for (failures, effect, words) in [
        (0, EffectState::Compensated, Some("`it` was undone already")),
        (1, EffectState::CompensationFailed, None),
    ] {
        let forgetful = Forgetful(AtomicUsize::new(0));
        let store = Arc::new(MeddledStore::new(Arc::new(MemoryStore::new()), forgetful));
        let stage = list(failures, EffectState::NotCommitted).store(store).open();
        let original = added(&stage).await.invocation_id;
        stage.undo_with_a_yes(&original).await;
        assert_eq!(stage.effect(&original).await, EffectState::PartiallyCommitted);
        match words {
            Some(words) => assert_eq!(stage.refused(&original).await, words),
            None => {
                let call = stage.host.runtime().compensation(&original, &stage.agent()).await;
                assert_eq!(call.unwrap().compensates, Some(original.clone()));
            }
        }
        assert_eq!(stage.effect(&original).await, effect);
    }
}

/// Hangs at the first word about the end of an undoing, so that a process can die there.
struct Hanging {
    hangs: AtomicUsize,
    reached: Arc<tokio::sync::Notify>,
}

impl Meddler for Hanging {
    fn append<'a>(
        &'a self,
        store: &'a dyn Store,
        draft: Draft,
        wait: Wait,
    ) -> BoxFuture<'a, Result<Receipt, Error>> {
        if tells_of_an_end(&draft) && self.hangs.fetch_add(1, Ordering::SeqCst) == 0 {
            self.reached.notify_one();
            return Box::pin(std::future::pending());
        }
        store.append(draft, wait)
    }
}

#[tokio::test]
async fn recovery_records_compensation_outcome_on_original_call() {
    for (failures, effect) in [(0, EffectState::Compensated), (1, EffectState::CompensationFailed)]
    {
        let reached = Arc::new(tokio::sync::Notify::new());
        let hanging = Hanging { hangs: AtomicUsize::new(0), reached: reached.clone() };
        let store = Arc::new(MeddledStore::new(Arc::new(MemoryStore::new()), hanging));
        let stage = list(failures, EffectState::NotCommitted).store(store).open();
        let original = added(&stage).await.invocation_id;
        let waiting = added(&stage).await.invocation_id;
        let asked = stage.undo(&original).await.unwrap();
        let still_asked = stage.undo(&waiting).await.unwrap().invocation_id;
        let id = asked.approval_id.unwrap();
        tokio::select! {
            _ = stage.host.runtime().answer_and_run(&id, stage.yes()) => panic!("it ended"),
            () = reached.notified() => {}
        }
        let by = asked.invocation_id;
        assert!(stage.told(&by).await.ended_at.is_some(), "the undoing is over");
        assert_eq!(stage.effect(&original).await, EffectState::PartiallyCommitted);

        let other = stage.another(|_| {});
        let settled = other.runtime().recover().await.unwrap();
        assert_eq!(settled, [], "no call was open that nobody waits for");
        assert_eq!(stage.effect(&original).await, effect);
        let open = stage.store.undoings().await.unwrap();
        assert_eq!(open, [OpenUndoing { original: waiting, by: still_asked }]);
        let told = stage.told(&original).await.undoings;
        assert_eq!((told.len(), &told[0].by, told[0].effect), (1, &by, Some(effect)));
        let entries = stage.told(&original).await.entries;
        other.runtime().recover().await.unwrap();
        assert_eq!(stage.told(&original).await.entries, entries, "it is told once");
    }
}

#[tokio::test]
async fn crashed_compensation_fails_and_must_be_settled_first() {
    let began = Arc::new(tokio::sync::Notify::new());
    let hangs = began.clone();
    let clock = Arc::new(StoppedClock::at(parse_timestamp("2026-01-31T12:00:00Z").unwrap()));
    let stage = list(0, EffectState::None)
        .clock(clock.clone())
        .act("list.remove", move |_| {
            hangs.notify_one();
            Box::pin(std::future::pending())
        })
        .open();
    let original = added(&stage).await.invocation_id;
    let asked = stage.undo(&original).await.unwrap();
    let by = asked.invocation_id;
    let id = asked.approval_id.unwrap();
    tokio::select! {
        _ = stage.host.runtime().answer_and_run(&id, stage.yes()) => panic!("it ended"),
        () = began.notified() => {}
    }
    clock.set(parse_timestamp("2026-01-31T12:01:00Z").unwrap());
    let other = stage.another(|_| {});
    let ended = other.runtime().recover().await.unwrap();
    assert_eq!(ended.len(), 1);
    let error = ended[0].error.as_ref().unwrap();
    assert_eq!((&ended[0].invocation_id, error.error_code), (&by, Code::CompensationFailed));
    assert_eq!(stage.effect(&original).await, EffectState::CompensationFailed);
    let words = format!("it is unknown whether `{by}` undid it");
    assert_eq!(stage.refused(&original).await, words);
}
