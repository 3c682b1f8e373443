//! Tests of HTTP responses: the values, errors and effect states that they give.

use haft_model::{Code, EffectState};
use haft_testkit::{Act, Then};
use serde_json::{Value, json};

use crate::http::stage::Stage;

#[test]
fn response_becomes_value_with_backend_request_id() {
    let stage = Stage::writing(json!({}));
    let headers = "Content-Type: application/json\r\nX-Request-Id: r-7\r\n";
    stage.backend.will(Act::commits(Then::Answer(201, headers, b"{\"id\":7}".to_vec())));
    let ended = stage.run(json!({}));
    assert_eq!(ended.submissions, 1);
    let output = ended.output();
    assert_eq!(output.structured, Some(json!({"id": 7})));
    assert_eq!(output.effect, EffectState::Committed);
    assert_eq!(output.native, [json!({"source": "http", "status": 201, "x-request-id": "r-7"})]);
}

/// A path, headers, a body and the expected value.
type Read = (&'static str, &'static str, &'static [u8], Result<Value, Code>);

#[test]
fn bodies_decode_by_content_type_and_extract_by_path() {
    let json_type = "Content-Type: application/json; charset=utf-8\r\n";
    let cases: [Read; 14] = [
        ("$", json_type, b"{\"a\":1}", Ok(json!({"a": 1}))),
        ("$.a[*].b", json_type, b"{\"a\":[{\"b\":1},{\"b\":2}]}", Ok(json!([1, 2]))),
        ("$.a", "Content-Type: application/problem+json\r\n", b"{\"a\":1}", Ok(json!(1))),
        ("$", "", b"[1]", Ok(json!([1]))),
        ("$", "Content-Type: text/plain\r\n", b"5 apples", Ok(json!("5 apples"))),
        ("$.a", "Content-Type: text/plain\r\n", b"{\"a\":1}", Err(Code::OutputInvalid)),
        ("$.gone", json_type, b"{\"a\":1}", Err(Code::OutputInvalid)),
        ("$", json_type, b"{\"a\":", Err(Code::OutputInvalid)),
        ("$", json_type, b"{\"a\":NaN}", Err(Code::OutputInvalid)),
        ("$", json_type, b"{\"a\":-Infinity}", Err(Code::OutputInvalid)),
        ("$", json_type, b"{\"a\":\"\xff\"}", Err(Code::OutputInvalid)),
        ("$", json_type, b"[1234567890123456789]", Ok(json!([1_234_567_890_123_456_789_u64]))),
        ("$", "Content-Type: image/png\r\n", b"\x89PNG", Err(Code::OutputInvalid)),
        ("$", "Content-Type: text/plain\r\n", b"\xff", Err(Code::OutputInvalid)),
    ];
    for (extract, headers, body, expected) in cases {
        let stage = Stage::writing(json!({"response_extract": extract}));
        stage.backend.will(Act::commits(Then::Answer(200, headers, body.to_vec())));
        let found = stage.run(json!({})).result;
        let effect = found.as_ref().map_or_else(|failure| failure.effect, |output| output.effect);
        let found = found.map(|output| output.structured.unwrap());
        assert_eq!(found.map_err(|failure| failure.stop.code), expected, "{extract} {headers}");
        assert_eq!(effect, EffectState::Committed, "{extract} {headers}");
    }
}

#[test]
fn too_deeply_nested_response_fails_at_once() {
    let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    let headers = "Content-Type: application/json\r\n";
    let stage = Stage::writing(json!({}));
    stage.backend.will(Act::commits(Then::Answer(200, headers, deep)));
    assert_eq!(stage.run(json!({})).fate(), (Code::OutputInvalid, EffectState::Committed, 1));
}

#[test]
fn non_object_response_is_wrapped_under_its_name() {
    let stage = Stage::reading(json!({})).haft(json!({"wrap": "items"}));
    let headers = "Content-Type: application/json\r\n";
    stage.backend.will(Act::commits(Then::Answer(200, headers, b"[1,2]".to_vec())));
    assert_eq!(stage.run(json!({})).output().structured, Some(json!({"items": [1, 2]})));
}

#[test]
fn an_empty_answer_has_no_value() {
    let stage = Stage::writing(json!({}));
    stage.backend.will(Act::commits(Then::status(204)));
    let output = stage.run(json!({})).output();
    assert_eq!((output.structured, output.effect), (None, EffectState::Committed));
}

#[test]
fn a_packed_answer_is_unpacked_and_still_bounded() {
    // `{"a":1}` in gzip.
    let packed: [u8; 27] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171, 86, 74, 84, 178, 50, 172, 5, 0, 175, 172, 27, 86, 7,
        0, 0, 0,
    ];
    let headers = "Content-Type: application/json\r\nContent-Encoding: gzip\r\n";
    let stage = Stage::reading(json!({}));
    stage.backend.will(Act::refuses(Then::Answer(200, headers, packed.to_vec())));
    let found = stage.run(json!({})).result.map(|output| output.structured);
    assert_eq!(found.map_err(|failure| failure.stop.message), Ok(Some(json!({"a": 1}))));
    for (stage, effect) in [
        (Stage::reading(json!({})), EffectState::None),
        (Stage::writing(json!({})), EffectState::Committed),
    ] {
        stage.backend.will(Act::commits(Then::Flood(200)));
        let failure = stage.run(json!({})).failure();
        assert_eq!((failure.stop.code, failure.effect), (Code::ResultTooLarge, effect));
    }
}

