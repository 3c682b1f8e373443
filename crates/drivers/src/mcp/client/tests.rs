//! Tests of the MCP client with a program that leaves, and with callers that leave.

use haft_driver::{Abilities, Link};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader, DuplexStream, duplex};
use tokio::sync::broadcast;

use super::*;

/// A client, and the other ends of its program.
fn program() -> (McpClient, BufReader<DuplexStream>, DuplexStream) {
    let ((stdin, reads), (writes, stdout)) = (duplex(4096), duplex(4096));
    let handler = ClientHandler::new(&Abilities::default(), broadcast::channel(1).0);
    let stdin = StdioTransport::new(stdin);
    let client = McpClient::of_program(stdin, stdout, LastWords::default(), handler);
    (client, BufReader::new(reads), writes)
}

async fn call(client: &McpClient, call: CallContext) -> Response {
    let (id, meta, repeated) = (client.next_id(), JsonObject::new(), RepeatedParts::default());
    let (method, params) = ("tools/call", &json!({"name": "t"}));
    client.request(ClientRequest { id, method, params, meta, repeated, call: Some(call) }).await
}

#[tokio::test]
async fn call_fails_at_once_when_its_program_exits() {
    let (client, mut reads, writes) = program();
    let link = Link::new().0;
    let leaving = async {
        let mut line = String::new();
        reads.read_line(&mut line).await.unwrap();
        drop(writes);
        line
    };
    let (response, line) = tokio::join!(call(&client, CallContext::read(link.clone())), leaving);
    assert!(matches!(response, Err(RequestFault::Closed)), "{response:?}");
    let sent: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(sent["params"]["name"], "t");
    assert!(client.is_closed());
    let late = call(&client, CallContext::read(link)).await;
    assert!(matches!(late, Err(RequestFault::Closed)), "{late:?}");
}

#[tokio::test]
async fn dropped_call_is_cancelled_and_forgotten() {
    let (client, mut reads, _writes) = program();
    let context = CallContext::read(Link::new().0);
    let left = tokio::time::timeout(Duration::from_millis(1), call(&client, context)).await;
    assert!(left.is_err() && client.core.in_flight.newest().is_none());
    let mut heard = Vec::new();
    for _ in 0..2 {
        let mut line = String::new();
        reads.read_line(&mut line).await.unwrap();
        heard.push(serde_json::from_str::<Value>(&line).unwrap());
    }
    let cancelled = json!({"requestId": heard[0]["id"], "reason": UNWANTED});
    let expected = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled,
    });
    assert_eq!(heard[1], expected);
}
