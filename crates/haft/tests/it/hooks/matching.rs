//! Hook matching: a hook applies to no fewer tools than its pattern says, whatever kind they are
//! of.

use haft::{Args, Definitions, Host, HostOptions, LoadOptions, StoreChoice, Tool, define_driver};
use haft_driver::{Failure, Output};
use haft_ledger::RunFilter;
use haft_model::{Call, Code, EffectState, Envelope, Stop};
use haft_testkit::Folder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::hooks::{ALLOW, saying};
use crate::stage::{READ, Setting, WRITE, extras, launcher};

/// A guard that stops everything that its pattern means.
fn guard(pattern: &str) -> String {
    format!(
        "[[hook]]\nevent = \"pre_tool_use\"\ntool = \"{pattern}\"\nrun = [\"sh\", \"guard\"]\ntimeout_ms = 20000\n"
    )
}

fn guarded(setting: Setting, pattern: &str) -> Setting {
    setting.settings(&guard(pattern)).file("guard", &saying(r#"{"stop": "guarded"}"#))
}

fn is_guarded(envelope: &Envelope) -> bool {
    envelope.error.as_ref().is_some_and(|error| error.error_code == Code::HookBlocked)
}

#[tokio::test]
async fn a_builtin_tool_is_meant_like_any_other() {
    for (pattern, meant) in [("time.now", true), ("time.*", true), ("*", true), ("fs.*", false)] {
        let stage = guarded(Setting::default(), pattern).open();
        assert_eq!(is_guarded(&stage.call("time.now", json!({})).await), meant, "{pattern}");
    }
}

#[tokio::test]
async fn hook_pattern_matches_tool_by_id_or_alias() {
    let tool = extras(READ, "{ aliases: [stripe.charge, old.pay] }");
    for pattern in ["pay.charge", "stripe.*", "old.pay"] {
        let stage = guarded(Setting::default().tool("pay.charge", &tool), pattern).open();
        for name in ["pay.charge", "stripe.charge", "old.pay", "pay.charge@1"] {
            assert!(is_guarded(&stage.call(name, json!({})).await), "{pattern} {name}");
        }
        assert_eq!(stage.canary.count(), 0);
    }
    let stage = guarded(Setting::default().tool("pay.charge", &tool), "stripe.refund").open();
    assert!(!is_guarded(&stage.call("stripe.charge", json!({})).await));
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Serialize, JsonSchema)]
struct Said {
    word: String,
}

#[tokio::test]
async fn a_tool_that_is_code_is_meant_too() {
    let tool = Tool::<Nothing, Said>::builder("code.say").description("Says a word.").read_only();
    let tool = tool.define().unwrap();
    let driver = define_driver("code")
        .implement(&tool, |_: Args<Nothing>| async { Ok(Said { word: "hello".into() }) })
        .define()
        .unwrap();
    let definitions = Definitions::new().tool(&tool).driver(&driver);
    for (pattern, meant) in [("code.*", true), ("note.*", false)] {
        let folder = Folder::new()
            .file("haft.toml", guard(pattern))
            .file("guard", saying(r#"{"stop": "guarded"}"#));
        let options = HostOptions {
            load: LoadOptions { definitions: definitions.clone(), ..LoadOptions::default() },
            store: StoreChoice::Memory,
            launcher: Some(launcher()),
            ..HostOptions::default()
        };
        let host = Host::open(folder.path(), options).unwrap();
        let envelope = host.call(Call::new(host.actor("agent:coder"), "code.say", json!({}))).await;
        assert_eq!(is_guarded(&envelope), meant, "{envelope:?}");
    }
}

#[tokio::test]
async fn hooks_apply_to_status_lookup_calls() {
    let status = "{ idempotency: { mode: optional, key: k }, status: { tool: pay.status, \
        input: { key: \"${idempotency.key}\" }, committed: \"output.state == 'done'\", \
        absent: \"output.state == 'none'\" } }";
    let setting = Setting::default()
        .settings(ALLOW)
        .tool(
            "pay",
            &extras(
                &format!("{WRITE}retry: {{ max_attempts: 2, backoff: fixed, initial_ms: 1 }}\n"),
                status,
            ),
        )
        .tool("pay.status", READ)
        .act("pay", |_| {
            Box::pin(async {
                let stop = Stop::new(Code::TimeoutUnknownCommit, "no answer came");
                Err(Failure::new(stop, EffectState::Unknown))
            })
        })
        .act("pay.status", |_| Box::pin(async { Ok(Output::read(json!({"state": "done"}))) }));
    let stage = guarded(setting, "pay.status").open();
    let envelope = stage.call("pay", json!({})).await;
    // No status query was possible, so the outcome is unknown.
    assert_eq!(envelope.effect_state, EffectState::Unknown);
    let runs = stage.store.runs(&RunFilter::default()).await.unwrap();
    let asked = runs.iter().find(|run| run.tool_id == "pay.status@1").unwrap();
    assert_eq!(asked.error_code, Some(Code::HookBlocked));
    assert_eq!(stage.canary.count(), 1, "only the charge itself was reached");
}

#[tokio::test]
async fn a_call_that_undoes_another_is_heard_about() {
    let undo = "{ compensation: { tool: list.remove, input: {}, approval: auto } }";
    let setting = Setting::default()
        .settings(ALLOW)
        .tool("list.add", &extras(WRITE, undo))
        .tool("list.remove", WRITE);
    let stage = guarded(setting, "list.remove").open();
    let added = stage.call("list.add", json!({})).await;
    assert_eq!(added.error, None);
    let undone = stage
        .host
        .runtime()
        .compensate(&added.invocation_id, &stage.owner(), haft_runtime::CallOptions::default())
        .await
        .unwrap();
    assert!(is_guarded(&undone), "{undone:?}");
    assert_eq!(stage.canary.count(), 1, "only the first call was carried out");
}