#[test]
fn each_http_status_maps_to_code_and_effect() {
    use EffectState::{NotCommitted, Unknown};
    for (status, code, effect) in [
        (400, Code::ExecutionFailed, NotCommitted),
        (401, Code::CredentialMissing, NotCommitted),
        (403, Code::PermissionDenied, NotCommitted),
        (404, Code::ResourceNotFound, NotCommitted),
        (408, Code::DependencyUnavailable, Unknown),
        (409, Code::Conflict, NotCommitted),
        (422, Code::ExecutionFailed, NotCommitted),
        (429, Code::RateLimited, NotCommitted),
        (500, Code::DependencyUnavailable, Unknown),
        (502, Code::DependencyUnavailable, Unknown),
        (503, Code::DependencyUnavailable, Unknown),
        (504, Code::DependencyUnavailable, Unknown),
        (303, Code::ExecutionFailed, Unknown),
    ] {
        let stage = Stage::writing(json!({}));
        stage.backend.will(Act::refuses(Then::status(status)));
        assert_eq!(stage.run(json!({})).fate(), (code, effect, 1), "{status}");
        let stage = Stage::reading(json!({}));
        stage.backend.will(Act::refuses(Then::status(status)));
        assert_eq!(stage.run(json!({})).fate(), (code, EffectState::None, 0), "{status} of a read");
    }
}

#[test]
fn refusal_tells_status_and_message_of_body() {
    let stage = Stage::writing(json!({}));
    let headers = "Content-Type: application/json\r\n";
    let body = b"{\"errors\":[{\"detail\":\"`date` is\\n over\"}]}".to_vec();
    stage.backend.will(Act::refuses(Then::Answer(422, headers, body)));
    let failure = stage.run(json!({})).failure();
    let words = "`127.0.0.1` answered 422 Unprocessable Entity: `date` is over";
    assert_eq!(failure.stop.message, words);
}

#[test]
fn refusal_keeps_backend_message_and_retry_after() {
    let stage = Stage::writing(json!({}));
    let headers = "Content-Type: application/json\r\nRetry-After: 2\r\nX-Request-Id: r-8\r\n";
    stage.backend.will(Act::refuses(Then::Answer(429, headers, b"{\"why\":\"slow\"}".to_vec())));
    let failure = stage.run(json!({})).failure();
    assert_eq!(failure.stop.message, "`127.0.0.1` answered 429 Too Many Requests");
    assert_eq!(
        failure.stop.cause,
        json!({"phase": "run", "http_status": 429, "answer": {"why": "slow"}, "retry_after_ms": 2000})
    );
    assert_eq!(failure.native, [json!({"source": "http", "status": 429, "x-request-id": "r-8"})]);
    let dated = "Retry-After: Thu, 01 Jan 1970 00:00:09 GMT\r\n";
    stage.backend.will(Act::refuses(Then::Answer(503, dated, b"busy".to_vec())));
    let failure = stage.run(json!({})).failure();
    assert_eq!(
        (failure.stop.cause.to_json(), failure.effect),
        (
            json!({"phase": "run", "http_status": 503, "answer": "busy", "retry_after_ms": 9000}),
            EffectState::Unknown
        )
    );
}

#[test]
fn status_map_names_errors_and_may_declare_effect() {
    let map = json!({
        "402": "shop:declined", "404": "input.value", "500": "execution.failed",
        "502": "not_committed", "503": "rate.limited not_committed", "408": "shop:slow",
        "422": "effect.partial",
    });
    for (status, code, native, effect) in [
        (402, Code::ExecutionFailed, Some("shop:declined"), EffectState::NotCommitted),
        (404, Code::InputValue, None, EffectState::NotCommitted),
        (500, Code::ExecutionFailed, None, EffectState::Unknown),
        (502, Code::DependencyUnavailable, None, EffectState::NotCommitted),
        (503, Code::RateLimited, None, EffectState::NotCommitted),
        (408, Code::ExecutionFailed, Some("shop:slow"), EffectState::Unknown),
        (422, Code::EffectPartial, None, EffectState::PartiallyCommitted),
    ] {
        let stage = Stage::writing(json!({})).haft(json!({"status_map": map}));
        stage.backend.will(Act::refuses(Then::status(status)));
        let failure = stage.run(json!({})).failure();
        let found = failure.stop.cause.native();
        assert_eq!((failure.stop.code, found, failure.effect), (code, native, effect), "{status}");
    }
}
