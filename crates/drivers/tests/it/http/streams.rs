//! Tests of streamed responses: events are passed on as they arrive, and end in one result.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;

use haft_model::{Code, Content, EffectState};
use haft_testkit::{Act, Then};
use serde_json::{Value, json};

use crate::http::stage::{Ended, Stage};

const SSE: &str = "Content-Type: text/event-stream; charset=utf-8\r\n";
const LINES: &str = "Content-Type: application/x-ndjson\r\n";
const TEXT: &str = "Content-Type: text/plain\r\n";

fn streamed(stage: Stage, headers: &'static str, body: &str) -> Ended {
    stage.backend.will(Act::commits(Then::Answer(200, headers, body.as_bytes().to_vec())));
    stage.run(json!({}))
}

/// The value or the code, and the partial results before it.
fn told(ended: Ended) -> (Result<Value, Code>, Vec<Value>) {
    let parts = ended.partials.into_iter().map(|part| match part {
        Content::StructuredContent { data } => data,
        Content::Text { text, .. } => json!(text),
        other => panic!("{other:?}"),
    });
    let value = ended.result.map(|output| output.structured.unwrap_or_default());
    (value.map_err(|failure| failure.stop.code), parts.collect())
}

#[test]
fn events_are_streamed_and_result_is_all_or_last() {
    let sse = json!({"transport": "sse", "terminator": "[DONE]"});
    let text = "data: {\"n\":1}\n\ndata: {\"n\":2}\n\ndata: [DONE]\n\ndata: {\"n\":9}\n\n";
    let lines = json!({"transport": "ndjson"});
    let both = vec![json!({"n": 1}), json!({"n": 2})];
    for (http, haft, headers, body, expected) in [
        (json!({"streaming": sse}), json!({}), SSE, text, json!([{"n": 1}, {"n": 2}])),
        (
            json!({"streaming": sse, "response_extract": "$[*].n"}),
            json!({}),
            SSE,
            text,
            json!([1, 2]),
        ),
        (
            json!({"streaming": sse, "response_extract": "$.n"}),
            json!({"events": "last"}),
            SSE,
            text,
            json!(2),
        ),
        (
            json!({"streaming": lines}),
            json!({}),
            LINES,
            "{\"n\":1}\n{\"n\":2}",
            json!([{"n": 1}, {"n": 2}]),
        ),
    ] {
        for stage in [Stage::writing(http.clone()), Stage::reading(http.clone())] {
            let ended = streamed(stage.haft(haft.clone()), headers, body);
            assert_eq!(told(ended), (Ok(expected.clone()), both.clone()), "{http} {haft}");
        }
    }
    let whole = Stage::reading(json!({})).with("streaming", json!({"transport": "chunked"}));
    let (value, parts) = told(streamed(whole, TEXT, "one, two"));
    assert_eq!(value, Ok(json!("one, two")));
    let parts: Vec<_> = parts.iter().filter_map(Value::as_str).collect();
    assert_eq!(parts.concat(), "one, two");
}

#[test]
fn requested_stream_may_be_answered_with_plain_response() {
    let stage = Stage::reading(json!({"streaming": {"transport": "sse"}}));
    let ended = streamed(stage, "Content-Type: application/json\r\n", "{\"n\":1}");
    assert_eq!(told(ended), (Ok(json!({"n": 1})), vec![]));
    let stage = Stage::reading(json!({"streaming": {"transport": "sse"}}));
    streamed(stage, SSE, "").output();
    let stage = Stage::writing(json!({"streaming": {"transport": "sse"}}));
    stage.run(json!({})).output();
    let asked = stage.backend.heard().remove(0);
    assert_eq!(asked.header("accept"), Some("text/event-stream, application/json"));
}

#[test]
fn broken_stream_fails_after_events_already_delivered() {
    let many = "1\n".repeat(10_001);
    let cases: [(Value, &'static str, &str, Code, Option<usize>); 5] = [
        (json!({"transport": "sse"}), SSE, "data: 1\n\ndata: {\n\n", Code::OutputInvalid, Some(1)),
        (
            json!({"transport": "sse", "terminator": "end"}),
            SSE,
            "data: 1\n\n",
            Code::DependencyUnavailable,
            Some(1),
        ),
        (json!({"transport": "ndjson"}), LINES, &many, Code::ResultTooLarge, None),
        (
            json!({"transport": "chunked", "terminator": "end"}),
            TEXT,
            "one",
            Code::DependencyUnavailable,
            Some(1),
        ),
        (json!({"transport": "chunked"}), "", "one", Code::OutputInvalid, Some(1)),
    ];
    for (streaming, headers, body, code, parts) in cases {
        let stage = Stage::reading(json!({"streaming": streaming}));
        let (value, told) = told(streamed(stage, headers, body));
        assert_eq!(value, Err(code), "{streaming}");
        assert!(parts.is_none_or(|parts| parts == told.len()), "{streaming}: {told:?}");
    }
    // The write took place, whatever became of the response.
    let stage = Stage::writing(json!({"streaming": {"transport": "sse", "terminator": "end"}}));
    let fate = streamed(stage, SSE, "data: 1\n\n").fate();
    assert_eq!(fate, (Code::OutputInvalid, EffectState::Committed, 1));
}

/// A server that sends one more event for each that the client has received.
fn in_turns(events: usize, seen: mpsc::Receiver<()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut heard = Vec::new();
        let mut byte = [0];
        while !heard.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).unwrap();
            heard.extend(byte);
        }
        let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\n{SSE}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        for event in 0..events {
            stream.write_all(format!("data: {event}\n\n").as_bytes()).unwrap();
            seen.recv().unwrap();
        }
        if events == 1 {
            // Sends nothing more, as long as the client stays connected.
            while matches!(stream.read(&mut [0; 64]), Ok(1..)) {}
        }
    });
    host
}

fn listening(events: usize) -> Stage {
    let (told, seen) = mpsc::channel();
    let host = in_turns(events, seen);
    let mut stage = Stage::reading(json!({"streaming": {"transport": "sse"}}))
        .with("base_url", json!(format!("http://{host}")))
        .with("network", json!({"egress": [host]}));
    stage.network = vec![host];
    stage.on_partial = Some(told);
    stage
}

#[test]
fn event_is_delivered_before_the_next_one_arrives() {
    assert_eq!(told(listening(3).run(json!({}))).0, Ok(json!([0, 1, 2])));
}

#[test]
fn a_stream_that_falls_silent_ends_at_the_deadline() {
    let mut stage = listening(1);
    stage.patience = Duration::from_millis(300);
    let ended = stage.run(json!({}));
    assert_eq!(ended.partials.len(), 1);
    assert_eq!(ended.fate(), (Code::TimeoutUnknownCommit, EffectState::None, 0));
}
