//! Call outcomes: every way in which a call can end has one envelope and one situation.

use std::time::Duration;

use haft_driver::{Attempt, BoxFuture, Cancel, Failure, HookAnswer, Output};
use haft_model::{
    Call, Code, EffectState, Envelope, HookPoint, ResultStatus, Says, Situation, Status, Stop,
};
use haft_runtime::CallOptions;
use serde_json::{Value, json};

use crate::stage::{READ, Scripted, Setting, Stage, WRITE, extras};
use crate::story::checked;

const ALLOW: &str = "[[rule]]\ntool = \"*\"\nverdict = \"allow\"\n";

/// What a caller can tell an end by.
type End = (Option<Code>, Status, ResultStatus, EffectState, Option<Situation>);

const UNKNOWN_TOOL: Option<Situation> = Some(Situation::UnknownTool);
const INVALID: Option<Situation> = Some(Situation::Invalid);
const REFUSED: Option<Situation> = Some(Situation::Refused);
const FAILED: Option<Situation> = Some(Situation::Failed);
const TIMED_OUT: Option<Situation> = Some(Situation::TimedOut);
const CANCELED: Option<Situation> = Some(Situation::Canceled);

async fn end(stage: &Stage, envelope: &Envelope) -> End {
    let facts = checked(stage, envelope).await;
    assert!(!facts.is_empty());
    let runs = stage.store.runs(&Default::default()).await.unwrap();
    let run = runs.iter().find(|run| run.invocation_id == envelope.invocation_id).unwrap();
    assert_eq!((run.status, run.effect_state), (envelope.final_status, envelope.effect_state));
    (
        envelope.error.as_ref().map(|error| error.error_code),
        envelope.final_status,
        envelope.status,
        envelope.effect_state,
        envelope.situation(),
    )
}

async fn called(setting: Setting, input: Value) -> End {
    let stage = setting.open();
    let envelope = stage.call("note.it", input).await;
    end(&stage, &envelope).await
}

fn tool(frontmatter: &str) -> Setting {
    Setting::default().tool("note.it", frontmatter).settings(ALLOW)
}

fn failing(frontmatter: &str, code: Code, effect: EffectState) -> Setting {
    tool(frontmatter).act("note.it", move |_| {
        Box::pin(async move { Err(Failure::new(Stop::new(code, "it failed"), effect)) })
    })
}

fn hooked(point: HookPoint, answer: Result<HookAnswer, String>) -> Setting {
    let hook = Scripted::new("hook", point, move |_| answer.clone());
    tool(WRITE).hook(Scripted { required: true, patience: Duration::from_millis(30), ..hook })
}

fn stop() -> Result<HookAnswer, String> {
    Ok(HookAnswer { stop: Some("no".into()), ..HookAnswer::default() })
}

async fn too_often() -> End {
    let rate =
        "[limits]\nrates = [{ tool = \"*\", per = \"hour\", value = 1, scope = \"actor\" }]\n";
    let stage = tool(WRITE).settings(rate).open();
    stage.call("note.it", json!({})).await;
    let envelope = stage.call("note.it", json!({})).await;
    end(&stage, &envelope).await
}

