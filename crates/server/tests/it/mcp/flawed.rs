//! Flawed elicitation answers: they are refused, and the call waits for a valid one.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::mcp::stage::{PATIENCE, Stage};

/// Answers that JSON parsing would change.
const FLAWED: [&str; 3] = [
    r#"{"action":"accept","content":{"name":"Ana","name":"Bo"}}"#,
    r#"{"action":"accept","content":{"name":9007199254740993}}"#,
    r#"{"action":"decline","action":"accept","content":{"name":"Ana"}}"#,
];

/// Placeholder of the flawed text in a request.
const HERE: &str = "@answer@";

/// A request with a flawed text.
fn with(request: &str, flawed: &str) -> String {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let body = body.replace(&format!("\"{HERE}\""), flawed);
    let lines = head.lines().map(|line| match line.starts_with("Content-Length") {
        true => format!("Content-Length: {}", body.len()),
        false => line.to_owned(),
    });
    format!("{}\r\n\r\n{body}", lines.collect::<Vec<_>>().join("\r\n"))
}

#[tokio::test]
async fn flawed_answer_of_a_request_is_refused() {
    let stage = Stage::new().await;
    let asked = stage.call("curious", json!({ "name": "curious", "arguments": {} })).await;
    let back = |answer: Value| {
        let params = json!({
            "name": "curious", "arguments": {}, "requestState": asked["result"]["requestState"],
            "inputResponses": { "name": answer },
        });
        stage.request("tools/call", "curious", params)
    };
    for flawed in FLAWED {
        let refused = stage.sent(with(&back(json!(HERE)), flawed)).await;
        assert_eq!(refused["error"]["code"], -32602, "{flawed}: {refused}");
        // A content type with parameters is JSON too.
        let charset = "Content-Type: application/json; charset=utf-8";
        let other =
            with(&back(json!(HERE)), flawed).replace("Content-Type: application/json", charset);
        let refused = stage.sent(other).await;
        assert_eq!(refused["error"]["code"], -32602, "{flawed}: {refused}");
    }
    // The resume token is still valid.
    let sound = json!({ "action": "accept", "content": { "name": "Ana" } });
    let done = stage.sent(back(sound)).await;
    assert_eq!(done["result"]["isError"], false, "{done}");
}

#[tokio::test]
async fn flawed_answer_over_lines_fails_its_question() {
    let stage = Stage::new().await;
    let mut ana = stage.person().await;
    for (number, flawed) in (1..).zip(FLAWED) {
        let params = json!({ "name": "curious", "arguments": { "text": number.to_string() } });
        ana.say(
            json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params }),
        )
        .await;
        let asked = ana.hear().await;
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let id = &asked["id"];
        ana.say_text(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{flawed}}}"#)).await;
        let done = ana.hear().await;
        assert_eq!(done["id"], number, "{done}");
        assert_eq!(done["result"]["isError"], true, "{done}");
    }
}

#[tokio::test]
async fn flawed_answer_over_http_fails_its_question() {
    let stage = Stage::new().await;
    let session = stage.session(json!({ "elicitation": {} })).await;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n\
         Mcp-Session-Id: {session}\r\nConnection: close\r\n",
        stage.address
    );
    for (number, flawed) in (1..).zip(FLAWED) {
        let params = json!({ "name": "curious", "arguments": { "text": number.to_string() } });
        let call =
            json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params })
                .to_string();
        let mut stream = TcpStream::connect(stage.address).await.unwrap();
        let request = format!("{head}Content-Length: {}\r\n\r\n{call}", call.len());
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut heard = String::new();
        let asked = loop {
            let mut piece = [0; 4096];
            let read = tokio::time::timeout(PATIENCE, stream.read(&mut piece)).await.unwrap();
            heard.push_str(&String::from_utf8_lossy(&piece[..read.unwrap()]));
            let data = heard.lines().filter_map(|line| line.strip_prefix("data: "));
            let mut data = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
            if let Some(asked) = data.find(|said| said["method"] == "elicitation/create") {
                break asked;
            }
        };
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{flawed}}}"#, asked["id"]);
        let request = format!("{head}Content-Length: {}\r\n\r\n{answer}", answer.len());
        let mut other = TcpStream::connect(stage.address).await.unwrap();
        other.write_all(request.as_bytes()).await.unwrap();
        let mut taken = String::new();
        tokio::time::timeout(PATIENCE, other.read_to_string(&mut taken)).await.unwrap().unwrap();
        tokio::time::timeout(PATIENCE, stream.read_to_string(&mut heard)).await.unwrap().unwrap();
        assert!(heard.contains(r#""isError":true"#), "{flawed}: {taken}: {heard}");
    }
}

#[tokio::test]
async fn flawed_update_of_a_task_is_refused() {
    let stage = Stage::new().await;
    for flawed in FLAWED {
        let able =
            json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
        let params = json!({ "taskId": "inv_0", "inputResponses": { "name": HERE } });
        let request = stage.request_by(able, "tasks/update", "inv_0", params);
        let refused = stage.sent(with(&request, flawed)).await;
        let message = refused["error"]["message"].as_str().unwrap_or_else(|| panic!("{refused}"));
        let is_told = message.contains("comes twice") || message.contains("is not exact");
        assert!(is_told, "{flawed}: {refused}");
    }
}
