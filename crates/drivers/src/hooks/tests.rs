//! What hooks may say, as texts and what is made of them.

use haft_driver::HookAnswer;
use haft_model::{HookPoint, Progress, Says};
use serde_json::json;

use super::wire::answer;

#[test]
fn every_word_is_read() {
    let text = r#"{"message": "m", "progress": {"message": "p", "percent": 5}, "updated_input": {"a": 1},
        "permission": {"behavior": "ask", "reason": "r"}, "additional_context": [1, {"b": 2}], "stop": "s"}"#;
    let read = answer(HookPoint::PreToolUse, text.as_bytes()).unwrap();
    let wanted = HookAnswer {
        message: Some("m".into()),
        progress: Some(Progress {
            message: Some("p".into()),
            percent: Some(5.0),
            ..Progress::default()
        }),
        updated_input: Some(json!({"a": 1})),
        opinion: Some((Says::Ask, "r".into())),
        additional_context: vec![json!(1), json!({"b": 2})],
        stop: Some("s".into()),
        updated_output: None,
    };
    assert_eq!(read, wanted);
    let after = answer(HookPoint::PostToolUse, br#"{"updated_output": [1]}"#).unwrap();
    assert_eq!(after, HookAnswer { updated_output: Some(json!([1])), ..HookAnswer::default() });
}

#[test]
fn silence_is_no_opinion() {
    for text in ["", " \n\t", "{}"] {
        assert_eq!(answer(HookPoint::PreToolUse, text.as_bytes()), Ok(HookAnswer::default()));
    }
}

#[test]
fn nonsense_is_refused_by_its_reason() {
    let cases = [
        ("yes", "its answer is not what a hook can say: it is not a JSON object"),
        (
            r#"{"stop": "a"} {}"#,
            "its answer is not what a hook can say: trailing characters at line 1 column 15",
        ),
        (
            r#"{"decision": "deny"}"#,
            "its answer is not what a hook can say: unknown field `decision`, expected one of `message`, `progress`, `updated_input`, `permission`, `additional_context`, `stop`, `updated_output` at line 1 column 11",
        ),
        (
            r#"{"permission": {"behavior": "maybe", "reason": ""}}"#,
            "its answer is not what a hook can say: unknown variant `maybe`, expected one of `allow`, `ask`, `deny` at line 1 column 35",
        ),
        (
            r#"{"permission": {"behavior": "deny"}}"#,
            "its answer is not what a hook can say: missing field `reason` at line 1 column 35",
        ),
        (
            r#"{"stop": true}"#,
            "its answer is not what a hook can say: invalid type: boolean `true`, expected a string at line 1 column 13",
        ),
        (
            r#"{"stop": "a", "stop": "b"}"#,
            "its answer is not what a hook can say: duplicate field `stop` at line 1 column 20",
        ),
        ("[]", "its answer is not what a hook can say: it is not a JSON object"),
        (r#"{"updated_output": 1}"#, "`updated_output` cannot be said at `pre_tool_use`"),
    ];
    for (text, reason) in cases {
        assert_eq!(
            answer(HookPoint::PreToolUse, text.as_bytes()),
            Err(reason.to_owned()),
            "{text}"
        );
    }
}

#[test]
fn a_word_without_effect_is_refused_where_it_has_none() {
    let words = [
        (r#"{"updated_input": {}}"#, "pre_tool_use"),
        (
            r#"{"permission": {"behavior": "deny", "reason": "r"}}"#,
            "pre_tool_use permission_request permission_decision",
        ),
        (r#"{"updated_output": {}}"#, "post_tool_use result_persistence"),
        (
            r#"{"stop": "s"}"#,
            "pre_tool_use post_tool_use post_tool_use_failure permission_request permission_decision result_persistence",
        ),
    ];
    for (text, allowed) in words {
        for point in HookPoint::ALL {
            let taken = answer(*point, text.as_bytes()).is_ok();
            assert_eq!(
                taken,
                allowed.split(' ').any(|name| name == point.to_string()),
                "{text} {point}"
            );
        }
    }
}