#[tokio::test]
async fn before_anything_runs() {
    let blocked = extras(WRITE, "{ lifecycle: { state: disabled } }");
    let deferred = extras(WRITE, "{ lifecycle: { state: deferred } }");
    let surface = "[[surface]]\nscope = \"role:agent\"\ntools = [\"*\"]\n";
    let typed =
        format!("{WRITE}inputs: {{ type: object, properties: {{ n: {{ type: integer }} }} }}\n");
    let value = |_: &haft_model::Plan| Err(Stop::new(Code::InputValue, "odd"));
    let changed = HookAnswer { updated_input: Some(json!({"n": "x"})), ..HookAnswer::default() };
    let denies = HookAnswer { opinion: Some((Says::Deny, "no".into())), ..HookAnswer::default() };
    let deny = "[[rule]]\ntool = \"*\"\nverdict = \"deny\"\n";
    let pre = |answer| hooked(HookPoint::PreToolUse, answer);
    let ends = [
        called(Setting::default(), json!({})).await,
        called(tool(&blocked), json!({})).await,
        called(tool(&deferred).settings(surface), json!({})).await,
        called(tool(&typed), json!({"n": "x"})).await,
        called(tool(WRITE).preflight("note.it", value), json!({})).await,
        called(
            tool(&typed)
                .hook(Scripted::new("spoil", HookPoint::PreToolUse, move |_| Ok(changed.clone()))),
            json!({"n": 1}),
        )
        .await,
        called(pre(stop()), json!({})).await,
        called(pre(Err("broken".into())), json!({})).await,
        called(pre(Err("hang".into())), json!({})).await,
        called(pre(Ok(denies)), json!({})).await,
        called(Setting::default().tool("note.it", READ).settings(deny), json!({})).await,
        called(
            Setting::default()
                .lenient()
                .tool("note.it", &WRITE.replace("approval: auto", "approval: \"policy:none\"")),
            json!({}),
        )
        .await,
        called(
            Setting::default()
                .tool("note.it", WRITE)
                .settings("[workspace]\nnon_interactive = \"deny\"\n"),
            json!({}),
        )
        .await,
        too_often().await,
    ];
    use EffectState::{None as Nothing, NotSubmitted};
    use ResultStatus::{Denied as No, Failed as Bad};
    assert_eq!(
        ends,
        [
            (Some(Code::ToolUnknown), Status::Failed, Bad, Nothing, UNKNOWN_TOOL),
            (Some(Code::ToolBlocked), Status::Blocked, No, Nothing, REFUSED),
            (Some(Code::ToolSchemaNotLoaded), Status::Blocked, Bad, NotSubmitted, INVALID),
            (Some(Code::InputSchema), Status::SchemaParseFailed, Bad, NotSubmitted, INVALID),
            (Some(Code::InputValue), Status::ValidationFailed, Bad, NotSubmitted, INVALID),
            (Some(Code::InputMutation), Status::Failed, Bad, NotSubmitted, FAILED),
            (Some(Code::HookBlocked), Status::Blocked, No, NotSubmitted, REFUSED),
            (Some(Code::HookFailed), Status::Failed, Bad, NotSubmitted, FAILED),
            (Some(Code::HookFailed), Status::Failed, Bad, NotSubmitted, FAILED),
            (Some(Code::PermissionDenied), Status::Denied, No, NotSubmitted, REFUSED),
            (Some(Code::PermissionDenied), Status::Denied, No, Nothing, REFUSED),
            (Some(Code::PolicyBlocked), Status::Denied, No, NotSubmitted, REFUSED),
            (Some(Code::ApprovalRequired), Status::Denied, No, NotSubmitted, REFUSED),
            (Some(Code::RateLimited), Status::Failed, Bad, NotSubmitted, FAILED),
        ]
    );
}

#[tokio::test]
async fn while_people_are_asked() {
    let stage = Setting::default().tool("note.it", WRITE).open();
    let pending = stage.call_and_leave("note.it", json!({})).await;
    assert_eq!(
        (pending.status, pending.final_status, pending.effect_state, pending.is_error),
        (ResultStatus::Pending, Status::AwaitingApproval, EffectState::NotSubmitted, false)
    );
    assert_eq!(pending.situation(), Some(Situation::Waiting));
    let rejected = stage.answer(&pending.approval_id.unwrap(), stage.no("no")).await;
    assert_eq!(
        end(&stage, &rejected).await,
        (
            Some(Code::ApprovalRejected),
            Status::Denied,
            ResultStatus::Rejected,
            EffectState::NotSubmitted,
            REFUSED
        )
    );
    let stage = Setting::default()
        .tool("note.it", WRITE)
        .options(|options| options.question = Duration::from_millis(20))
        .open();
    let expired = stage.call("note.it", json!({})).await;
    assert_eq!(
        end(&stage, &expired).await,
        (
            Some(Code::ApprovalExpired),
            Status::Denied,
            ResultStatus::Rejected,
            EffectState::NotSubmitted,
            REFUSED
        )
    );
    let stage = Setting::default().tool("note.it", WRITE).open();
    let cancel = Cancel::new();
    let manner = CallOptions { cancel: cancel.clone(), ..CallOptions::default() };
    cancel.cancel();
    let call = Call::new(stage.agent(), "note.it", json!({}));
    let canceled = stage.host.runtime().call(call, manner).await;
    assert_eq!(
        end(&stage, &canceled).await,
        (
            Some(Code::CanceledCaller),
            Status::Canceled,
            ResultStatus::Canceled,
            EffectState::NotSubmitted,
            CANCELED
        )
    );
}

type Ran<'a> = BoxFuture<'a, Result<Output, Failure>>;

