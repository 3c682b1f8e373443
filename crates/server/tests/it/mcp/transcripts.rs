//! Transcripts: the same messages over HTTP and over stdio, bytes in and bytes out.
//!
//! In a transcript `>` is a message of the client, `<` one of the server, and `=` the HTTP status of
//! the client's last message; `http` or `stdio` before the sign restricts a line to one transport.
//! `$modern` stands for the metadata of 2026-07-28, `$able` for the same with elicitation, and
//! `$state` for the last request state.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::io::{DuplexStream, WriteHalf};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::mcp::stage::{PATIENCE, Stage};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":"#;

/// How long a transport is watched for messages that no line expects.
const SILENCE: Duration = Duration::from_millis(100);

/// A transport under test, from the client's side.
enum Wire {
    Http(HttpWire),
    Stdio(WriteHalf<DuplexStream>),
}

/// A client over HTTP: each message is a request of its own.
struct HttpWire {
    stage_address: std::net::SocketAddr,
    heard: mpsc::UnboundedSender<String>,
    session: Option<String>,
}

impl Wire {
    /// The transport's name in transcripts.
    fn name(&self) -> &'static str {
        match self {
            Wire::Http(_) => "http",
            Wire::Stdio(_) => "stdio",
        }
    }

    /// Sends a message; returns the HTTP status.
    async fn send(&mut self, message: &str) -> Option<u16> {
        match self {
            Wire::Stdio(output) => {
                output.write_all(format!("{message}\n").as_bytes()).await.unwrap();
                None
            }
            Wire::Http(http) => Some(http.send(message).await),
        }
    }
}

impl HttpWire {
    /// The headers that repeat a message in its version.
    fn headers(&self, message: &str) -> String {
        let message: Value = serde_json::from_str(message).unwrap_or_default();
        let mut headers = String::new();
        let meta = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        let method = message["method"].as_str().unwrap_or_default();
        match (meta.as_str(), &self.session) {
            (Some(version), _) => {
                let _ =
                    write!(headers, "MCP-Protocol-Version: {version}\r\nMcp-Method: {method}\r\n");
                let names = ["name", "uri", "taskId"].map(|name| &message["params"][name]);
                if let Some(name) = names.into_iter().find_map(Value::as_str) {
                    let _ = write!(headers, "Mcp-Name: {name}\r\n");
                }
            }
            (None, Some(id)) if method != "initialize" => {
                let _ =
                    write!(headers, "MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {id}\r\n");
            }
            (None, _) => {}
        }
        headers
    }

    async fn send(&mut self, message: &str) -> u16 {
        let head = self.headers(message);
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\n{head}\
             Content-Length: {}\r\n\r\n{message}",
            self.stage_address,
            message.len()
        );
        let mut stream = BufReader::new(TcpStream::connect(self.stage_address).await.unwrap());
        stream.write_all(request.as_bytes()).await.unwrap();
        let (mut status, mut is_stream) = (0, false);
        loop {
            let mut line = String::new();
            timeout(PATIENCE, stream.read_line(&mut line)).await.unwrap().unwrap();
            match line.trim_end().split_once(": ") {
                Some(("mcp-session-id", id)) => self.session = Some(id.to_owned()),
                Some(("content-type", kind)) => is_stream = kind == "text/event-stream",
                Some(_) => {}
                None if line.starts_with("HTTP/1.1 ") => status = line[9..12].parse().unwrap(),
                None => break,
            }
        }
        tokio::spawn(hear(stream, is_stream, self.heard.clone()));
        status
    }
}

/// Passes on the messages of a response.
async fn hear(
    mut stream: BufReader<TcpStream>,
    is_stream: bool,
    heard: mpsc::UnboundedSender<String>,
) {
    if !is_stream {
        let mut body = String::new();
        let _ = stream.read_to_string(&mut body).await;
        if body.starts_with('{') {
            let _ = heard.send(body);
        }
        return;
    }
    let mut lines = stream.lines();
    while let Ok(Some(line)) = lines.next_line().await {
        // The priming event has no data.
        if let Some(data) = line.strip_prefix("data: ").filter(|data| !data.is_empty()) {
            let _ = heard.send(data.to_owned());
        }
    }
}

