//! Approval tests: across a crash, for exactly one plan, answered once.

use std::sync::Arc;
use std::time::Duration;

use haft_driver::Output;
use haft_ledger::{MemoryStore, QuestionFilter};
use haft_model::{
    Call, Code, Event, Fact, QuestionState, ResultStatus, Status, Timestamp, Verdict,
};
use haft_runtime::{AnswerOutcome, CallOptions, RecoveryOutcome, Reply, StoppedClock};
use serde_json::json;
use tokio::sync::Notify;

use crate::stage::{LAUNCHER, READ, Setting, Stage, WRITE};
use crate::story::checked;

const TOOL: &str = ".tools/note.keep/TOOL.md";

fn setting() -> Setting {
    Setting::default().tool("note.keep", WRITE)
}

/// The verdicts that were reached about a call, those of questions included.
fn verdicts(facts: &[Fact]) -> Vec<Verdict> {
    let verdict = |fact: &Fact| match &fact.event {
        Event::PermissionRequested(question) => Some(question.decision.verdict),
        Event::PermissionDecided(decided) => Some(decided.decision.verdict),
        _ => None,
    };
    facts.iter().filter_map(verdict).collect()
}

async fn states(stage: &Stage) -> Vec<QuestionState> {
    let records = stage.store.questions(&QuestionFilter::default()).await.unwrap();
    records.iter().map(|record| record.state).collect()
}

#[tokio::test]
async fn a_question_outlives_the_process_that_asked_it() {
    let stage = setting().open();
    let pending = stage.call_and_leave("note.keep", json!({"a": 1})).await;
    let other = stage.another(|_| {});
    let Stage { host, canary, store, folder: _folder, .. } = stage;
    drop(host);
    let settled = other.runtime().recover().await.unwrap();
    assert_eq!(settled, [], "a call that waits for people goes on waiting");
    let reply = Reply {
        by: other.owner("ana"),
        approves: true,
        reason: None,
        edited_input: None,
        content: None,
        always: false,
        channel: "inbox".into(),
    };
    let id = pending.approval_id.unwrap();
    let answered = other.runtime().answer_and_run(&id, reply.clone()).await.unwrap();
    let AnswerOutcome::CarriedOut(envelope) = answered else { panic!("{answered:?}") };
    assert_eq!(envelope.error, None);
    assert_eq!(envelope.invocation_id, pending.invocation_id);
    assert_eq!(canary.count(), 1);
    let story = other.reader().story(&envelope.invocation_id).await.unwrap();
    let facts: Vec<Fact> =
        story.iter().flat_map(|entry| haft_runtime::Reader::facts(entry).unwrap()).collect();
    assert_eq!(verdicts(&facts), [Verdict::Ask, Verdict::Allow]);
    crate::story::ends_once(&facts, &envelope);
    crate::story::follows_the_table(&facts);
    crate::story::passes_every_phase_once(&facts);
    let records = store.questions(&QuestionFilter::default()).await.unwrap();
    assert_eq!(records.len(), 1, "nobody is asked twice");
    let again = other.runtime().answer_and_run(&id, reply).await.unwrap_err();
    assert!(matches!(again.code, Code::Conflict | Code::PermissionDenied), "{again:?}");
    assert_eq!(canary.count(), 1);
}

#[tokio::test]
async fn expired_lease_of_dead_process_is_taken_over() {
    let store = Arc::new(MemoryStore::new());
    let stage = setting()
        .store(store.clone())
        .options(|options| options.lease = Duration::from_millis(300))
        .open();
    let other = stage.another(|_| {});
    let call = Call::new(stage.agent(), "note.keep", json!({}));
    let waiting = stage.host.runtime().call(call, CallOptions::default());
    // The first process dies while it waits: its lease is never given back.
    tokio::time::timeout(Duration::from_millis(50), waiting).await.unwrap_err();
    let records = stage.store.questions(&QuestionFilter::default()).await.unwrap();
    let id = records[0].question.id.clone();
    assert_eq!(stage.canary.count(), 0);
    let answered = other.runtime().answer_and_run(&id, stage.yes()).await.unwrap();
    let AnswerOutcome::CarriedOut(envelope) = answered else { panic!("{answered:?}") };
    assert_eq!((envelope.error.clone(), stage.canary.count()), (None, 1));
    let facts = checked(&stage, &envelope).await;
    assert!(facts.iter().any(|fact| matches!(fact.event, Event::TakenOver(_))));
}

