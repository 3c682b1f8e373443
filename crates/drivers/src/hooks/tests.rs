//! Tests of hook answers: texts, and what they are parsed into.

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
            "its answer is not what a hook can say: the key `stop` comes twice, at `/stop`",
        ),
        ("[]", "its answer is not what a hook can say: it is not a JSON object"),
        (
            r#"{"updated_output": 1}"#,
            "its answer is not what a hook can say: `updated_output` cannot be said at `pre_tool_use`",
        ),
    ];
    let may = "at `pre_tool_use` it may say nothing, or one JSON object with any of `message`, \
               `progress`, `additional_context`, `stop`, `updated_input`, `permission`";
    for (text, reason) in cases {
        assert_eq!(
            answer(HookPoint::PreToolUse, text.as_bytes()),
            Err(format!("{reason}; it answered `{text}`; {may}")),
            "{text}"
        );
    }
}

/// Any bytes at any hook point either parse, or the refusal quotes in one readable line what the
/// hook answered and what it may answer.
#[test]
fn invalid_hook_answer_is_refused_with_readable_quote() {
    let pieces: [&[u8]; 14] = [
        b"{",
        b"}",
        b"\"stop\"",
        b":",
        b"\"a\"",
        b",",
        b"\x00",
        b"\xff",
        b"\n",
        b"`",
        b"[1]",
        "\u{202e}".as_bytes(),
        b"\"updated_output\": 1",
        b" no ",
    ];
    let mut seed = 7_u64;
    let mut roll = |sides: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % sides
    };
    for _ in 0..5000 {
        let point = HookPoint::ALL[roll(HookPoint::ALL.len())];
        let text: Vec<u8> =
            (0..roll(90)).flat_map(|_| pieces[roll(pieces.len())].to_vec()).collect();
        let Err(words) = answer(point, &text) else { continue };
        let (_, rest) = words.split_once("; it answered `").unwrap();
        let (shown, rest) = rest.split_once("`; at `").unwrap();
        assert!(shown.chars().count() <= 161, "{words}");
        assert!(rest.starts_with(&format!("{point}` it may say nothing, or one JSON object")));
        assert!(!words.chars().any(|one| one.is_control() || one == '\u{202e}'), "{words:?}");
    }
}

#[test]
fn hook_field_is_refused_at_points_without_effect() {
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
