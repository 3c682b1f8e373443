//! Hook answers: each of the seven things that a hook may say, and what it is shown.

use haft_model::{Code, Event, ResultStatus, Says, Status};
use serde_json::{Value, json};

use crate::hooks::{ALLOW, hooked, runs, saying, scripted};
use crate::stage::{READ, Setting, WRITE};
use crate::story::checked;

/// Repeats what it was asked as something for others to know.
const ECHO: &str = "printf '{\"additional_context\": ['\ncat\nprintf ']}'\n";

#[tokio::test]
async fn hook_sees_call_with_sensitive_input_redacted() {
    let tool = format!("{WRITE}metadata: {{ haft: {{ data: {{ sensitive: [/card] }} }} }}\n");
    let stage = scripted(Setting::default(), "pre_tool_use", "one", ECHO)
        .tool("note.it", &tool)
        .settings("[workspace]\nname = \"shop\"\n")
        .settings(ALLOW)
        .open();
    let envelope = stage.call("note.it", json!({"a": 1, "card": "4000-1234"})).await;
    assert_eq!(envelope.error, None);
    let [run] = &runs(&stage, &envelope).await[..] else { panic!() };
    assert_eq!(run.outputs, ["additional_context"]);
    assert_eq!(
        run.context,
        [json!({
            "event": "pre_tool_use",
            "actor": {"id": "agent:coder", "tenant": "shop", "roles": ["agent"]},
            "tool": {"id": "note.it", "version": "1.0.0", "driver": "canary"},
            "observable_input": {"a": 1, "card": "[withheld]"},
            "effects": {
                "mutates": ["workspace:*"],
                "mutates_stated": true,
                "classes": ["irreversible"],
                "risk": 1,
                "requires": {},
                "read_only": "no",
                "destructive": "unknown",
                "open_world": "unknown",
            },
        })]
    );
    assert_eq!(stage.canary.inputs(), [json!({"a": 1, "card": "4000-1234"})]);
}

#[tokio::test]
async fn silence_is_no_opinion() {
    let stage = hooked("pre_tool_use", "exit 0\n").open();
    let envelope = stage.call("note.it", json!({})).await;
    assert_eq!(envelope.error, None);
    let [run] = &runs(&stage, &envelope).await[..] else { panic!() };
    assert_eq!((run.outputs.len(), &run.opinion, &run.failed), (0, &None, &None));
    assert_eq!(run.hook, "sh hooks/one");
}

