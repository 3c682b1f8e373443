//! Session tests for clients until 2025-11-25: what one session loads is announced there alone.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::Duration;

use haft_testkit::Folder;
use serde_json::{Value, json};

use crate::surfaces::settings;
use crate::wire::Server;

/// Longer than any answer takes, so that a test which waits in vain fails.
const PATIENCE: Duration = Duration::from_secs(30);

const VERSION: &str = "2025-06-18";

struct Session<'s> {
    server: &'s Server,
    id: String,
}

/// The whole answer to a request, head and body. By HTTP/1.0 it has no chunks.
fn post(server: &Server, session: Option<&str>, body: &Value) -> String {
    let (address, body) = (server.address, body.to_string());
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let named =
        session.map(|id| format!("MCP-Protocol-Version: {VERSION}\r\nMcp-Session-Id: {id}\r\n"));
    write!(
        stream,
        "POST /mcp HTTP/1.0\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{}\r\n{body}",
        body.len(),
        named.unwrap_or_default()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

impl Session<'_> {
    fn begin(server: &Server) -> Session<'_> {
        let about = json!({
            "protocolVersion": VERSION,
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let request = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about });
        let answer = post(server, None, &request);
        let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        let id = id.unwrap_or_else(|| panic!("no session: {answer}")).to_owned();
        let offers = answer.contains("\"extensions\"");
        assert!(!offers, "a revision without extensions is offered one: {answer}");
        post(
            server,
            Some(&id),
            &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        );
        Session { server, id }
    }

    fn rpc(&self, method: &str, params: Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let text = post(self.server, Some(&self.id), &request);
        let lines = text.lines().map(|line| line.strip_prefix("data:").unwrap_or(line));
        let answer = lines
            .filter(|line| line.contains('{'))
            .find_map(|line| serde_json::from_str(line).ok());
        answer.unwrap_or_else(|| panic!("no answer: {text}"))
    }

    fn lists(&self, tool: &str) -> bool {
        let answer = self.rpc("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer:#}"));
        tools.iter().any(|listed| listed["name"] == tool)
    }

    /// What the server says by itself, line by line.
    fn hear(&self) -> mpsc::Receiver<String> {
        let mut stream = TcpStream::connect(self.server.address).unwrap();
        write!(
            stream,
            "GET /mcp HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {}\r\n\r\n",
            self.server.address, self.id
        )
        .unwrap();
        let mut lines = BufReader::new(stream).lines();
        // Once it begins to answer, it listens.
        while !lines.next().unwrap().unwrap().is_empty() {}
        let (said, heard) = mpsc::channel();
        std::thread::spawn(move || {
            lines.map_while(Result::ok).try_for_each(|line| said.send(line))
        });
        heard
    }
}

#[test]
fn tool_load_notifies_its_own_session_only() {
    let folder = Folder::new().file("haft.toml", settings("defer_above = 2\n"));
    let server = Server::of(&folder);
    let (one, other) = (Session::begin(&server), Session::begin(&server));
    let (heard_by_one, heard_by_other) = (one.hear(), other.hear());
    let load = |session: &Session<'_>, tool: &str| {
        let arguments = json!({ "names": [tool] });
        let loaded =
            session.rpc("tools/call", json!({ "name": "tool_load", "arguments": arguments }));
        assert_eq!(loaded["result"]["isError"], false, "{loaded:#}");
    };
    load(&one, "time.now");
    assert_eq!((one.lists("time_now"), other.lists("time_now")), (true, false));
    load(&other, "fs.list");
    // Each is told once: had the other been told of the first, it would be told twice.
    let told = |heard: &mpsc::Receiver<String>| {
        loop {
            let line = heard.recv_timeout(PATIENCE).unwrap();
            if line.contains("list_changed") {
                break;
            }
        }
    };
    told(&heard_by_one);
    told(&heard_by_other);
    one.rpc("ping", json!({}));
    let more = |heard: mpsc::Receiver<String>| {
        heard.try_iter().filter(|line| line.contains("list_changed")).count()
    };
    assert_eq!((more(heard_by_one), more(heard_by_other)), (0, 0));
}
