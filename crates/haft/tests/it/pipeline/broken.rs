//! Broken components: drivers, hooks and approvers that fail, hang or panic; the call ends all the
//! same.

use std::time::Duration;

use haft_driver::{Attempt, BoxFuture, Failure, HookAnswer, Output};
use haft_model::{Call, Code, EffectState, HookPoint, Question, Status};
use haft_runtime::{CallOptions, Patience, Prompt, Reply};
use serde_json::json;

use crate::stage::{READ, Scripted, Setting, WRITE};
use crate::story::checked;

const ALLOW: &str = "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";

fn tool(frontmatter: &str) -> Setting {
    Setting::default().tool("note.it", frontmatter).settings(ALLOW)
}

type Ran<'a> = BoxFuture<'a, Result<Output, Failure>>;

fn at_once(_: Attempt<'_>) -> Ran<'_> {
    panic!("at once")
}

fn later(_: Attempt<'_>) -> Ran<'_> {
    Box::pin(async {
        tokio::task::yield_now().await;
        panic!("later")
    })
}

fn after(attempt: Attempt<'_>) -> Ran<'_> {
    Box::pin(async move {
        attempt.link.submit().await?;
        panic!("after it had begun")
    })
}

#[tokio::test]
async fn a_driver_that_panics_takes_no_call_along() {
    let cases: [(Setting, EffectState); 6] = [
        (tool(READ).act("note.it", at_once), EffectState::None),
        (tool(WRITE).act("note.it", at_once), EffectState::Unknown),
        (tool(WRITE).reporting_act("note.it", at_once), EffectState::NotSubmitted),
        (tool(WRITE).act("note.it", later), EffectState::Unknown),
        (tool(WRITE).reporting_act("note.it", later), EffectState::NotSubmitted),
        (tool(WRITE).reporting_act("note.it", after), EffectState::Unknown),
    ];
    for (setting, effect) in cases {
        let stage = setting.open();
        let envelope = stage.call("note.it", json!({})).await;
        let error = envelope.error.clone().unwrap();
        assert_eq!((error.error_code, envelope.effect_state), (Code::ExecutionFailed, effect));
        assert!(error.message.starts_with("the driver broke: it panicked: "), "{}", error.message);
        assert!(!error.retry.safe);
        checked(&stage, &envelope).await;
        let next = stage.call("note.other", json!({})).await;
        assert_eq!(next.error.unwrap().error_code, Code::ToolUnknown, "the house still stands");
    }
}

#[tokio::test]
async fn preflight_panic_fails_call_before_submission() {
    let stage = tool(WRITE).preflight("note.it", |_| panic!("cannot look")).open();
    let envelope = stage.call("note.it", json!({})).await;
    let error = envelope.error.clone().unwrap();
    assert_eq!(
        (error.error_code, envelope.final_status, envelope.effect_state),
        (Code::Internal, Status::Failed, EffectState::NotSubmitted)
    );
    assert!(error.message.contains("cannot look"), "{}", error.message);
    checked(&stage, &envelope).await;
    assert_eq!(stage.canary.count(), 0);
}

#[tokio::test]
async fn missing_submission_report_never_hides_claimed_partial_effect() {
    // It was to say when it begins, did not, and then says that part of it happened.
    let stage = tool(WRITE)
        .reporting_act("note.it", |_| {
            Box::pin(async {
                let stop = haft_model::Stop::new(Code::EffectPartial, "three of five");
                Err(Failure::new(stop, EffectState::PartiallyCommitted))
            })
        })
        .open();
    let envelope = stage.call("note.it", json!({})).await;
    assert_eq!(envelope.effect_state, EffectState::PartiallyCommitted);
    checked(&stage, &envelope).await;
    // It never began, and says that all went well.
    let stage = tool(WRITE)
        .reporting_act("note.it", |_| Box::pin(async { Ok(Output::read(json!({}))) }))
        .open();
    let envelope = stage.call("note.it", json!({})).await;
    assert_eq!((envelope.error.clone(), envelope.effect_state), (None, EffectState::NotSubmitted));
    checked(&stage, &envelope).await;
}

#[tokio::test]
async fn failing_hook_denies_before_call_and_only_warns_after() {
    let points = [
        (HookPoint::PreToolUse, Some(Code::HookFailed)),
        (HookPoint::PermissionRequest, Some(Code::PermissionDenied)),
        (HookPoint::PermissionDecision, Some(Code::HookFailed)),
        (HookPoint::PostToolUse, None),
        (HookPoint::ResultPersistence, None),
    ];
    for (point, code) in points {
        for how in ["error", "hang", "panic"] {
            let hook = Scripted::new("broken", point, move |_| match how {
                "panic" => panic!("in the hook"),
                word => Err(word.to_owned()),
            });
            let hook = Scripted { patience: Duration::from_millis(20), ..hook };
            let asks = point == HookPoint::PermissionRequest;
            let rule = if asks { ALLOW.replace("allow", "ask") } else { ALLOW.to_owned() };
            let stage = Setting::default().tool("note.it", WRITE).settings(&rule).hook(hook).open();
            let envelope = stage.call("note.it", json!({})).await;
            let found = envelope.error.as_ref().map(|error| error.error_code);
            assert_eq!(found, code, "{point} {how}");
            assert_eq!(stage.canary.count(), usize::from(code.is_none()), "{point} {how}");
            checked(&stage, &envelope).await;
        }
    }
}

#[tokio::test]
async fn failing_required_persistence_hook_prevents_result_storage() {
    let hook = Scripted::new("censor", HookPoint::ResultPersistence, |_| Err("broken".into()));
    let stage = tool(WRITE).hook(Scripted { required: true, ..hook }).open();
    let envelope = stage.call("note.it", json!({"said": "this and that"})).await;
    assert_eq!(envelope.error.clone().unwrap().error_code, Code::HookPostFailed);
    assert_eq!(envelope.effect_state, EffectState::Committed);
    let text = serde_json::to_string(&envelope).unwrap();
    assert!(!text.contains("this and that"), "{text}");
    checked(&stage, &envelope).await;
}

#[tokio::test]
async fn post_hook_sees_result_and_may_replace_output() {
    let after = Scripted::new("shorten", HookPoint::PostToolUse, |heard| {
        let result = heard.result.expect("it is shown the result");
        assert_eq!(result.structured_content, Some(json!({"long": "story", "n": 1})));
        Ok(HookAnswer { updated_output: Some(json!({"n": 1})), ..HookAnswer::default() })
    });
    let stage = tool(WRITE).hook(after).open();
    let envelope = stage.call("note.it", json!({"long": "story", "n": 1})).await;
    assert_eq!(
        (envelope.error.clone(), envelope.structured_content.clone()),
        (None, Some(json!({"n": 1})))
    );
    checked(&stage, &envelope).await;
}

/// An approver at hand whose reply does not count.
struct Useless(Reply);

impl Prompt for Useless {
    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<Reply>> {
        Box::pin(async { Some(self.0.clone()) })
    }
}

#[tokio::test]
async fn invalid_reply_leaves_question_open() {
    let stage = Setting::default().tool("note.it", WRITE).open();
    let replies = [
        Reply { by: stage.agent(), ..stage.yes() },
        Reply { reason: None, ..stage.no("") },
        Reply { edited_input: Some(json!("no object")), ..stage.yes() },
    ];
    for (number, reply) in replies.into_iter().enumerate() {
        let prompt = Useless(reply);
        let manner = CallOptions {
            prompt: Some(&prompt),
            patience: Patience::Leave,
            ..CallOptions::default()
        };
        let call = Call::new(stage.agent(), "note.it", json!({"number": number}));
        let pending = stage.host.runtime().call(call, manner).await;
        assert_eq!(pending.final_status, Status::AwaitingApproval, "{:?}", pending.error);
    }
    assert_eq!(stage.canary.count(), 0);
    let open = haft_ledger::QuestionFilter { open: true, ..Default::default() };
    assert_eq!(stage.store.questions(&open).await.unwrap().len(), 3);
}

/// An approver at hand whose prompt panics.
struct Clumsy;

impl Prompt for Clumsy {
    fn ask<'a>(&'a self, _: &'a Question) -> BoxFuture<'a, Option<Reply>> {
        Box::pin(async { panic!("the terminal is gone") })
    }
}

#[tokio::test]
async fn panicking_prompt_leaves_question_in_inbox() {
    let stage = Setting::default().tool("note.it", WRITE).open();
    let manner =
        CallOptions { prompt: Some(&Clumsy), patience: Patience::Leave, ..CallOptions::default() };
    let call = Call::new(stage.agent(), "note.it", json!({}));
    let pending = stage.host.runtime().call(call, manner).await;
    let envelope = stage.answer(&pending.approval_id.unwrap(), stage.yes()).await;
    assert_eq!((envelope.error.clone(), stage.canary.count()), (None, 1));
    checked(&stage, &envelope).await;
}