#[tokio::test]
async fn a_message_is_kept_for_people() {
    let stage = hooked("pre_tool_use", &saying(r#"{"message": "seen"}"#)).open();
    let envelope = stage.call("note.it", json!({})).await;
    let [run] = &runs(&stage, &envelope).await[..] else { panic!() };
    assert_eq!(
        (run.message.as_deref(), &run.outputs[..]),
        (Some("seen"), &["message".to_owned()][..])
    );
}

#[tokio::test]
async fn progress_takes_its_place_among_the_reports() {
    let before =
        saying(r#"{"progress": {"message": "looking", "percent": 150, "total_steps": 2}}"#);
    let after = saying(r#"{"progress": {"message": "done"}}"#);
    let stage = scripted(hooked("pre_tool_use", &before), "post_tool_use", "two", &after)
        .act("note.it", |attempt| {
            Box::pin(async move {
                let half = haft_model::Progress { percent: Some(50.0), ..Default::default() };
                attempt.link.progress(half).await;
                Ok(haft_driver::Output::committed(json!({})))
            })
        })
        .open();
    let envelope = stage.call("note.it", json!({})).await;
    let facts = checked(&stage, &envelope).await;
    let reports: Vec<_> = facts
        .iter()
        .filter_map(|fact| match &fact.event {
            Event::Progressed(it) => {
                Some((it.sequence, it.progress.message.clone(), it.progress.percent))
            }
            _ => None,
        })
        .collect();
    let words = |text: &str| Some(text.to_owned());
    assert_eq!(
        reports,
        [(1, words("looking"), Some(100.0)), (2, None, Some(50.0)), (3, words("done"), None)]
    );
    assert_eq!(runs(&stage, &envelope).await[0].outputs, ["progress"]);
}

#[tokio::test]
async fn another_input_runs_and_its_source_is_known() {
    let script = saying(r#"{"updated_input": {"path": "/abs"}, "message": "made absolute"}"#);
    let stage = hooked("pre_tool_use", &script).open();
    let envelope = stage.call("note.it", json!({"path": "rel"})).await;
    assert_eq!(envelope.error, None);
    assert_eq!(stage.canary.inputs(), [json!({"path": "/abs"})]);
    let [run] = &runs(&stage, &envelope).await[..] else { panic!() };
    let mutation = run.mutation.clone().unwrap();
    assert_eq!((mutation.by.as_str(), mutation.reason.as_str()), ("sh hooks/one", "made absolute"));
}

#[tokio::test]
async fn hook_allow_counts_only_where_settings_grant_may_allow() {
    let says = |behavior: &str| {
        saying(&format!(r#"{{"permission": {{"behavior": "{behavior}", "reason": "thinks so"}}}}"#))
    };
    // What it says, whether its yes counts, and what becomes of a call that would be asked about.
    let cases = [
        ("deny", "", ResultStatus::Denied, Says::Deny, "thinks so"),
        ("ask", "may_allow = true\n", ResultStatus::Pending, Says::Ask, "thinks so"),
        ("allow", "may_allow = true\n", ResultStatus::Succeeded, Says::Allow, "thinks so"),
        (
            "allow",
            "",
            ResultStatus::Pending,
            Says::Passthrough,
            "its yes does not count without `may_allow`: thinks so",
        ),
    ];
    for (behavior, more, status, opinion, reason) in cases {
        let hook = format!(
            "[[hook]]\nevent = \"pre_tool_use\"\nrun = [\"sh\", \"hook\"]\ntimeout_ms = 20000\n{more}"
        );
        let stage = Setting::default()
            .tool("note.it", WRITE)
            .settings(&hook)
            .file("hook", &says(behavior))
            .open();
        let envelope = stage.call_and_leave("note.it", json!({})).await;
        assert_eq!(envelope.status, status, "{behavior} {more}");
        let facts = stage.facts(&envelope.invocation_id).await;
        let said = facts.iter().find_map(|fact| match &fact.event {
            Event::PreHookCompleted(run) => run.opinion.clone(),
            _ => None,
        });
        let said = said.unwrap();
        assert_eq!((said.says, said.reason.as_str()), (opinion, reason));
    }
}

#[tokio::test]
async fn a_stop_ends_the_call_before_it_runs() {
    let stage = hooked("pre_tool_use", &saying(r#"{"stop": "not on a Friday"}"#)).open();
    let envelope = stage.call("note.it", json!({})).await;
    let error = envelope.error.clone().unwrap();
    let words = "hook `sh hooks/one` stopped the call: not on a Friday";
    assert_eq!((error.error_code, error.message.as_str()), (Code::HookBlocked, words));
    assert_eq!((envelope.final_status, stage.canary.count()), (Status::Blocked, 0));
    assert_eq!(runs(&stage, &envelope).await[0].stopped.as_deref(), Some("not on a Friday"));
}

#[tokio::test]
async fn another_output_is_shown_and_nothing_is_undone() {
    let stage = hooked("post_tool_use", &saying(r#"{"updated_output": {"short": true}}"#)).open();
    let envelope = stage.call("note.it", json!({"long": "text"})).await;
    assert_eq!(envelope.error, None);
    assert_eq!(envelope.structured_content, Some(json!({"short": true})));
    assert_eq!(stage.canary.inputs(), [json!({"long": "text"})]);
}

#[tokio::test]
async fn a_hook_after_the_call_is_shown_the_result() {
    let stage = hooked("post_tool_use", ECHO).open();
    let envelope = stage.call("note.it", json!({"n": 1})).await;
    let shown = runs(&stage, &envelope).await[0].context[0]["result"].clone();
    let wanted = json!({
        "status": "succeeded",
        "is_error": false,
        "effect_state": "committed",
        "output": {"n": 1},
        "text": Value::Null,
        "error": Value::Null,
    });
    assert_eq!(shown, wanted);
}

#[tokio::test]
async fn hook_reads_workspace_but_not_haft_state_or_store() {
    let look = "cat > /dev/null
        out() { printf '%s' \"$1\" | tr '\\n' ' '; }
        touch new 2>/dev/null && wrote=yes
        printf '{\"additional_context\": [\"%s\", \"%s\", \"%s\", \"%s\"]}' \
            \"$(out \"$(cat file)\")\" \"$(out \"$(ls -A .haft data 2>/dev/null)\")\" \"$wrote\" \"$(out \"$PWD\")\"\n";
    let stage = scripted(Setting::default(), "pre_tool_use", "one", look)
        .tool("note.see", READ)
        .settings("[store]\nurl = \"sqlite:data/log.db\"\npayloads = \"file:data/payloads\"\n")
        .file("file", "mine")
        .file(".haft/key", "secret")
        .file("data/log.db", "secret")
        .file("data/payloads/one", "secret")
        .open();
    let envelope = stage.call("note.see", json!({})).await;
    assert_eq!(envelope.error, None);
    let [run] = &runs(&stage, &envelope).await[..] else { panic!() };
    let root = stage.folder.path().canonicalize().unwrap();
    let listed = ".haft: data: log.db payloads";
    let seen: Vec<_> = run.context.iter().map(|it| it.as_str().unwrap()).collect();
    let seen: Vec<String> =
        seen.iter().map(|it| it.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    // The names are there, and what they hold is not: the file is empty, and so is the folder.
    assert_eq!(seen, ["mine", listed, "", root.to_str().unwrap()]);
}
