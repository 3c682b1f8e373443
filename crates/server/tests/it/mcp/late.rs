//! Late answers: a result that leaves after the client's timeout answers the client's next try.

use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp::stage::{Client, Stage};

async fn order(client: &mut Client, id: u64) {
    let params = json!({ "name": "orders", "arguments": { "text": "a" } });
    client
        .say(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
        .await;
}

fn invocation(answer: &Value) -> &str {
    answer["result"]["_meta"]["dev.haft/invocation-id"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
}

/// Whether an equal call after an answer that took this long is a repeat.
async fn is_repeat_after(seconds: u64) -> bool {
    let stage = Stage::new().await;
    let mut client = stage.person().await;
    tokio::time::pause();
    order(&mut client, 1).await;
    stage.began.notified().await;
    tokio::time::advance(Duration::from_secs(seconds)).await;
    stage.go.notify_one();
    let first = client.hear().await;
    stage.go.notify_one();
    order(&mut client, 2).await;
    invocation(&first) == invocation(&client.hear().await)
}

#[tokio::test]
async fn answer_past_client_timeout_answers_next_equal_call() {
    assert!(is_repeat_after(61).await);
}

#[tokio::test]
async fn answer_within_client_timeout_leaves_next_call_new() {
    assert!(!is_repeat_after(59).await);
}
