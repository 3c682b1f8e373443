//! Hook events: the six events that trigger a hook, and the order of hooks.

use haft_driver::{Failure, Output};
use haft_model::{Code, EffectState, HookPoint, ResultStatus, Status, Stop};
use serde_json::json;

use crate::hooks::{ALLOW, hooked, runs, saying, scripted};
use crate::stage::{Setting, WRITE};

#[tokio::test]
async fn every_point_is_heard_at_its_time() {
    let mut setting = Setting::default().tool("note.it", WRITE).tool("note.fail", WRITE);
    for point in HookPoint::ALL {
        setting = scripted(setting, point.name(), point.name(), "cat > /dev/null\n");
    }
    let stage = setting
        .act("note.fail", |_| {
            Box::pin(async {
                let stop = Stop::new(Code::ExecutionFailed, "it failed");
                Err(Failure::new(stop, EffectState::NotCommitted))
            })
        })
        .open();
    let mut heard = Vec::new();
    for tool in ["note.it", "note.fail"] {
        let asked = stage.call_and_leave(tool, json!({})).await;
        let envelope = stage.answer(&asked.approval_id.unwrap(), stage.yes()).await;
        let points = runs(&stage, &envelope).await;
        heard.push(points.iter().map(|run| run.point.name()).collect::<Vec<_>>());
    }
    let before = ["pre_tool_use", "permission_request", "permission_decision"];
    assert_eq!(heard[0], [&before[..], &["post_tool_use", "result_persistence"]].concat());
    assert_eq!(heard[1], [&before[..], &["post_tool_use_failure"]].concat());
}

#[tokio::test]
async fn hooks_are_heard_in_the_order_of_the_file() {
    let add = |letter: &str| {
        format!(
            "input=$(sed 's/.*\"observable_input\":{{\"text\":\"\\([a-z]*\\)\".*/\\1/')
            echo \"{{\\\"updated_input\\\": {{\\\"text\\\": \\\"${{input}}{letter}\\\"}}}}\"\n"
        )
    };
    let mut setting = Setting::default().tool("note.it", WRITE).settings(ALLOW);
    for letter in ["c", "a", "b"] {
        setting = scripted(setting, "pre_tool_use", letter, &add(letter));
    }
    let stage = setting.open();
    let envelope = stage.call("note.it", json!({"text": "x"})).await;
    assert_eq!(envelope.error, None);
    assert_eq!(stage.canary.inputs(), [json!({"text": "xcab"})]);
    let names: Vec<_> = runs(&stage, &envelope).await.into_iter().map(|run| run.hook).collect();
    assert_eq!(names, ["sh hooks/c", "sh hooks/a", "sh hooks/b"]);
}

#[tokio::test]
async fn permission_decision_hook_may_still_block_allowed_call() {
    let cases = [
        (r#"{"stop": "not now"}"#, Code::HookBlocked, "hook `sh hooks/one`: not now"),
        (
            r#"{"permission": {"behavior": "deny", "reason": "not now"}}"#,
            Code::HookBlocked,
            "hook `sh hooks/one`: not now",
        ),
        (
            "nonsense",
            Code::HookFailed,
            "hook `sh hooks/one`: it could not be heard: its answer is not what a hook can say: it is not a JSON object; it answered `nonsense`; at `permission_decision` it may say nothing, or one JSON object with any of `message`, `progress`, `additional_context`, `stop`, `permission`",
        ),
    ];
    for (says, code, message) in cases {
        let stage = hooked("permission_decision", &saying(says)).open();
        let envelope = stage.call("note.it", json!({})).await;
        let error = envelope.error.clone().unwrap();
        assert_eq!((error.error_code, error.message.as_str()), (code, message));
        let blocked = code == Code::HookBlocked;
        let ends = if blocked { Status::Denied } else { Status::Failed };
        assert_eq!((envelope.final_status, stage.canary.count()), (ends, 0));
        assert_eq!(envelope.effect_state, EffectState::NotSubmitted);
        assert_eq!(runs(&stage, &envelope).await.len(), 1);
    }
    // The same after a person said yes.
    let stage = scripted(
        Setting::default().tool("note.it", WRITE),
        "permission_decision",
        "one",
        &saying(r#"{"stop": "not now"}"#),
    )
    .open();
    let asked = stage.call_and_leave("note.it", json!({})).await;
    let envelope = stage.answer(&asked.approval_id.unwrap(), stage.yes()).await;
    assert_eq!(envelope.error.clone().unwrap().error_code, Code::HookBlocked);
    assert_eq!((envelope.final_status, stage.canary.count()), (Status::Denied, 0));
    runs(&stage, &envelope).await;
}

#[tokio::test]
async fn permission_decision_hook_cannot_change_denied_call() {
    let deny = "[[rule]]\ntool = \"*\"\nverdict = \"deny\"\nreason = \"closed\"\n";
    for says in
        [r#"{"stop": "not now"}"#, r#"{"permission": {"behavior": "allow", "reason": "x"}}"#]
    {
        let setting = Setting::default().tool("note.it", WRITE).settings(deny);
        let stage = scripted(setting, "permission_decision", "one", &saying(says)).open();
        let envelope = stage.call("note.it", json!({})).await;
        let error = envelope.error.clone().unwrap();
        assert_eq!((error.error_code, error.message.as_str()), (Code::PermissionDenied, "closed"));
        assert_eq!(runs(&stage, &envelope).await.len(), 1);
    }
}

#[tokio::test]
async fn permission_request_hook_may_allow_or_deny_without_approver() {
    let cases = [("allow", ResultStatus::Succeeded), ("deny", ResultStatus::Denied)];
    for (behavior, status) in cases {
        let says = format!(r#"{{"permission": {{"behavior": "{behavior}", "reason": "r"}}}}"#);
        let setting = Setting::default().tool("note.it", WRITE);
        let hook = "[[hook]]\nevent = \"permission_request\"\nrun = [\"sh\", \"hook\"]\ntimeout_ms = 20000\nmay_allow = true\n";
        let stage = setting.settings(hook).file("hook", &saying(&says)).open();
        assert_eq!(stage.call_and_leave("note.it", json!({})).await.status, status);
    }
}

#[tokio::test]
async fn a_result_that_may_not_be_stored_is_not() {
    let stage = hooked("result_persistence", &saying(r#"{"stop": "too private"}"#))
        .act("note.it", |_| Box::pin(async { Ok(Output::committed(json!({"secret": "s3cr3t"}))) }))
        .open();
    let envelope = stage.call("note.it", json!({})).await;
    assert_eq!(envelope.error.clone().unwrap().error_code, Code::HookBlocked);
    assert!(!serde_json::to_string(&envelope).unwrap().contains("s3cr3t"));
    assert_eq!(envelope.effect_state, EffectState::Committed);
}
