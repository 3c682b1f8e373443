//! Smoke tests: the plainest calls.

use haft_model::{ResultStatus, Status};
use serde_json::json;

use crate::stage::{READ, Setting, WRITE};

#[tokio::test]
async fn a_read_runs_and_leaves_its_story() {
    let stage = Setting::default().tool("note.show", READ).open();
    let envelope = stage.call("note.show", json!({"a": 1})).await;
    assert_eq!(envelope.error, None);
    assert_eq!(
        (envelope.status, envelope.final_status),
        (ResultStatus::Succeeded, Status::Succeeded)
    );
    assert_eq!(envelope.structured_content, Some(json!({"a": 1})));
    assert_eq!(stage.canary.count(), 1);
    assert_eq!(
        stage.events(&envelope.invocation_id).await,
        [
            "tool.invocation.planned",
            "tool.invocation.selected",
            "tool.invocation.arguments_ready",
            "tool.permission.decided",
            "tool.invocation.queued",
            "tool.invocation.started",
            "haft.attempt.ended",
            "tool.result.persisted",
            "tool.result.created",
            "tool.invocation.yielded",
            "tool.invocation.succeeded",
        ]
    );
    let facts = stage.facts(&envelope.invocation_id).await;
    let phases: Vec<_> =
        facts.iter().flat_map(|fact| &fact.phases).map(|line| line.phase.number()).collect();
    assert_eq!(phases, [1, 3, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
}

#[tokio::test]
async fn agent_write_awaits_approval_and_approver_runs_it() {
    let stage = Setting::default().tool("note.keep", WRITE).open();
    let pending = stage.call_and_leave("note.keep", json!({"a": 1})).await;
    assert_eq!(
        (pending.status, pending.final_status),
        (ResultStatus::Pending, Status::AwaitingApproval)
    );
    assert_eq!(stage.canary.count(), 0);
    let reply = haft_runtime::Reply {
        by: stage.owner(),
        approves: true,
        reason: None,
        edited_input: None,
        content: None,
        always: false,
        channel: "inbox".into(),
    };
    let id = pending.approval_id.clone().unwrap();
    let answered = stage.host.runtime().answer_and_run(&id, reply).await.unwrap();
    let haft_runtime::AnswerOutcome::CarriedOut(envelope) = answered else {
        panic!("{answered:?}")
    };
    assert_eq!(envelope.error, None);
    assert_eq!(envelope.invocation_id, pending.invocation_id);
    assert_eq!(stage.canary.count(), 1);
    let events = stage.events(&envelope.invocation_id).await;
    assert_eq!(events.last().unwrap(), "tool.invocation.succeeded");
}