/// Replays the client's lines of a transcript; returns the transcript as it went.
async fn replay(
    wire: &mut Wire,
    heard: &mut mpsc::UnboundedReceiver<String>,
    text: &str,
) -> String {
    let (mut went, mut state) = (String::new(), String::new());
    let mut status = None;
    for line in text.lines() {
        let (only, line) = match line.split_once(' ') {
            Some((only @ ("http" | "stdio"), rest)) => (Some(only), rest),
            _ => (None, line),
        };
        let prefix = only.map(|only| format!("{only} ")).unwrap_or_default();
        if only.is_some_and(|only| only != wire.name()) {
            went.push_str(&format!("{prefix}{line}\n"));
            continue;
        }
        match line.split_once(' ') {
            Some((">", message)) => {
                let message = message.replace("$modern", &format!("{META}{{}}}}"));
                let able = r#"{"elicitation":{"form":{}}}"#;
                let message = message.replace("$able", &format!("{META}{able}}}"));
                status = wire.send(&message.replace("$state", &state)).await;
                went.push_str(&format!("{prefix}{line}\n"));
            }
            Some(("<", _)) => {
                let message = timeout(PATIENCE, heard.recv()).await;
                let message = message.unwrap_or_else(|_| panic!("silence after:\n{went}"));
                let message = message.unwrap_or_else(|| panic!("the end after:\n{went}"));
                if let Some((_, rest)) = message.split_once(r#""requestState":""#) {
                    state = rest.split('"').next().unwrap_or_default().to_owned();
                }
                went.push_str(&format!("{prefix}< {}\n", masked(&message)));
            }
            Some(("=", expected)) => {
                let said = status.map_or(expected.to_owned(), |status| status.to_string());
                went.push_str(&format!("{prefix}= {said}\n"));
            }
            _ => went.push_str(&format!("{line}\n")),
        }
    }
    if let Ok(Some(more)) = timeout(SILENCE, heard.recv()).await {
        went.push_str(&format!("< {}\n", masked(&more)));
    }
    went
}

/// A message without what differs between runs.
fn masked(message: &str) -> String {
    let mut text = message.replace(env!("CARGO_PKG_VERSION"), "[version]");
    for (before, after) in [("inv_", ""), ("apr_", ""), ("res_", ""), (r#""requestState":""#, "\"")]
    {
        let mut rest = std::mem::take(&mut text);
        while let Some(at) = rest.find(before) {
            let (kept, tail) = rest.split_at(at + before.len());
            text.push_str(kept);
            text.push('*');
            let end = match after {
                "" => tail.find(|letter: char| !letter.is_ascii_alphanumeric()),
                after => tail.find(after),
            };
            rest = tail[end.unwrap_or(tail.len())..].to_owned();
        }
        text.push_str(&rest);
    }
    text
}

/// A client over HTTP, and the messages that it hears.
fn http(stage: &Stage) -> (Wire, mpsc::UnboundedReceiver<String>) {
    let (heard, messages) = mpsc::unbounded_channel();
    let http = HttpWire { stage_address: stage.address, heard, session: None };
    (Wire::Http(http), messages)
}

/// The same over stdio.
fn stdio(stage: &Stage) -> (Wire, mpsc::UnboundedReceiver<String>) {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (input, output) = tokio::io::split(theirs);
    let actor = stage.host.actor("agent:local");
    tokio::spawn(haft_server::lines(stage.desk.clone(), actor, input, output));
    let (read, write) = tokio::io::split(ours);
    let (heard, messages) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut lines = BufReader::new(read).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let _ = heard.send(line);
        }
    });
    (Wire::Stdio(write), messages)
}

/// Replays a transcript over both transports.
async fn check(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mcp/transcripts").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    for transport in [http, stdio] {
        let stage = Stage::new().await;
        let (mut wire, mut heard) = transport(&stage);
        let went = replay(&mut wire, &mut heard, &text).await;
        assert_eq!(went, text, "{name} over {}:\n{went}", wire.name());
    }
}

#[tokio::test]
async fn self_contained_requests_are_answered_alike() {
    check("self_contained.txt").await;
}

#[tokio::test]
async fn session_requests_are_answered_alike() {
    check("session.txt").await;
}

#[tokio::test]
async fn handshake_negotiates_alike() {
    check("handshake.txt").await;
}

#[tokio::test]
async fn malformed_messages_are_refused_alike() {
    check("malformed.txt").await;
}

#[tokio::test]
async fn elicitation_round_trips_alike() {
    check("elicitation.txt").await;
}