#[tokio::test]
async fn approval_in_same_process_leaves_call_to_its_caller() {
    let stage = setting().open();
    let calling = stage.call("note.keep", json!({}));
    let answering = async {
        let id = loop {
            let records = stage.store.questions(&QuestionFilter::default()).await.unwrap();
            if let [record] = records.as_slice() {
                break record.question.id.clone();
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(stage.host.runtime().recover().await.unwrap(), []);
        stage.host.runtime().answer_and_run(&id, stage.yes()).await.unwrap()
    };
    let (envelope, answered) = tokio::join!(calling, answering);
    assert_eq!((envelope.error.clone(), stage.canary.count()), (None, 1));
    assert!(matches!(answered, AnswerOutcome::Passed), "{answered:?}");
    checked(&stage, &envelope).await;
}

/// What becomes of an approval after something changed: asked again, nothing run, the old on record.
async fn asked_again(stage: &Stage, change: impl FnOnce(&Stage)) {
    let pending = stage.call_and_leave("note.keep", json!({"a": 1})).await;
    let first = pending.approval_id.clone().unwrap();
    change(stage);
    let answered = stage.host.runtime().answer_and_run(&first, stage.yes()).await.unwrap();
    assert!(matches!(answered, AnswerOutcome::StillOpen), "{answered:?}");
    assert_eq!(stage.canary.count(), 0);
    assert_eq!(states(stage).await, [QuestionState::Withdrawn, QuestionState::Open]);
    let facts = stage.facts(&pending.invocation_id).await;
    assert_eq!(verdicts(&facts), [Verdict::Ask, Verdict::Ask]);
    let open = QuestionFilter { open: true, ..QuestionFilter::default() };
    let second = stage.store.questions(&open).await.unwrap()[0].question.id.clone();
    assert_ne!(first, second);
    let envelope = stage.answer(&second, stage.yes()).await;
    assert_eq!((envelope.error.clone(), stage.canary.count()), (None, 1));
    checked(stage, &envelope).await;
}

#[tokio::test]
async fn another_input_than_the_one_approved_asks_again() {
    let stage = setting().open();
    asked_again(&stage, |stage| {
        stage.rewrite(TOOL, |text| {
            let open = "inputs: { type: object }";
            assert!(text.contains(open));
            text.replace(open, "inputs: { type: object, properties: { b: { default: 2 } } }")
        });
    })
    .await;
    assert_eq!(stage.canary.inputs(), [json!({"a": 1, "b": 2})]);
}

#[tokio::test]
async fn another_version_than_the_one_approved_asks_again() {
    let stage = setting().open();
    asked_again(&stage, |stage| {
        stage.rewrite(TOOL, |text| text.replace("version: 1.0.0", "version: 1.0.1"));
    })
    .await;
}

#[tokio::test]
async fn another_driver_than_the_one_approved_asks_again() {
    let stage = setting().open();
    asked_again(&stage, |stage| {
        stage.rewrite(".drivers/canary/DRIVER.md", |text| {
            text.replace("version: 1.0.0", "version: 1.1.0")
        });
    })
    .await;
}

#[tokio::test]
async fn a_rule_that_came_while_people_thought_is_heeded() {
    let stage = setting().open();
    let pending = stage.call_and_leave("note.keep", json!({})).await;
    stage.rewrite("haft.toml", |_| {
        "[[rule]]\ntool = \"note.*\"\nverdict = \"deny\"\nreason = \"not any more\"\n".to_owned()
    });
    let envelope = stage.answer(&pending.approval_id.unwrap(), stage.yes()).await;
    assert_eq!(envelope.error.clone().unwrap().error_code, Code::PermissionDenied);
    assert_eq!(stage.canary.count(), 0);
    let facts = checked(&stage, &envelope).await;
    assert_eq!(verdicts(&facts), [Verdict::Ask, Verdict::Deny]);
    assert!(states(&stage).await.iter().all(|state| *state != QuestionState::Open));
}

#[tokio::test]
async fn approval_for_removed_tool_withdraws_question_and_fails_call() {
    let stage = setting().open();
    let pending = stage.call_and_leave("note.keep", json!({})).await;
    std::fs::remove_file(stage.folder.path().join(TOOL)).unwrap();
    stage.host.reload().unwrap();
    let envelope = stage.answer(&pending.approval_id.unwrap(), stage.yes()).await;
    assert_eq!(envelope.error.clone().unwrap().error_code, Code::ToolUnknown);
    assert_eq!((envelope.final_status, stage.canary.count()), (Status::Failed, 0));
    assert_eq!(states(&stage).await, [QuestionState::Withdrawn]);
}

#[tokio::test]
async fn late_approval_is_refused_and_expires_call() {
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let clock = Arc::new(StoppedClock::at(start));
    let stage = setting().clock(clock.clone()).open();
    let pending = stage.call_and_leave("note.keep", json!({})).await;
    clock.set("2026-01-03T00:00:00Z".parse().unwrap());
    let id = pending.approval_id.unwrap();
    let late = stage.host.runtime().answer_and_run(&id, stage.yes()).await.unwrap_err();
    assert_eq!(late.code, Code::ApprovalExpired);
    let settled = stage.host.runtime().recover().await.unwrap();
    let [envelope] = settled.as_slice() else { panic!("{settled:?}") };
    assert_eq!(
        (envelope.error.as_ref().unwrap().error_code, envelope.status, envelope.final_status),
        (Code::ApprovalExpired, ResultStatus::Rejected, Status::Denied)
    );
    assert_eq!(states(&stage).await, [QuestionState::Expired]);
    assert_eq!(stage.canary.count(), 0);
    checked(&stage, envelope).await;
}

#[tokio::test]
async fn permit_expired_in_queue_requires_new_approval() {
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let clock = Arc::new(StoppedClock::at(start));
    let (entered, release) =
        (Arc::new(tokio::sync::Notify::new()), Arc::new(tokio::sync::Notify::new()));
    let (told, go) = (entered.clone(), release.clone());
    let stage = setting()
        .tool("note.hold", WRITE)
        .act("note.hold", move |_| {
            let (told, go) = (told.clone(), go.clone());
            Box::pin(async move {
                told.notify_one();
                go.notified().await;
                Ok(haft_driver::Output::committed(json!({})))
            })
        })
        .settings("[[rule]]\ntool = \"note.*\"\nverdict = \"allow\"\n")
        .clock(clock.clone())
        .open();
    let holding = stage.call("note.hold", json!({}));
    let waiting = async {
        entered.notified().await;
        let waiting = stage.call_and_leave("note.keep", json!({}));
        let passing = async {
            // It is shown to others that it waits, and then its hour is over.
            let filter =
                haft_ledger::RunFilter { status: vec![Status::Queued], ..Default::default() };
            while stage.store.runs(&filter).await.unwrap().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            clock.set("2026-01-01T02:00:00Z".parse().unwrap());
            release.notify_one();
        };
        tokio::join!(waiting, passing).0
    };
    let (held, pending) = tokio::join!(holding, waiting);
    assert_eq!(held.error, None);
    assert_eq!((pending.status, stage.canary.count()), (ResultStatus::Pending, 1));
    let envelope = stage.answer(&pending.approval_id.unwrap(), stage.yes()).await;
    assert_eq!((envelope.error.clone(), stage.canary.count()), (None, 2));
    let facts = checked(&stage, &envelope).await;
    assert_eq!(verdicts(&facts), [Verdict::Allow, Verdict::Ask, Verdict::Allow]);
}

#[tokio::test]
async fn an_answer_is_for_one_question_and_given_once() {
    let stage = setting().open();
    let first = stage.call_and_leave("note.keep", json!({"a": 1})).await;
    let second = stage.call_and_leave("note.keep", json!({"a": 2})).await;
    let (one, two) = (first.approval_id.unwrap(), second.approval_id.unwrap());
    assert_ne!(one, two);
    stage.answer(&one, stage.yes()).await;
    assert_eq!(stage.canary.count(), 1);
    for _ in 0..2 {
        stage.host.runtime().answer_and_run(&one, stage.yes()).await.unwrap_err();
    }
    let recovered = stage.host.runtime().take_over(&second.invocation_id).await.unwrap();
    assert!(matches!(recovered, RecoveryOutcome::StillWaiting), "{recovered:?}");
    assert_eq!(stage.canary.count(), 1, "the yes to one call let another run");
    let nobody = Reply { by: stage.agent(), ..stage.yes() };
    let refused = stage.host.runtime().answer(&two, nobody).await.unwrap_err();
    assert_eq!(refused.code, Code::PermissionDenied);
    let silent = Reply { reason: None, ..stage.no("") };
    assert_eq!(stage.host.runtime().answer(&two, silent).await.unwrap_err().code, Code::InputValue);
    let envelope = stage.answer(&two, stage.no("not today")).await;
    assert_eq!(
        (envelope.error.clone().unwrap().error_code, envelope.status, envelope.final_status),
        (Code::ApprovalRejected, ResultStatus::Rejected, Status::Denied)
    );
    checked(&stage, &envelope).await;
    assert_eq!(stage.canary.count(), 1);
}

#[tokio::test]
async fn slow_read_is_not_recovered_as_dead() {
    let (entered, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, waited) = (entered.clone(), go_on.clone());
    let stage = Setting::default()
        .tool("note.show", READ)
        .act("note.show", move |attempt| {
            let (told, waited) = (told.clone(), waited.clone());
            Box::pin(async move {
                attempt.link.progress(Default::default()).await;
                told.notify_one();
                waited.notified().await;
                Ok(Output::read(json!({})))
            })
        })
        .open();
    let other = stage.another(|_| {});
    let (envelope, recovered) = tokio::join!(stage.call("note.show", json!({})), async {
        entered.notified().await;
        // What was shown of it is on record before the other process looks.
        let open = haft_ledger::RunFilter { open: true, ..Default::default() };
        while stage.store.runs(&open).await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        let recovered = other.runtime().recover().await.unwrap();
        go_on.notify_one();
        recovered
    });
    assert_eq!((recovered, envelope.error.clone()), (Vec::new(), None));
    checked(&stage, &envelope).await;
}

#[test]
fn questions_of_an_ordinary_user_are_answered_alike() {
    let Some(user) = haft_testkit::OrdinaryUser::new() else { return };
    let user = user.with(LAUNCHER, env!("CARGO_BIN_EXE_haft-test-launcher"));
    user.run(&["pipeline::approval::", "pipeline::permits::", "pipeline::weighing::"]);
}
