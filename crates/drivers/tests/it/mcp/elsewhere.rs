//! Test MCP server over HTTP, which speaks either protocol era and answers as it is told.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// A server that stops on drop.
pub(crate) struct Elsewhere {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<Request>>>,
    stop: Arc<AtomicBool>,
}

impl Elsewhere {
    /// Starts a server of the modern or the legacy era.
    pub(crate) fn new(modern: bool) -> Elsewhere {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard: Arc<Mutex<Vec<Request>>> = Arc::default();
        let stop = Arc::new(AtomicBool::new(false));
        let (kept, stopped) = (heard.clone(), stop.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let (kept, mut stream) = (kept.clone(), stream.unwrap());
                std::thread::spawn(move || {
                    let Some(request) = read(&stream) else { return };
                    let looks = {
                        let mut kept = kept.lock().unwrap();
                        kept.push(request.clone());
                        kept.iter().filter(|heard| heard.body["method"] == "tasks/get").count()
                    };
                    let _ = match request.body["method"].as_str() {
                        Some("tasks/get") => task(looks, &request.body, &mut stream),
                        _ => answer(modern, &request, &mut stream),
                    };
                });
            }
        });
        Elsewhere { port, heard, stop }
    }

    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn heard(&self) -> Vec<Request> {
        self.heard.lock().unwrap().clone()
    }

    /// The received requests, by method.
    pub(crate) fn methods(&self) -> Vec<String> {
        let name = |request: &Request| match request.body["method"].as_str() {
            Some(method) => method.to_owned(),
            None => request.method.clone(),
        };
        self.heard().iter().map(name).collect()
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

pub(crate) fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let method = line.split(' ').next()?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, headers, body: serde_json::from_slice(&body).unwrap_or_default() })
}

fn answer(modern: bool, request: &Request, out: &mut TcpStream) -> std::io::Result<()> {
    let (id, params) = (&request.body["id"], &request.body["params"]);
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    match request.body["method"].as_str() {
        None => match request.header("last-event-id") {
            Some(id) => {
                let content = json!([{"type": "text", "text": "\"resumed\""}]);
                let id: Value = serde_json::from_str(id).unwrap();
                let result = json!({"jsonrpc": "2.0", "id": id, "result": {"content": content}});
                say(out, 200, EVENTS, &format!("data: {result}\n\n"))
            }
            None => say(out, 405, "", ""),
        },
        Some("server/discover") if modern => say(
            out,
            200,
            JSON,
            &result(json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}, "extensions": {TASKS: {}}},
                "ttlMs": 0, "cacheScope": "private",
            })),
        ),
        Some("server/discover") => {
            say(out, 400, "Content-Type: text/plain\r\n", "Bad Request: no session")
        }
        Some("initialize") if !modern => {
            let headers = format!("{JSON}Mcp-Session-Id: s1\r\n");
            say(
                out,
                200,
                &headers,
                &result(json!({
                    "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "elsewhere", "version": "2"},
                })),
            )
        }
        Some("tools/list") => say(
            out,
            200,
            JSON,
            &result(json!({
                "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                "tools": [{"name": "do", "inputSchema": {"type": "object"}}],
            })),
        ),
        Some("tools/call") => call(id, params, out),
        Some(_) => say(out, 202, "", ""),
    }
}

/// The client capability for tasks.
pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";

/// The state of a task at a poll: working at first, then the outcome that its id names.
fn task(look: usize, request: &Value, out: &mut TcpStream) -> std::io::Result<()> {
    let id = &request["params"]["taskId"];
    let mut task = json!({
        "resultType": "complete", "taskId": id, "status": "working", "ttlMs": null, "pollIntervalMs": 50,
        "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z",
        "statusMessage": "half of it is done",
    });
    let mut answer = json!({"jsonrpc": "2.0", "id": request["id"]});
    let error = json!({"code": -32602, "message": "no"});
    match id.as_str() {
        Some("task done") if look > 1 => {
            task["status"] = json!("completed");
            task["result"] = json!({"content": [{"type": "text", "text": "\"done\""}]});
        }
        Some("task failed") if look > 1 => {
            task["status"] = json!("failed");
            task["error"] = error;
        }
        Some("task called off") if look > 1 => task["status"] = json!("cancelled"),
        Some("task forgotten") if look > 1 => {
            answer["error"] = error;
            return say(out, 200, JSON, &answer.to_string());
        }
        _ => {}
    }
    answer["result"] = task;
    say(out, 200, JSON, &answer.to_string())
}

