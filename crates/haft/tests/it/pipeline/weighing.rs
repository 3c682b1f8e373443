//! Authorization tests: the most restrictive opinion wins, and every refusal names its source.

use haft_driver::HookAnswer;
use haft_model::{Code, HookPoint, Layer, ResultStatus, Says, Status};
use serde_json::json;

use crate::stage::{READ, Scripted, Setting, WRITE, extras};
use crate::story::checked;

pub(crate) fn says(name: &'static str, says: Says) -> Scripted {
    Scripted::new(name, HookPoint::PreToolUse, move |_| {
        Ok(HookAnswer { opinion: Some((says, "it thinks so".into())), ..HookAnswer::default() })
    })
}

#[tokio::test]
async fn deny_rule_outweighs_trusted_hook() {
    let hook = Scripted { trusted: true, ..says("friend", Says::Allow) };
    let stage = Setting::default()
        .tool("note.show", READ)
        .settings("[[rule]]\ntool = \"note.*\"\nverdict = \"deny\"\nreason = \"closed\"\n")
        .hook(hook)
        .open();
    let envelope = stage.call("note.show", json!({})).await;
    let error = envelope.error.clone().unwrap();
    assert_eq!(
        (error.error_code, envelope.status, envelope.final_status, envelope.is_error),
        (Code::PermissionDenied, ResultStatus::Denied, Status::Denied, true)
    );
    assert_eq!(error.message, "closed");
    assert_eq!(error.cause, json!({"layer": Layer::Rule, "rule": "haft.toml#0"}));
    checked(&stage, &envelope).await;
    assert_eq!(stage.canary.count(), 0);
}

#[tokio::test]
async fn a_hook_that_denies_outweighs_a_rule_that_allows() {
    let stage = Setting::default()
        .tool("note.show", READ)
        .settings("[[rule]]\ntool = \"note.*\"\nverdict = \"allow\"\n")
        .hook(says("foe", Says::Deny))
        .open();
    let envelope = stage.call("note.show", json!({})).await;
    assert_eq!(envelope.error.clone().unwrap().error_code, Code::PermissionDenied);
    checked(&stage, &envelope).await;
    assert_eq!(stage.canary.count(), 0);
}

#[tokio::test]
async fn ask_rule_outweighs_auto_contract() {
    let stage = Setting::default()
        .tool("note.show", READ)
        .settings("[[rule]]\ntool = \"note.*\"\nverdict = \"ask\"\n")
        .open();
    let pending = stage.call_and_leave("note.show", json!({})).await;
    assert_eq!(pending.status, ResultStatus::Pending);
    assert_eq!(stage.canary.count(), 0);
}

#[tokio::test]
async fn hook_named_trusted_answers_no_ask_rule_unless_trusted() {
    for (name, trusted, status, count) in [
        ("trusted:x", false, ResultStatus::Pending, 0),
        ("x", false, ResultStatus::Pending, 0),
        ("x", true, ResultStatus::Succeeded, 1),
    ] {
        let stage = Setting::default()
            .tool("note.show", READ)
            .settings("[[rule]]\ntool = \"note.*\"\nverdict = \"ask\"\n")
            .hook(Scripted { trusted, ..says(name, Says::Allow) })
            .open();
        let envelope = stage.call_and_leave("note.show", json!({})).await;
        assert_eq!((envelope.status, stage.canary.count()), (status, count), "{name}, {trusted}");
    }
}

#[tokio::test]
async fn what_is_suggested_beside_an_ask_changes_nothing() {
    let stage = Setting::default().tool("note.keep", WRITE).open();
    for number in 0..2 {
        let pending = stage.call_and_leave("note.keep", json!({"number": number})).await;
        assert_eq!(pending.status, ResultStatus::Pending);
    }
    let records = stage.store.questions(&haft_ledger::QuestionFilter::default()).await.unwrap();
    assert_eq!(records.len(), 2);
    for record in records {
        assert!(!record.question.decision.suggested_updates.is_empty());
    }
    assert_eq!(stage.canary.count(), 0);
}

#[tokio::test]
async fn ask_verdict_denies_in_noninteractive_workspace() {
    let stage = Setting::default()
        .tool("note.keep", WRITE)
        .settings("[workspace]\nnon_interactive = \"deny\"")
        .hook(says("shrug", Says::Passthrough))
        .open();
    let envelope = stage.call("note.keep", json!({})).await;
    assert_eq!(
        (envelope.error.clone().unwrap().error_code, envelope.status, envelope.final_status),
        (Code::ApprovalRequired, ResultStatus::Denied, Status::Denied)
    );
    checked(&stage, &envelope).await;
    assert_eq!(stage.canary.count(), 0);
}

#[tokio::test]
async fn a_policy_that_does_not_exist_denies() {
    let named = "mutates: []\nrisk_level: 0\napproval: \"policy:nowhere\"\n";
    let stage = Setting::default().lenient().tool("note.show", named).open();
    let envelope = stage.call("note.show", json!({})).await;
    let error = envelope.error.clone().unwrap();
    assert_eq!(
        (error.error_code, envelope.status, envelope.final_status),
        (Code::PolicyBlocked, ResultStatus::Denied, Status::Denied)
    );
    assert!(error.message.contains("nowhere"), "{}", error.message);
    checked(&stage, &envelope).await;
    assert_eq!(stage.canary.count(), 0);
}

#[tokio::test]
async fn a_standing_answer_is_given_once_and_taken_back() {
    let stage = Setting::default().tool("note.keep", WRITE).open();
    let pending = stage.call_and_leave("note.keep", json!({})).await;
    let id = pending.approval_id.unwrap();
    stage.answer(&id, haft_runtime::Reply { always: true, ..stage.yes() }).await;
    let second = stage.call_and_leave("note.keep", json!({"b": 1})).await;
    assert_eq!((second.error.clone(), stage.canary.count()), (None, 2));
    stage.host.runtime().revoke(&id, &stage.owner()).await.unwrap();
    let third = stage.call_and_leave("note.keep", json!({"c": 1})).await;
    assert_eq!((third.status, stage.canary.count()), (ResultStatus::Pending, 2));
}

#[tokio::test]
async fn noninteractive_contract_denies_call_that_needs_approval() {
    let stage =
        Setting::default().tool("note.keep", &extras(WRITE, "{ non_interactive: deny }")).open();
    let envelope = stage.call("note.keep", json!({})).await;
    assert_eq!(envelope.error.unwrap().error_code, Code::ApprovalRequired);
}

#[tokio::test]
async fn a_result_names_the_rules_that_had_a_say() {
    let stage = Setting::default()
        .tool("note.keep", WRITE)
        .settings("[[rule]]\ntool = \"note.*\"\nverdict = \"allow\"\n")
        .open();
    let envelope = stage.call("note.keep", json!({})).await;
    assert_eq!((envelope.error, envelope.policy_refs), (None, vec!["haft.toml#0".to_owned()]));
}
