//! Backpressure: clients that open a stream and do not read it.

use std::net::SocketAddr;

use haft::{Args, Definitions, Tool, define_driver};
use haft_model::{ApprovalClass, Progress};
use haft_server::ClientLimits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::io::{AsyncWriteExt as _, Interest};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::limits::{PATIENCE, SHORT, post, sent, serving_with};

/// Progress that the tool reports: more than the kernel buffers for a client that does not read.
const STEPS: u64 = 100;
const WORDS: usize = 256 * 1024;

#[derive(Deserialize, Serialize, JsonSchema)]
struct Nothing {}

/// A tool with large progress reports for each of its steps.
fn walker() -> Definitions {
    let walk = Tool::<Nothing, Nothing>::builder("walk")
        .description("Walks, step by step.")
        .mutates(Vec::<String>::new())
        .risk(0)
        .approval(ApprovalClass::Auto)
        .define()
        .unwrap();
    let legs = define_driver("legs")
        .implement(&walk, |args: Args<Nothing>| async move {
            for step in 1..=STEPS {
                let message = format!("{step} {}", "x".repeat(WORDS));
                let (step_index, total_steps) = (Some(step), Some(STEPS));
                args.link
                    .progress(Progress {
                        message: Some(message),
                        step_index,
                        total_steps,
                        ..Progress::default()
                    })
                    .await;
            }
            Ok(Nothing {})
        })
        .define()
        .unwrap();
    Definitions::new().tool(&walk).driver(&legs)
}

/// A connection with a small receive buffer, after it sent a request.
async fn opened(address: SocketAddr, request: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(8 * 1024).unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Waits until the server closes a connection that was not read.
async fn is_cut(stream: &TcpStream) {
    let cut = timeout(PATIENCE, stream.ready(Interest::ERROR)).await;
    assert!(
        cut.is_ok_and(|ready| ready.unwrap().is_error()),
        "it is kept for a client that does not read"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn stalled_event_stream_reader_is_disconnected() {
    let limits = ClientLimits { unread: SHORT, ..ClientLimits::default() };
    let (_folder, address, _stop) = serving_with(limits, walker()).await;
    let request = "GET /v1/events?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let stream = opened(address, request).await;
    let call = "{\"tool\":\"walk\"}";
    let answer = sent(address, &(post("/v1/call", call.len()) + call)).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    is_cut(&stream).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stalled_progress_reader_is_disconnected_and_frees_its_slot() {
    let limits = ClientLimits { unread: SHORT, connections: 1, ..ClientLimits::default() };
    let (_folder, address, _stop) = serving_with(limits, walker()).await;
    let call = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "walk",
            "arguments": {},
            "_meta": {
                "progressToken": 1,
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    let call = call.to_string();
    let known = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: walk\r\n";
    let head = post("/mcp", call.len()).replace("Connection", &format!("{known}Connection"));
    let stream = opened(address, &(head + &call)).await;
    is_cut(&stream).await;
    let request = "GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert!(sent(address, request).await.starts_with("HTTP/1.1 200"));
}

/// A value of `/metrics`.
async fn figure(address: SocketAddr, name: &str) -> usize {
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let answer = sent(address, request).await;
    let line = answer.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_never_read_share_what_waits() {
    const READERS: usize = 40;
    // Long enough that none is closed during the check.
    let limits = ClientLimits { unread: PATIENCE, ..ClientLimits::default() };
    let (_folder, address, _stop) = serving_with(limits, walker()).await;
    let mut readers = Vec::new();
    for place in ["after=0", "after=1"] {
        let request = format!("GET /v1/events?{place} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        for _ in 0..READERS / 2 {
            readers.push(opened(address, &request).await);
        }
    }
    let call = "{\"tool\":\"walk\"}";
    let answer = sent(address, &(post("/v1/call", call.len()) + call)).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(figure(address, "haft_event_readers").await, READERS);
    // 25 MB were sent to each of 40. The buffers are one ring, and a page for each position at
    // which any of them are, of which there are few.
    let held = figure(address, "haft_event_bytes").await;
    assert!(held <= 16 * 1024 * 1024, "{held}");
    drop(readers);
}