const JSON: &str = "Content-Type: application/json\r\n";
const EVENTS: &str = "Content-Type: text/event-stream\r\n";

fn call(id: &Value, params: &Value, out: &mut TcpStream) -> std::io::Result<()> {
    let content = json!([{"type": "text", "text": "\"done\""}]);
    let result = json!({"resultType": "complete", "content": content});
    let result = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    let able = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    let knows_tasks = !able["extensions"][TASKS].is_null();
    match params["arguments"]["how"].as_str().unwrap_or_default() {
        how if how.starts_with("task ") && knows_tasks => {
            let created = json!({
                "resultType": "task", "taskId": how, "status": "working", "ttlMs": null,
                "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z",
            });
            let created = json!({"jsonrpc": "2.0", "id": id, "result": created});
            say(out, 200, JSON, &created.to_string())
        }
        "events" => {
            let token = &params["_meta"]["progressToken"];
            let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": token, "progress": 1, "total": 2}});
            say(
                out,
                200,
                EVENTS,
                &format!(": hello\n\ndata: {progress}\n\nevent: message\ndata: {result}\n\n"),
            )
        }
        "log" => {
            let log = json!({"jsonrpc": "2.0", "method": "notifications/message",
                "params": {"level": "info", "data": params["arguments"]["text"]}});
            say(out, 200, EVENTS, &format!("data: {log}\n\ndata: {result}\n\n"))
        }
        // Breaks off after its first event, which has an id.
        "resume" => say(out, 200, EVENTS, &format!("id: {id}\nretry: 10\ndata:\n\n")),
        "flood events" => {
            begin(out, 200, EVENTS)?;
            out.write_all(b"data: ")?;
            (0..20_000).try_for_each(|_| out.write_all(&[b'x'; 1024]))
        }
        "flood" => {
            begin(out, 200, JSON)?;
            (0..20_000).try_for_each(|_| out.write_all(&[b' '; 1024]))
        }
        "close" => Ok(()),
        "hang" => {
            // Until the client hangs up.
            out.set_read_timeout(Some(Duration::from_secs(20)))?;
            let _ = out.read(&mut [0]);
            Ok(())
        }
        "401" => say(out, 401, "WWW-Authenticate: Bearer scope=\"a\"\r\n", ""),
        "403" => say(out, 403, "", ""),
        "404" => say(out, 404, "", ""),
        "307" => say(out, 307, "Location: http://127.0.0.1:1/mcp\r\n", ""),
        "429" => say(out, 429, "Retry-After: 3\r\n", ""),
        "503" => say(out, 503, "", ""),
        "html" => say(out, 200, "Content-Type: text/html\r\n", "<p>hello</p>"),
        "nan" => say(out, 200, JSON, &result.replacen("\"result\":", "\"result\":NaN,\"x\":", 1)),
        "nan event" => {
            let spoilt = result.replacen("\"result\":", "\"result\":NaN,\"x\":", 1);
            say(out, 200, EVENTS, &format!(": hello\n\nevent: message\ndata: {spoilt}\n\n"))
        }
        "deep event" => {
            let deep = format!("\"result\":{}{},\"x\":", "[".repeat(100_000), "]".repeat(100_000));
            let spoilt = result.replacen("\"result\":", &deep, 1);
            begin(out, 200, EVENTS)?;
            out.write_all(format!("data: {spoilt}\r\n\r\n").as_bytes())?;
            // A server may leave its stream open.
            out.set_read_timeout(Some(Duration::from_secs(20)))?;
            let _ = out.read(&mut [0]);
            Ok(())
        }
        _ => say(out, 200, JSON, &result),
    }
}

pub(crate) fn begin(out: &mut TcpStream, status: u16, headers: &str) -> std::io::Result<()> {
    write!(out, "HTTP/1.1 {status} X\r\nConnection: close\r\n{headers}\r\n")
}

pub(crate) fn say(
    out: &mut TcpStream,
    status: u16,
    headers: &str,
    body: &str,
) -> std::io::Result<()> {
    begin(out, status, &format!("{headers}Content-Length: {}\r\n", body.len()))?;
    out.write_all(body.as_bytes())
}
