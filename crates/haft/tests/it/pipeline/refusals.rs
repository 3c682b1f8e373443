//! Refusal tests: calls that are refused before anything happens.

use haft_catalog::{Viewer, Visibility};
use haft_model::{Call, Code, Event, HookPoint, ResultStatus, Status, Stop, ToolKey};
use serde_json::json;

use crate::stage::{READ, Scripted, Setting, WRITE, extras};
use crate::story::checked;

#[tokio::test]
async fn deferred_tool_is_refused_until_schema_is_loaded() {
    let deferred = extras(READ, "{ lifecycle: { state: deferred } }");
    let stage = Setting::default()
        .tool("note.show", &deferred)
        .settings("[[surface]]\nscope = \"role:agent\"\ntools = [\"*\"]")
        .open();
    let refused = stage.call("note.show", json!({})).await;
    let error = refused.error.clone().unwrap();
    assert_eq!(
        (error.error_code, refused.status, refused.final_status),
        (Code::ToolSchemaNotLoaded, ResultStatus::Failed, Status::Blocked)
    );
    assert!(error.retry.discover_first && !error.retry.safe);
    assert_eq!(stage.canary.count(), 0);
    checked(&stage, &refused).await;
    let agent = stage.agent();
    let viewer = Viewer { actor: &agent, within: &[] };
    let loading = stage.host.runtime().load(&viewer, &["note.show"]).await.unwrap();
    assert_eq!(loading.loaded, [ToolKey::new("note.show", 1)]);
    assert_eq!(stage.host.runtime().see(&viewer).revision.number, 2);
    let again = stage.host.runtime().load(&viewer, &["note.show"]).await.unwrap();
    assert_eq!((again.loaded, again.already), (vec![], vec![ToolKey::new("note.show", 1)]));
    assert_eq!(stage.host.runtime().see(&viewer).revision.number, 2, "nothing was changed");
    let envelope = stage.call("note.show", json!({})).await;
    assert_eq!(envelope.error, None);
    assert_eq!(stage.canary.count(), 1);
    let facts = checked(&stage, &envelope).await;
    let Event::Planned(planned) = &facts[0].event else { panic!("{facts:?}") };
    assert_eq!((planned.surface.as_str(), planned.revision), ("srf_actor_agent_coder", 2));
}

#[tokio::test]
async fn loaded_tool_is_blocked_after_leaving_surface() {
    let deferred = extras(READ, "{ lifecycle: { state: deferred } }");
    let stage = Setting::default()
        .tool("note.show", &deferred)
        .settings("[[surface]]\nscope = \"role:agent\"\ntools = [\"note.*\"]")
        .open();
    let agent = stage.agent();
    let viewer = Viewer { actor: &agent, within: &[] };
    stage.host.runtime().load(&viewer, &["note.show"]).await.unwrap();
    stage.rewrite("haft.toml", |text| text.replace("note.*", "other.*"));
    let envelope = stage.call("note.show", json!({})).await;
    assert_eq!(envelope.error.unwrap().error_code, Code::ToolBlocked);
    let refused = stage.host.runtime().load(&viewer, &["note.show"]).await.unwrap().refused;
    let excluded = Visibility::Excluded("role_not_allowed");
    assert_eq!(refused, [(ToolKey::new("note.show", 1), excluded)], "it is not on the surface");
}

#[tokio::test]
async fn unknown_blocked_and_excluded_are_three_answers() {
    let retired = extras(READ, "{ lifecycle: { state: retired } }");
    let stage = Setting::default()
        .tool("note.show", READ)
        .tool("note.old", &retired)
        .tool("other.show", READ)
        .settings("[[surface]]\nscope = \"role:agent\"\ntools = [\"note.*\"]")
        .open();
    let mut answers = Vec::new();
    for tool in ["note.nowhere", "note.old", "other.show"] {
        let envelope = stage.call(tool, json!({})).await;
        checked(&stage, &envelope).await;
        let error = envelope.error.unwrap();
        answers.push((
            envelope.tool_id,
            error.error_class,
            envelope.status,
            envelope.final_status,
            error.cause.to_json()["reason"].as_str().map(str::to_owned),
        ));
    }
    let blocked = "blocked_tool".to_owned();
    assert_eq!(
        answers,
        [
            (
                "unresolved:note.nowhere".into(),
                "unknown_tool".into(),
                ResultStatus::Failed,
                Status::Failed,
                None
            ),
            (
                "unresolved:note.old".into(),
                blocked.clone(),
                ResultStatus::Denied,
                Status::Blocked,
                Some("lifecycle_retired".into())
            ),
            (
                "unresolved:other.show".into(),
                blocked,
                ResultStatus::Denied,
                Status::Blocked,
                Some("role_not_allowed".into())
            ),
        ]
    );
    assert_eq!(stage.canary.count(), 0);
}

#[tokio::test]
async fn failed_validation_or_preflight_runs_no_hook_or_driver() {
    let typed =
        format!("{READ}inputs: {{ type: object, properties: {{ n: {{ type: integer }} }} }}\n");
    let hook = Scripted::new("watch", HookPoint::PreToolUse, |_| Ok(Default::default()));
    let heard = hook.heard();
    let stage = Setting::default()
        .tool("note.count", &typed)
        .tool("note.lone", WRITE)
        .file(
            ".drivers/nobody/DRIVER.md",
            "---\nname: nobody\nid: nobody\nversion: 1.0.0\ndescription: None.\nkind: cli\n\
             bin: nobody\nsandbox: { tty: { required: true } }\nimplements:\n  \
             - { tool: note.count, version: \"^1\", metadata: { cli: { argv: [x] } } }\n\
             ---\n\nNone.\n",
        )
        .preflight("note.lone", |_| Err(Stop::new(Code::CredentialMissing, "nobody logged in")))
        .hook(hook)
        .open();
    let pinned = |driver: &str| {
        let mut call = Call::new(stage.agent(), "note.count", json!({"n": 1}));
        call.pinned = Some(driver.into());
        call
    };
    let mut answers = Vec::new();
    for call in [
        Call::new(stage.agent(), "note.count", json!({"n": "one"})),
        Call::new(stage.agent(), "fs.read", json!({"path": "../../etc/passwd"})),
        Call::new(stage.agent(), "http.fetch", json!({"url": "http://10.0.0.1/"})),
        pinned("nobody"),
        pinned("nowhere"),
        Call::new(stage.agent(), "note.lone", json!({})),
    ] {
        let envelope = stage.host.call(call).await;
        let facts = checked(&stage, &envelope).await;
        for fact in &facts {
            assert!(
                !matches!(
                    fact.event,
                    Event::PreHookStarted(_)
                        | Event::PermissionRequested(_)
                        | Event::PermissionDecided(_)
                ),
                "{fact:?}"
            );
        }
        answers.push((envelope.error.unwrap().error_code, envelope.final_status));
    }
    assert_eq!(
        answers,
        [
            (Code::InputSchema, Status::SchemaParseFailed),
            (Code::InputValue, Status::ValidationFailed),
            (Code::SandboxViolation, Status::ValidationFailed),
            (Code::SetupRequired, Status::Blocked),
            (Code::RoutePinUnavailable, Status::Blocked),
            (Code::CredentialMissing, Status::Blocked),
        ]
    );
    assert_eq!(stage.canary.count(), 0);
    assert!(heard.lock().unwrap().is_empty(), "a hook was heard");
}
