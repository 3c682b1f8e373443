//! MCP replies over HTTP: one document, or a stream that may be resumed.

use std::time::Duration;

use haft_server::ClientLimits;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use crate::mcp::stage::{PATIENCE, Stage};

const DOCUMENT: &str = "content-type: application/json";
const STREAM: &str = "content-type: text/event-stream";

fn call(id: u64, name: &str, text: &str) -> Value {
    let params = json!({ "name": name, "arguments": { "text": text } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

#[tokio::test]
async fn session_read_answers_as_single_versioned_json_document() {
    let stage = Stage::new().await;
    let session = stage.session(json!({})).await;
    let level = json!({
        "jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": { "level": "error" },
    });
    stage.say(&session, level).await;
    let answer = stage.say(&session, call(2, "remarks", "hm")).await;
    assert!(answer.contains(DOCUMENT), "{answer}");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let mut message: Value = serde_json::from_str(body).unwrap();
    message["result"].as_object_mut().unwrap().remove("_meta");
    let result = json!({
        "content": [{ "type": "text", "text": "{\"text\":\"hm\"}" }],
        "structuredContent": { "text": "hm" },
        "isError": false,
    });
    assert_eq!(message, json!({ "jsonrpc": "2.0", "id": 2, "result": result }));
}

#[tokio::test]
async fn log_notifications_precede_result_in_one_stream() {
    let stage = Stage::new().await;
    let session = stage.session(json!({})).await;
    let answer = stage.say(&session, call(1, "remarks", "hm")).await;
    assert!(answer.contains(STREAM), "{answer}");
    let said = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    let said: Vec<Value> = said.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said.len(), 2, "{answer}");
    assert_eq!(said[0]["method"], "notifications/message");
    assert_eq!(said[0]["params"], json!({ "level": "warning", "data": "hm" }));
    assert_eq!(said[1]["result"]["structuredContent"], json!({ "text": "hm" }));
}

#[tokio::test]
async fn client_cancels_own_request_in_session() {
    let stage = Stage::new().await;
    let session = stage.session(json!({})).await;
    let off = |id: u64| {
        let params = json!({ "requestId": id });
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
    };
    let calling = stage.say(&session, call(7, "lingers", ""));
    let cancelling = async {
        tokio::time::timeout(PATIENCE, stage.began.notified()).await.unwrap();
        stage.say(&session, off(8)).await;
        stage.say(&session, off(7)).await;
        tokio::time::timeout(PATIENCE, stage.told.notified()).await.unwrap();
    };
    let (answer, ()) = tokio::join!(calling, cancelling);
    assert!(answer.contains(DOCUMENT), "{answer}");
}

#[tokio::test]
async fn writes_and_elicitation_sessions_are_answered_by_stream() {
    let stage = Stage::new().await;
    let session = stage.session(json!({})).await;
    let answer = stage.say(&session, call(1, "writes", "a")).await;
    assert!(answer.contains(STREAM), "{answer}");
    let asked = stage.session(json!({ "elicitation": {} })).await;
    let answer = stage.say(&asked, call(1, "remarks", "a")).await;
    assert!(answer.contains(STREAM), "{answer}");
}

#[tokio::test]
async fn a_session_that_is_not_there_is_not_found() {
    let stage = Stage::new().await;
    let answer = stage.say("nowhere", call(1, "remarks", "a")).await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
}

#[tokio::test]
async fn an_answer_that_takes_long_begins_as_a_stream() {
    let limits = ClientLimits { document: Duration::from_millis(1), ..ClientLimits::default() };
    let stage = Stage::within(limits).await;
    let params = json!({ "name": "lingers", "arguments": {} });
    let request = stage.request("tools/call", "lingers", params);
    let mut stream = BufReader::new(TcpStream::connect(stage.address).await.unwrap());
    stream.write_all(request.as_bytes()).await.unwrap();
    let head = async {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(stream.read_line(&mut head).await.unwrap(), 0, "{head}");
        }
        head
    };
    let head = tokio::time::timeout(PATIENCE, head).await.unwrap();
    assert!(head.contains(STREAM), "{head}");
    // A client that leaves a stream cancels the call, as one that leaves before it does.
    drop(stream);
    tokio::time::timeout(PATIENCE, stage.told.notified()).await.unwrap();
}

/// The rest of a stream, from its next line on, until it is silent or ends.
async fn events(stream: &mut BufReader<TcpStream>, last: &str) -> Vec<String> {
    let mut lines = Vec::new();
    while !lines.last().is_some_and(|line: &String| line.contains(last)) {
        let mut line = String::new();
        let read = tokio::time::timeout(PATIENCE, stream.read_line(&mut line)).await.unwrap();
        assert_ne!(read.unwrap(), 0, "{lines:?}");
        if line.starts_with("id: ") || line.starts_with("data:") {
            lines.push(line.trim_end().to_owned());
        }
    }
    lines
}

#[tokio::test]
async fn lost_stream_resumes_after_the_last_event() {
    let stage = Stage::new().await;
    let session = stage.session(json!({ "elicitation": {} })).await;
    let head = format!(
        "Host: {}\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nMCP-Protocol-Version: 2025-11-25\r\n\
         Mcp-Session-Id: {session}\r\n",
        stage.address
    );
    let body = call(1, "curious", "").to_string();
    let mut stream = BufReader::new(TcpStream::connect(stage.address).await.unwrap());
    let post = format!("POST /mcp HTTP/1.1\r\n{head}Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(post.as_bytes()).await.unwrap();
    let asked = events(&mut stream, "elicitation/create").await;
    assert_eq!(asked[..3], ["id: 0/0", "data:", "id: 1/0"], "the priming event: {asked:?}");
    drop(stream);
    // The call waits for its answer although its stream is lost.
    let answer = json!({ "action": "accept", "content": { "name": "Ana" } });
    stage.say(&session, json!({ "jsonrpc": "2.0", "id": 0, "result": answer })).await;
    for (last, expected) in [("1/0", vec!["id: 2/0"]), ("0/0", vec!["id: 1/0", "id: 2/0"])] {
        let mut again = BufReader::new(TcpStream::connect(stage.address).await.unwrap());
        let get = format!("GET /mcp HTTP/1.1\r\n{head}Last-Event-ID: {last}\r\n\r\n");
        again.write_all(get.as_bytes()).await.unwrap();
        let rest = events(&mut again, "structuredContent").await;
        let ids = rest.iter().map(String::as_str).filter(|line| line.starts_with("id: "));
        let ids: Vec<&str> = ids.collect();
        assert_eq!(ids, expected, "after {last}: {rest:?}");
    }
}
