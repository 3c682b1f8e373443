//! Minimal load client, so that the benchmark measures the server.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::process::Process;

/// How a client and a server speak.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Era {
    /// 2025-11-25: a session is opened and named in every request.
    Sessions,
    /// 2026-07-28: a request says everything.
    Stateless,
}

/// What a server did in its turn.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    /// Calls a second.
    pub(crate) rate: f64,
    /// Microseconds of processor time that the server took for a call.
    pub(crate) processor: f64,
}

impl Turn {
    /// The middle of each figure.
    pub(crate) fn median(turns: Vec<Turn>) -> Turn {
        let middle = |figure: fn(&Turn) -> f64| {
            let mut all: Vec<f64> = turns.iter().map(figure).collect();
            all.sort_by(f64::total_cmp);
            all[all.len() / 2]
        };
        Turn { rate: middle(|turn| turn.rate), processor: middle(|turn| turn.processor) }
    }
}

/// Calls a server's tool for a while, so many at a time.
pub(crate) fn turn(server: &Process, era: Era, callers: usize, lasts: Duration) -> Turn {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connections = Vec::new();
        for _ in 0..callers {
            connections.push(Connection::open(server, era).await);
        }
        let (began, used) = (Instant::now(), server.processor());
        let calling = connections.into_iter().map(|connection| {
            tokio::spawn(async move { connection.call_until(began + lasts).await })
        });
        let mut calls = 0;
        for caller in calling.collect::<Vec<_>>() {
            calls += caller.await.unwrap();
        }
        let (took, used) = (began.elapsed(), server.processor() - used);
        Turn {
            rate: calls as f64 / took.as_secs_f64(),
            processor: used.as_micros() as f64 / calls as f64,
        }
    })
}

/// One connection that is kept, and the request that it repeats.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    call: Vec<u8>,
}

impl Connection {
    /// Connects, and opens a session where the era has them.
    pub(crate) async fn open(server: &Process, era: Era) -> Connection {
        let (address, tool) = (&server.address, server.tool);
        let mut connection = Connection::plain(address).await;
        let mut params = json!({"name": tool, "arguments": server.arguments});
        let headers;
        match era {
            Era::Stateless => {
                params["_meta"] = json!({
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
                    "io.modelcontextprotocol/clientCapabilities": {},
                });
                headers = format!(
                    "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
                );
            }
            Era::Sessions => {
                let session = connection.begin_session(address).await;
                headers =
                    format!("MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {session}\r\n");
            }
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        connection.call = request(address, &headers, &body);
        connection
    }

    /// One with a session in which nothing is called, and the name of the session.
    pub(crate) async fn with_session(address: &str) -> (Connection, String) {
        let mut connection = Connection::plain(address).await;
        let session = connection.begin_session(address).await;
        (connection, session)
    }

    async fn plain(address: &str) -> Connection {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Connection { stream, buffer: Vec::new(), call: Vec::new() }
    }

    async fn begin_session(&mut self, address: &str) -> String {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"},
        }});
        let answer = self.ask(&request(address, "", &hello)).await;
        let session = header(answer, "mcp-session-id").expect("the server opens sessions");
        let headers = format!("MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {session}\r\n");
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.ask(&request(address, &headers, &ready)).await;
        session
    }

    /// Calls until then, and says how often.
    pub(crate) async fn call_until(mut self, then: Instant) -> usize {
        let mut calls = 0;
        while Instant::now() < then {
            self.call().await;
            calls += 1;
        }
        calls
    }

    /// Calls once. An answer that tells no time, or does not repeat that it was asked for one, ends the
    /// benchmark.
    pub(crate) async fn call(&mut self) {
        let call = std::mem::take(&mut self.call);
        let answer = self.ask(&call).await;
        assert!(
            contains(answer, b"unix_ms") && !contains(answer, b"\"isError\":true"),
            "{}",
            String::from_utf8_lossy(answer)
        );
        self.call = call;
    }

    /// Sends a request and gives the whole answer, head and body.
    async fn ask(&mut self, request: &[u8]) -> &[u8] {
        self.stream.write_all(request).await.unwrap();
        self.buffer.clear();
        while !is_whole(&self.buffer) {
            let read = self.stream.read_buf(&mut self.buffer).await.unwrap();
            assert_ne!(read, 0, "closed after {}", String::from_utf8_lossy(&self.buffer));
        }
        &self.buffer
    }
}

fn request(address: &str, headers: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Whether an answer has come to its end.
fn is_whole(answer: &[u8]) -> bool {
    let Some(head) = find(answer, b"\r\n\r\n") else { return false };
    match header(answer, "content-length") {
        Some(length) => answer.len() - head - 4 >= length.parse().unwrap(),
        None if header(answer, "transfer-encoding").is_some() => answer.ends_with(b"\r\n0\r\n\r\n"),
        None => true,
    }
}

fn header(answer: &[u8], name: &str) -> Option<String> {
    let head = answer.get(..find(answer, b"\r\n\r\n")?)?;
    let lines = std::str::from_utf8(head).ok()?.lines();
    lines
        .filter_map(|line| line.split_once(": "))
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.to_owned())
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    find(bytes, wanted).is_some()
}
