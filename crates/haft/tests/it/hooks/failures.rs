//! Hook failures: before the call nothing runs, after it nothing is hidden.

use haft_model::{Code, EffectState, Status};
use serde_json::json;

use crate::hooks::{ALLOW, hooked, runs, saying};
use crate::stage::{Setting, WRITE};

/// What a hook that is set up like this fails with, before the call.
async fn fault(setting: Setting) -> String {
    let stage = setting.open();
    let envelope = stage.call("note.it", json!({})).await;
    let error = envelope.error.clone().unwrap();
    assert_eq!((error.error_code, envelope.final_status), (Code::HookFailed, Status::Failed));
    assert_eq!((stage.canary.count(), envelope.effect_state), (0, EffectState::NotSubmitted));
    let [run] = &runs(&stage, &envelope).await[..] else { panic!() };
    let failed = run.failed.clone().unwrap();
    assert_eq!(error.message, format!("hook `{}` could not be heard: {failed}", run.hook));
    failed.replace(&stage.folder.path().canonicalize().unwrap().display().to_string(), "DIR")
}

/// The same in a program that cannot confine others.
fn unable(mut setting: Setting) -> Setting {
    setting.launcher = None;
    setting
}

fn running(command: &str, more: &str) -> Setting {
    let hook = format!("[[hook]]\nevent = \"pre_tool_use\"\nrun = [{command}]\n{more}\n");
    Setting::default().tool("note.it", WRITE).settings(ALLOW).settings(&hook)
}

#[tokio::test]
async fn failing_hook_program_blocks_call_with_reason() {
    let named = |why: &str, answered: &str| {
        format!(
            "its answer is not what a hook can say: {why}; it answered `{answered}`; at `pre_tool_use` it may say nothing, or one JSON object with any of `message`, `progress`, `additional_context`, `stop`, `updated_input`, `permission`"
        )
    };
    let much = "head -c 1048577 /dev/zero | tr '\\0' ' '";
    let cases = [
        ("echo first >&2; echo 'the last word' >&2; exit 3", "it ended with code 3: the last word"),
        ("exit 1", "it ended with code 1"),
        ("echo '{\"stop\": \"no\"}'; exit 1", "it ended with code 1"),
        ("printf 'a\\033[31mred\\n' >&2; exit 1", "it ended with code 1: a[31mred"),
        ("kill -9 $$", "it was ended by signal 9"),
        ("echo nonsense", &named("it is not a JSON object", "nonsense")),
        (
            "echo '{\"permision\": 1}'",
            &named(
                "unknown field `permision`, expected one of `message`, `progress`, `updated_input`, `permission`, `additional_context`, `stop`, `updated_output` at line 1 column 12",
                "{\"permision\": 1}",
            ),
        ),
        (
            "echo '{\"updated_output\": 1}'",
            &named("`updated_output` cannot be said at `pre_tool_use`", "{\"updated_output\": 1}"),
        ),
        (much, "it said more than 1048576 bytes"),
    ];
    for (script, reason) in cases {
        assert_eq!(fault(hooked("pre_tool_use", script)).await, reason, "{script}");
    }
    let long =
        fault(hooked("pre_tool_use", "head -c 5000 /dev/zero | tr '\\0' x >&2; exit 1")).await;
    assert_eq!(long, format!("it ended with code 1: {}", "x".repeat(200)));
}

#[tokio::test]
async fn hanging_hook_program_times_out_and_blocks_call() {
    let script = "echo $$; (while :; do sleep 1; done) & while :; do sleep 1; done";
    let setting = running("\"sh\", \"hook\"", "timeout_ms = 300").file("hook", script);
    assert_eq!(fault(setting).await, "it took longer than 300 ms");
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_a_no() {
    let plain = || running("\"hooks/plain\"", "").file("hooks/plain", "#!/bin/sh\n");
    let cases = [
        (running("\"hooks/missing\"", ""), "`DIR/hooks/missing` does not exist"),
        (running("\"no-such-program\"", ""), "`no-such-program` does not exist"),
        (plain(), "`DIR/hooks/plain` may not be run: make it executable with `chmod +x`"),
        (
            unable(plain()),
            "nothing can be confined: this program does not call `haft::launcher()` first in its `main`, and names no launcher",
        ),
    ];
    for (setting, reason) in cases {
        assert_eq!(fault(setting).await, reason);
    }
}

#[tokio::test]
async fn workspace_hook_program_runs_by_its_shebang() {
    use std::os::unix::fs::PermissionsExt as _;
    let stage = running("\"hooks/own\", \"an argument\"", "timeout_ms = 20000")
        .file("hooks/own", "#!/bin/sh\ncat > /dev/null\necho \"{\\\"stop\\\": \\\"$1\\\"}\"\n")
        .open();
    let program = stage.folder.path().join("hooks/own");
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let envelope = stage.call("note.it", json!({})).await;
    let words = "hook `hooks/own an argument` stopped the call: an argument";
    assert_eq!(envelope.error.unwrap().message, words);
}

#[tokio::test]
async fn post_hook_failure_is_reported_and_effect_stays_committed() {
    for event in ["post_tool_use", "result_persistence"] {
        let stage = hooked(event, "echo broken >&2; exit 2").open();
        let envelope = stage.call("note.it", json!({"n": 1})).await;
        let error = envelope.error.clone().unwrap();
        assert_eq!(
            (error.error_code, error.message.as_str()),
            (
                Code::HookPostFailed,
                "hook `sh hooks/one` could not be heard: it ended with code 2: broken"
            )
        );
        assert_eq!((stage.canary.count(), envelope.effect_state), (1, EffectState::Committed));
        assert_eq!(runs(&stage, &envelope).await.len(), 1);
    }
}

#[tokio::test]
async fn unsandboxed_hook_is_recorded_as_unconfined() {
    let script = "cat > /dev/null\ntouch written\necho '{\"message\": \"free\"}'\n";
    let setting = hooked("pre_tool_use", script).settings("[workspace]\nsandbox = \"off\"\n");
    let stage = unable(setting).open();
    let envelope = stage.call("note.it", json!({})).await;
    assert_eq!(envelope.error, None);
    let [run] = &runs(&stage, &envelope).await[..] else { panic!() };
    assert_eq!(run.hook, "sh hooks/one (unconfined)");
    assert!(stage.folder.path().join("written").exists());
    // The same hook with the sandbox could not have written it.
    let stage =
        hooked("pre_tool_use", &format!("{}touch written && exit 1\n", saying("{}"))).open();
    stage.call("note.it", json!({})).await;
    assert!(!stage.folder.path().join("written").exists());
}
