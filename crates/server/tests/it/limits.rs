//! Client limits: clients that take too long, or send too much.

mod unread;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use haft::{Definitions, Host, HostOptions, LoadOptions, StoreChoice};
use haft_driver::Cancel;
use haft_server::{AppState, ClientLimits, Entrance, HttpServer};
use haft_testkit::{ALLOW, Folder};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Upper bound on every wait of these tests.
const PATIENCE: Duration = Duration::from_secs(30);

/// The timeout for a slow client.
const SHORT: Duration = Duration::from_millis(200);

async fn serving(limits: ClientLimits) -> (Folder, SocketAddr, Cancel) {
    serving_with(limits, Definitions::new()).await
}

async fn serving_with(
    limits: ClientLimits,
    definitions: Definitions,
) -> (Folder, SocketAddr, Cancel) {
    let folder = Folder::new().file("haft.toml", ALLOW);
    let load = LoadOptions { definitions, ..LoadOptions::default() };
    let options = HostOptions { store: StoreChoice::Memory, load, ..HostOptions::default() };
    let host = Host::open(folder.path(), options).unwrap();
    let desk = Arc::new(AppState::new(host.shared_runtime()).unwrap());
    let entrance = Entrance { limits, ..Entrance::default() };
    let server = HttpServer::open(desk, "127.0.0.1:0", entrance).await.unwrap();
    let (address, stop) = (server.address(), Cancel::new());
    tokio::spawn(server.run(stop.clone()));
    (folder, address, stop)
}

/// The server's response to a text, until it closes the connection.
async fn sent(address: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A server that refuses early may close before it has read everything.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap();
    String::from_utf8(answer).unwrap()
}

fn post(path: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    )
}

#[tokio::test]
async fn request_body_timeout_answers_408() {
    let (_folder, address, _stop) =
        serving(ClientLimits { body: SHORT, ..ClientLimits::default() }).await;
    for path in ["/v1/call", "/mcp", "/a2a"] {
        let answer = sent(address, &(post(path, 100) + "{\"tool\":")).await;
        assert!(answer.starts_with("HTTP/1.1 408"), "{path}: {answer}");
        assert!(answer.contains("the body did not arrive within 200 ms"), "{path}: {answer}");
    }
}

#[tokio::test]
async fn a_body_that_trickles_in_is_not_waited_for() {
    let (_folder, address, _stop) =
        serving(ClientLimits { body: SHORT, ..ClientLimits::default() }).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(post("/v1/call", 100_000).as_bytes()).await.unwrap();
    let (mut reading, mut writing) = stream.into_split();
    let trickle = tokio::spawn(async move {
        while writing.write_all(b" ").await.is_ok() {
            tokio::time::sleep(SHORT / 10).await;
        }
    });
    let mut answer = Vec::new();
    let _ = timeout(PATIENCE, reading.read_to_end(&mut answer)).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&answer));
    trickle.abort();
}

#[tokio::test]
async fn incomplete_request_head_times_out() {
    let (_folder, address, _stop) =
        serving(ClientLimits { head: SHORT, ..ClientLimits::default() }).await;
    for begun in ["", "GET /v1/health HTTP/1.1\r\nHost: loc"] {
        let answer = sent(address, begun).await;
        assert!(!answer.contains("200 OK"), "{begun}: {answer}");
    }
}

#[tokio::test]
async fn trickled_request_head_times_out() {
    let (_folder, address, _stop) =
        serving(ClientLimits { head: SHORT, ..ClientLimits::default() }).await;
    let (mut reading, mut writing) = TcpStream::connect(address).await.unwrap().into_split();
    writing.write_all(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nX: ").await.unwrap();
    let trickle = tokio::spawn(async move {
        while writing.write_all(b"x").await.is_ok() {
            tokio::time::sleep(SHORT / 10).await;
        }
    });
    let mut answer = Vec::new();
    let _ = timeout(PATIENCE, reading.read_to_end(&mut answer)).await.unwrap();
    assert!(!answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    timeout(PATIENCE, trickle).await.unwrap().unwrap();
}

#[tokio::test]
async fn connection_beyond_limit_waits_for_free_slot() {
    let limits = ClientLimits { connections: 1, head: SHORT, ..ClientLimits::default() };
    let (_folder, address, _stop) = serving(limits).await;
    let mut first = TcpStream::connect(address).await.unwrap();
    first.write_all(b"GET ").await.unwrap();
    let request = "GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let answer = sent(address, request).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let mut rest = Vec::new();
    timeout(PATIENCE, first.read_to_end(&mut rest)).await.unwrap().unwrap();
}

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let (_folder, address, _stop) = serving(ClientLimits::default()).await;
    let large = 4 * 1024 * 1024 + 1;
    for path in ["/v1/call", "/mcp"] {
        let whole = post(path, large) + &" ".repeat(large);
        let asking = post(path, large).replace("Connection", "Expect: 100-continue\r\nConnection");
        for request in [whole, asking] {
            let answer = sent(address, &request).await;
            assert!(answer.starts_with("HTTP/1.1 413"), "{path}: {answer}");
        }
    }
    let head = format!(
        "GET /v1/health HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n",
        "x".repeat(1_000_000)
    );
    let answer = sent(address, &head).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    let request = "GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert!(sent(address, request).await.starts_with("HTTP/1.1 200"));
}
