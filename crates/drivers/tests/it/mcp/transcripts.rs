//! Transcripts of the MCP client: the messages that it sends and those that a server answers with,
//! the same over stdio and over streamable HTTP with JSON and with events.
//!
//! A transcript begins with `call` and the input of the tool `t`. A line with `>` is a message of
//! the client, one with `<` a message of the server, and `=` is the outcome of the call.

use std::collections::VecDeque;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::mcp::elsewhere::{Request, begin, read, say};
use crate::mcp::stage::{Ended, Stage};

const TRANSCRIPTS: [(&str, &str); 10] = [
    ("modern", include_str!("transcripts/modern.txt")),
    ("legacy", include_str!("transcripts/legacy.txt")),
    ("modern reports", include_str!("transcripts/modern_reports.txt")),
    ("legacy reports", include_str!("transcripts/legacy_reports.txt")),
    ("modern input", include_str!("transcripts/modern_input.txt")),
    ("legacy elicitation", include_str!("transcripts/legacy_elicitation.txt")),
    ("legacy declined", include_str!("transcripts/legacy_declined.txt")),
    ("modern error", include_str!("transcripts/modern_error.txt")),
    ("undecodable", include_str!("transcripts/undecodable.txt")),
    ("unknown result type", include_str!("transcripts/unknown_result_type.txt")),
];

/// How messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wire {
    Stdio,
    /// HTTP with a JSON body wherever the response is one message.
    Json,
    /// HTTP with an event stream for every response.
    Events,
}

/// A transcript, read.
struct Transcript {
    input: Value,
    sent: Vec<Value>,
    /// The messages of the server after each message of the client.
    replies: VecDeque<Vec<String>>,
    outcome: Value,
}

impl Transcript {
    fn read(text: &str) -> Transcript {
        let mut read = Transcript {
            input: Value::Null,
            sent: Vec::new(),
            replies: VecDeque::new(),
            outcome: Value::Null,
        };
        for line in text.lines() {
            let Some((kind, rest)) = line.split_once(' ') else { continue };
            let value = || serde_json::from_str::<Value>(rest).unwrap();
            match kind {
                "call" => read.input = value(),
                "=" => read.outcome = value(),
                "<" => read.replies.back_mut().unwrap().push(rest.to_owned()),
                ">" => {
                    read.sent.push(value());
                    read.replies.push_back(Vec::new());
                }
                _ => assert_eq!(kind, "#", "{line}"),
            }
        }
        read
    }
}

#[test]
fn transcripts_hold_over_every_transport() {
    for (name, text) in TRANSCRIPTS {
        for wire in [Wire::Stdio, Wire::Json, Wire::Events] {
            let Transcript { input, sent, replies, outcome } = Transcript::read(text);
            let (ended, heard) = run(wire, input, replies);
            let heard: Vec<Value> = heard.into_iter().map(without_version).collect();
            assert_eq!(heard, sent, "what the client sends: {name} over {wire:?}");
            assert_eq!(shown(ended), outcome, "the outcome: {name} over {wire:?}");
        }
    }
}

/// The client's own version changes with each release.
fn without_version(message: Value) -> Value {
    let text = message.to_string().replace(env!("CARGO_PKG_VERSION"), "VERSION");
    serde_json::from_str(&text).unwrap()
}

fn run(wire: Wire, input: Value, replies: VecDeque<Vec<String>>) -> (Ended, Vec<Value>) {
    let mut stage = Stage::writing("t", &["transcript"]);
    (stage.fills_in, stage.remarks) = (true, Some("info".to_owned()));
    if wire == Wire::Stdio {
        let script = serde_json::to_string(&replies).unwrap();
        std::fs::write(stage.folder.path().join("script.json"), script).unwrap();
        let ended = stage.run(input);
        let heard = stage.folder.read("heard.txt");
        return (ended, heard.lines().map(|line| serde_json::from_str(line).unwrap()).collect());
    }
    let server = ScriptedServer::start(wire, replies);
    let host = format!("127.0.0.1:{}", server.port);
    stage = stage
        .with("server", json!({"kind": "remote", "url": format!("http://{host}/mcp")}))
        .with("transport", json!("http"))
        .with("network", json!({"egress": [host]}));
    stage.network = vec![host];
    let ended = stage.run(input);
    let heard = server.script.lock().unwrap().heard.clone();
    (ended, heard)
}

/// The outcome of a call as JSON.
fn shown(ended: Ended) -> Value {
    let mut shown = json!({});
    let progress = ended.progress.iter().map(|said| json!([said.percent, said.message]));
    let remarks = ended.remarks.iter().map(|said| json!([said.level, said.data]));
    for (name, list) in
        [("progress", progress.collect::<Vec<Value>>()), ("remarks", remarks.collect())]
    {
        if !list.is_empty() {
            shown[name] = Value::Array(list);
        }
    }
    let effect = match ended.result {
        Ok(output) => {
            shown["structured"] = output.structured.into();
            output.effect
        }
        Err(failure) => {
            shown["code"] = json!(failure.stop.code);
            shown["message"] = json!(failure.stop.message);
            failure.effect
        }
    };
    shown["effect"] = json!(effect.to_string());
    shown
}

/// A server over HTTP that follows a script.
struct ScriptedServer {
    port: u16,
    script: Arc<Mutex<Script>>,
}

struct Script {
    wire: Wire,
    replies: VecDeque<Vec<String>>,
    heard: Vec<Value>,
    /// The stream of the request that has no response yet.
    open: Option<Sender<String>>,
}

impl ScriptedServer {
    fn start(wire: Wire, replies: VecDeque<Vec<String>>) -> ScriptedServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = Script { wire, replies, heard: Vec::new(), open: None };
        let script = Arc::new(Mutex::new(script));
        let kept = script.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (script, mut stream) = (kept.clone(), stream.unwrap());
                std::thread::spawn(move || {
                    if let Some(request) = read(&stream) {
                        let _ = answer(&script, &request, &mut stream);
                    }
                });
            }
        });
        ScriptedServer { port, script }
    }
}

fn is_response(message: &str) -> bool {
    !message.contains("\"method\"")
}

fn answer(script: &Mutex<Script>, request: &Request, out: &mut TcpStream) -> std::io::Result<()> {
    if request.method != "POST" {
        return say(out, 405, "", "");
    }
    let mut script = script.lock().unwrap();
    script.heard.push(request.body.clone());
    let replies = script.replies.pop_front().unwrap_or_default();
    if request.body["method"].is_null() || request.body["id"].is_null() {
        if let Some(open) = &script.open {
            replies.into_iter().for_each(|reply| open.send(reply).unwrap());
        }
        drop(script);
        return say(out, 202, "", "");
    }
    let session = match request.body["method"].as_str() {
        Some("initialize") => "Mcp-Session-Id: s1\r\n",
        _ => "",
    };
    if let ([only], Wire::Json) = (&replies[..], script.wire)
        && is_response(only)
    {
        let headers = format!("Content-Type: application/json\r\n{session}");
        return say(out, 200, &headers, only);
    }
    let (sender, events) = channel();
    replies.into_iter().for_each(|reply| sender.send(reply).unwrap());
    script.open = Some(sender);
    drop(script);
    begin(out, 200, &format!("Content-Type: text/event-stream\r\n{session}"))?;
    for event in events {
        write!(out, "event: message\ndata: {event}\n\n")?;
        if is_response(&event) {
            break;
        }
    }
    Ok(())
}
