//! Tests of MCP results: how a server's answer becomes the result of the call.

use haft_driver::ValueSource;
use haft_model::{Code, Content, EffectState, Link, Media, Progress};
use serde_json::json;

use crate::mcp::stage::Stage;

#[test]
fn structured_content_and_its_text_are_both_kept() {
    let mut stage = Stage::reading("echo", &[]);
    let output = stage.run(json!({"text": "hello"})).output();
    let value = json!({"text": "hello", "given": {"text": "hello"}});
    let text = Content::text(value.to_string());
    assert_eq!((output.structured, output.source), (Some(value), ValueSource::Stated));
    assert_eq!((output.content, output.effect), (vec![text], EffectState::None));
    let native = json!({
        "source": "mcp", "request_id": "4", "server": {"name": "test", "version": "1"},
        "protocol_version": "2025-06-18",
    });
    assert_eq!(output.native, [native]);
}

#[test]
fn text_stays_as_it_was_unless_json_is_extracted() {
    let (stated, content) = (ValueSource::Stated, ValueSource::Content);
    for (extract, text, value, source, stays) in [
        ("$", "hello", json!("hello"), content, true),
        ("$.text", "hello", json!("hello"), stated, true),
        ("$", r#"{"rows":  [1]}"#, json!({"rows": [1]}), content, true),
        ("$", "null", json!(null), content, true),
        ("$.rows[0]", r#"{"rows": [1]}"#, json!(1), stated, false),
        ("$.text", "42", json!("42"), stated, true),
    ] {
        let mut stage = Stage::reading("text", &[]).entry("result_extract", json!(extract));
        let output = stage.run(json!({"text": text})).output();
        let kept = if stays { vec![Content::text(text)] } else { Vec::new() };
        let expected = (Some(value), source, kept);
        let given = (output.structured, output.source, output.content);
        assert_eq!(given, expected, "{extract} {text}");
    }
    let mut stage = Stage::reading("text", &[]).entry("result_extract", json!("$.text"));
    stage.manifest["implements"][0]["metadata"]["haft"] = json!({"wrap": "said"});
    let output = stage.run(json!({"text": "hello"})).output();
    assert_eq!(output.structured, Some(json!({"said": "hello"})));
}

#[test]
fn failed_result_extract_is_output_invalid() {
    let mut stage = Stage::writing("text", &[]).entry("result_extract", json!("$.rows"));
    let ended = stage.run(json!({"text": "hello"}));
    assert_eq!(ended.fate(), (Code::OutputInvalid, EffectState::Committed, 1));
}

#[test]
fn pieces_of_every_kind_are_kept() {
    let mut stage = Stage::reading("pieces", &[]);
    let output = stage.run(json!({})).output();
    let media = Media::new;
    let resource = json!({"resource": {"uri": "file:///c.bin"}});
    let file = Media {
        name: Some("file:///c.bin".into()),
        block: resource.as_object().cloned().map(Box::new),
        ..media("application/octet-stream", "Yg==")
    };
    let kept = [
        Content::text("words"),
        Content::Image(media("image/png", "aW1n")),
        Content::Audio(media("audio/wav", "c25k")),
        Content::ResourceLink(Link {
            uri: "file:///a.txt".into(),
            name: Some("a".into()),
            mime_type: Some("text/plain".into()),
            ..Link::default()
        }),
        Content::EmbeddedResource {
            uri: "file:///b.txt".into(),
            mime_type: Some("text/plain".into()),
            text: "b".into(),
            block: None,
        },
        Content::File(file),
    ];
    assert_eq!(output.structured, None);
    assert_eq!(output.content, kept);
}

#[test]
fn progress_is_forwarded_in_order_only_when_growing() {
    let mut stage = Stage::reading("progress", &[]);
    let said = |message: &str, percent| Progress {
        message: Some(message.into()),
        percent: Some(percent),
        ..Progress::default()
    };
    let ended = stage.run(json!({}));
    assert_eq!(ended.progress, [said("one", 25.0), said("three", 75.0), said("four", 100.0)]);
}

#[test]
fn log_right_before_result_is_never_lost_over_stdio() {
    for era in ["legacy", "modern"] {
        let mut stage = Stage::reading("log", &[era]);
        for round in 0..300 {
            let ended = stage.run(json!({"text": round.to_string()}));
            let logged: Vec<_> = ended.remarks.iter().map(|said| said.data.clone()).collect();
            assert_eq!(logged, [json!(round.to_string())], "{era}");
        }
    }
}

#[test]
fn failed_mcp_tool_is_reported_in_its_own_words() {
    let mut stage = Stage::writing("fail", &[]);
    let ended = stage.run(json!({"text": "no such row\nin table t"}));
    let submissions = ended.submissions;
    let failure = ended.failure();
    assert_eq!(failure.stop.message, "`fail` failed: no such row in table t");
    assert_eq!(failure.stop.cause.to_json()["answer"], json!("no such row\nin table t"));
    let report = failure.report.map(|report| report.content);
    assert_eq!(report, Some(vec![Content::text("no such row\nin table t")]));
    let fate = (failure.stop.code, failure.effect, submissions);
    assert_eq!(fate, (Code::ExecutionFailed, EffectState::Unknown, 1));
}

#[test]
fn json_rpc_error_maps_by_its_code() {
    for (code, fate) in [
        (-32602, (Code::InputValue, EffectState::NotCommitted, 1)),
        (-32601, (Code::SetupRequired, EffectState::NotCommitted, 1)),
        (-32603, (Code::ExecutionFailed, EffectState::Unknown, 1)),
        (-1, (Code::ExecutionFailed, EffectState::Unknown, 1)),
    ] {
        let mut stage = Stage::writing("error", &[]);
        assert_eq!(stage.run(json!({"code": code})).fate(), fate, "{code}");
    }
}

#[test]
fn an_answer_of_another_shape_is_an_error() {
    for tool in ["lie", "odd"] {
        for era in ["legacy", "modern"] {
            let mut stage = Stage::writing(tool, &[era]);
            let fate = stage.run(json!({})).fate();
            assert_eq!(fate, (Code::OutputInvalid, EffectState::Unknown, 1), "{tool} {era}");
        }
    }
}

#[test]
fn an_answer_that_cannot_be_decoded_fails_at_once() {
    for how in ["nan", "bytes", "deep"] {
        for era in ["legacy", "modern"] {
            let mut stage = Stage::writing("unreadable", &[era]);
            let fate = stage.run(json!({"how": how})).fate();
            assert_eq!(fate, (Code::OutputInvalid, EffectState::Unknown, 1), "{how} {era}");
        }
    }
    let mut stage = Stage::reading("echo", &[]);
    let output = stage.run(json!({"text": "a", "n": 1_234_567_890_123_456_789_u64})).output();
    let given = &output.structured.unwrap()["given"];
    assert_eq!(given["n"], json!(1_234_567_890_123_456_789_u64));
}

#[test]
fn an_answer_that_is_too_large_is_not_taken() {
    let mut stage = Stage::writing("flood", &[]);
    let fate = stage.run(json!({"bytes": 6_000_000})).fate();
    assert_eq!(fate, (Code::ResultTooLarge, EffectState::Committed, 1));
    let failure = stage.run(json!({"bytes": 12_000_000})).failure();
    let words = "the connection to the server of `flood` broke before it answered: it sent a message of more than 10485760 bytes";
    assert_eq!(failure.stop.message, words);
    assert_eq!(failure.effect, EffectState::Unknown);
}

#[test]
fn what_is_no_message_is_not_listened_to() {
    let mut stage = Stage::reading("noise", &[]).entry("result_extract", json!("$.text"));
    assert_eq!(stage.run(json!({})).output().structured, Some(json!("after the noise")));
}

#[test]
fn elicitation_without_approver_fails_with_approval_required() {
    let mut stage = Stage::writing("ask", &["modern"]);
    let failure = stage.run(json!({})).failure();
    assert_eq!(failure.stop.message, "`ask` asks: Which one?");
    assert_eq!(
        (failure.stop.code, failure.effect),
        (Code::ApprovalRequired, EffectState::NotCommitted)
    );
    let mut stage = Stage::writing("elicit", &[]);
    let failure = stage.run(json!({})).failure();
    assert_eq!(failure.stop.message, "`elicit` asks: Really?");
    assert_eq!((failure.stop.code, failure.effect), (Code::ApprovalRequired, EffectState::Unknown));
}

#[test]
fn arguments_have_the_servers_names() {
    let mut stage = Stage::reading("echo", &[])
        .entry("argument_mapping", json!({"words": "text"}))
        .entry("result_extract", json!("$.given"));
    let output = stage.run(json!({"words": "hello", "more": 1})).output();
    assert_eq!(output.structured, Some(json!({"text": "hello", "more": 1})));
}

#[test]
fn idempotency_key_goes_only_to_server_enforcing_keys() {
    let mut stage = Stage::writing("meta", &[]);
    stage.key = Some("k1".into());
    let sent = stage.run(json!({})).output().structured.unwrap();
    assert_eq!(sent, json!({"progressToken": sent["progressToken"]}));
    let mut stage = Stage::writing("meta", &[]);
    stage.key = Some("k1".into());
    stage.manifest["implements"][0]["metadata"]["haft"] = json!({"enforces_key": true});
    let sent = stage.run(json!({})).output().structured.unwrap();
    assert_eq!(sent["dev.haft/idempotency-key"], json!("k1"));
}