/// Stops on cancellation.
fn obeys(attempt: Attempt<'_>) -> Ran<'_> {
    Box::pin(async move {
        attempt.cancel.cancelled().await;
        let stop = Stop::new(Code::CanceledCaller, "it was told to stop");
        Err(Failure::new(stop, EffectState::Unknown))
    })
}

fn hangs(_: Attempt<'_>) -> Ran<'_> {
    Box::pin(std::future::pending())
}

#[tokio::test]
async fn after_a_driver_was_reached() {
    let (read, write) = (format!("{READ}timeout_ms: 30\n"), format!("{WRITE}timeout_ms: 30\n"));
    let unpromised = |frontmatter: &str| {
        tool(&format!("{frontmatter}outputs: {{ type: object, required: [id] }}\n"))
    };
    let large = || tool(&extras(WRITE, "{ result: { max_inline_chars: 1 } }"));
    let hidden = |frontmatter: &str| tool(&extras(frontmatter, "{ result: { redact: [/a] } }"));
    let something = || json!({"a": 1});
    let ends = [
        called(tool(READ), something()).await,
        called(tool(WRITE), something()).await,
        called(tool(&read).act("note.it", obeys), json!({})).await,
        called(tool(&write).act("note.it", obeys), json!({})).await,
        called(tool(&write).act("note.it", hangs), json!({})).await,
        called(tool(&write).reporting_act("note.it", hangs), json!({})).await,
        called(failing(READ, Code::ExecutionFailed, EffectState::Unknown), json!({})).await,
        called(failing(WRITE, Code::ExecutionFailed, EffectState::Unknown), json!({})).await,
        called(failing(WRITE, Code::ExecutionFailed, EffectState::NotSubmitted), json!({})).await,
        called(failing(WRITE, Code::DependencyUnavailable, EffectState::NotCommitted), json!({}))
            .await,
        called(failing(WRITE, Code::EffectPartial, EffectState::PartiallyCommitted), json!({}))
            .await,
        called(failing(WRITE, Code::PermissionDenied, EffectState::NotCommitted), json!({})).await,
        called(failing(WRITE, Code::CredentialMissing, EffectState::NotCommitted), json!({})).await,
        called(unpromised(READ), something()).await,
        called(unpromised(WRITE), something()).await,
        called(failing(WRITE, Code::ResultTooLarge, EffectState::Committed), json!({})).await,
        called(large(), something()).await,
        called(hidden(WRITE), something()).await,
        called(hooked(HookPoint::PostToolUse, Err("broken".into())), something()).await,
        called(hooked(HookPoint::PostToolUse, stop()), something()).await,
    ];
    use EffectState::{
        Committed, None as Nothing, NotCommitted, NotSubmitted, PartiallyCommitted, Unknown,
    };
    use ResultStatus::{Failed as Bad, Succeeded as Good};
    assert_eq!(
        ends,
        [
            (None, Status::Succeeded, Good, Nothing, None),
            (None, Status::Succeeded, Good, Committed, None),
            (
                Some(Code::TimeoutUnknownCommit),
                Status::TimedOut,
                ResultStatus::TimedOut,
                Nothing,
                TIMED_OUT
            ),
            (
                Some(Code::TimeoutUnknownCommit),
                Status::TimedOut,
                ResultStatus::TimedOut,
                Unknown,
                TIMED_OUT
            ),
            (
                Some(Code::TimeoutUnknownCommit),
                Status::TimedOut,
                ResultStatus::TimedOut,
                Unknown,
                TIMED_OUT
            ),
            (
                Some(Code::TimeoutBeforeSubmit),
                Status::TimedOut,
                ResultStatus::TimedOut,
                NotSubmitted,
                TIMED_OUT
            ),
            (Some(Code::ExecutionFailed), Status::Failed, Bad, Nothing, FAILED),
            (Some(Code::ExecutionFailed), Status::Failed, Bad, Unknown, FAILED),
            (Some(Code::ExecutionFailed), Status::Failed, Bad, NotCommitted, FAILED),
            (Some(Code::DependencyUnavailable), Status::Failed, Bad, NotCommitted, FAILED),
            (
                Some(Code::EffectPartial),
                Status::Failed,
                ResultStatus::PartialSucceeded,
                PartiallyCommitted,
                FAILED
            ),
            (Some(Code::PermissionDenied), Status::Failed, Bad, NotCommitted, REFUSED),
            (Some(Code::CredentialMissing), Status::Failed, Bad, NotCommitted, FAILED),
            (Some(Code::OutputInvalid), Status::Failed, Bad, Nothing, FAILED),
            (Some(Code::OutputInvalid), Status::Failed, Bad, Committed, FAILED),
            (
                Some(Code::ResultTooLarge),
                Status::Succeeded,
                ResultStatus::TooLarge,
                Committed,
                FAILED
            ),
            (None, Status::Succeeded, Good, Committed, None),
            (
                Some(Code::ResultRedacted),
                Status::Succeeded,
                ResultStatus::Redacted,
                Committed,
                REFUSED
            ),
            (Some(Code::HookPostFailed), Status::Failed, Bad, Committed, FAILED),
            (Some(Code::HookBlocked), Status::Failed, Bad, Committed, REFUSED),
        ]
    );
}

#[tokio::test]
async fn error_after_committed_write_never_advises_retry() {
    let unusable = tool(&format!("{WRITE}outputs: {{ type: object, required: [id] }}\n"));
    let hidden = tool(&extras(WRITE, "{ result: { redact: [/a] } }"));
    let lost = failing(WRITE, Code::ResultTooLarge, EffectState::Committed);
    for setting in [unusable, hidden, lost] {
        let stage = setting.open();
        let envelope = stage.call("note.it", json!({"a": 1})).await;
        let error = envelope.error.clone().unwrap();
        assert_eq!(error.effect_state, EffectState::Committed);
        assert_eq!(error.recoverability, "do not retry: the effect took place");
        assert!(!error.retry.safe);
        let shown = serde_json::to_string(&envelope.model_facing_content).unwrap();
        assert!(shown.contains("the effect took place: do not call it again"), "{shown}");
    }
}
