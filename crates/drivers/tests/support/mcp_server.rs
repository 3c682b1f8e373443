//! Test MCP server: speaks either protocol era, and lies, hangs, floods and exits as it is told. It
//! is also the launcher that confines itself.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a server that cannot go on ends, and the test sees that"
)]

use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

fn main() {
    haft_sandbox::launcher();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut server = Server::new(&args);
    if args.iter().any(|arg| arg == "stillborn") {
        eprintln!("no such database");
        std::process::exit(7);
    }
    if args.iter().any(|arg| arg == "transcript") {
        return follow_script();
    }
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line.unwrap()) else { continue };
        server.hear(&message);
    }
}

/// Answers each line with the next lines of `script.json`, and keeps what it received.
fn follow_script() {
    let script = std::fs::read_to_string("script.json").unwrap();
    let replies: Vec<Vec<String>> = serde_json::from_str(&script).unwrap();
    let mut heard = std::fs::File::create("heard.txt").unwrap();
    let mut replies = replies.into_iter();
    for line in std::io::stdin().lock().lines() {
        writeln!(heard, "{}", line.unwrap()).unwrap();
        let mut out = std::io::stdout().lock();
        for reply in replies.next().unwrap_or_default() {
            writeln!(out, "{reply}").unwrap();
        }
        out.flush().unwrap();
    }
}

/// The state of a server.
struct Server {
    legacy: bool,
    modern: bool,
    /// Whether it exits on a request of a protocol that it does not know.
    touchy: bool,
    described: String,
    /// The received requests, by method.
    heard: Vec<String>,
    /// The call that waits for the answer to each of our requests.
    waiting: BTreeMap<String, Value>,
    out: Arc<Mutex<std::io::Stdout>>,
}

impl Server {
    fn new(args: &[String]) -> Server {
        let has = |word: &str| args.iter().any(|arg| arg == word);
        let described = args.iter().find_map(|arg| arg.strip_prefix("described="));
        Server {
            legacy: !has("modern"),
            modern: has("modern") || has("both"),
            touchy: has("touchy"),
            described: described.unwrap_or("Says it again.").to_owned(),
            heard: Vec::new(),
            waiting: BTreeMap::new(),
            out: Arc::new(Mutex::new(std::io::stdout())),
        }
    }

    fn say(&self, message: &Value) {
        say(&self.out, message);
    }

    fn hear(&mut self, message: &Value) {
        let Some(method) = message["method"].as_str() else { return self.answered(message) };
        let mut heard = method.to_owned();
        if let Some(reason) = message["params"]["requestId"].as_u64() {
            heard = format!("{method} {reason}");
        }
        self.heard.push(heard);
        let id = &message["id"];
        if id.is_null() {
            return;
        }
        let params = &message["params"];
        let version = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
        match method {
            "server/discover" if self.modern => self.result(id, json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {"listChanged": true}}, "ttlMs": 0, "cacheScope": "private",
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "test", "version": "1"}},
            })),
            "initialize" if self.legacy => self.result(id, json!({
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": true}},
                "serverInfo": {"name": "test", "version": "1"},
            })),
            "server/discover" if self.touchy => {
                eprintln!("what is `{method}`?");
                std::process::exit(3);
            }
            "tools/list" if !self.legacy && version.is_null() => {
                self.error(id, -32602, "who speaks?");
            }
            "tools/list" => self.result(id, json!({
                "resultType": "complete", "tools": self.tools(),
            })),
            "tools/call" => self.call(id, params),
            "subscriptions/listen" => self.say(&json!({
                "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                "params": {
                    "notifications": params["notifications"],
                    "_meta": {"io.modelcontextprotocol/subscriptionId": id},
                },
            })),
            _ => self.error(id, -32601, "there is no such method"),
        }
    }

    fn tools(&self) -> Value {
        let tool = |name: &str, description: &str, required: Value| {
            json!({
                "name": name, "description": description,
                "inputSchema": {"type": "object", "required": required},
                "annotations": {"readOnlyHint": true, "destructiveHint": false},
            })
        };
        let mut tools = vec![tool("echo", &self.described, json!(["text"]))];
        let others = [
            "text",
            "json",
            "pieces",
            "fail",
            "progress",
            "hang",
            "add",
            "flood",
            "lie",
            "odd",
            "unreadable",
            "ask",
            "elicit",
            "leave",
            "journal",
            "change",
            "env",
            "error",
            "meta",
            "noise",
            "late",
            "log",
        ];
        tools.extend(others.map(|name| tool(name, "For tests.", json!([]))));
        Value::Array(tools)
    }

    fn call(&mut self, id: &Value, params: &Value) {
        let given = &params["arguments"];
        let text = given["text"].as_str().unwrap_or_default();
        match params["name"].as_str().unwrap_or_default() {
            "echo" => self.result(id, json!({
                "resultType": "complete", "structuredContent": {"text": text, "given": given},
                "content": [{"type": "text", "text": json!({"text": text, "given": given}).to_string()}],
            })),
            "text" | "json" => self.text(id, text),
            "pieces" => self.result(id, pieces()),
            "fail" => self.result(id, json!({
                "resultType": "complete", "isError": true, "content": [{"type": "text", "text": text}],
            })),
            "progress" => self.progress(id, params),
            "log" => {
                self.say(&json!({
                    "jsonrpc": "2.0", "method": "notifications/message",
                    "params": {"level": "info", "data": text},
                }));
                self.text(id, "done");
            }
            "hang" => {}
            "add" => self.add(id, given),
            "flood" => {
                let bytes = given["bytes"].as_u64().unwrap_or_default();
                self.text(id, &"x".repeat(usize::try_from(bytes).unwrap()));
            }
            "lie" => self.result(id, json!({"resultType": "complete", "content": 7})),
            "odd" => self.result(id, json!({"resultType": "perhaps", "content": []})),
            "unreadable" => {
                let how = params["arguments"]["how"].as_str().unwrap();
                let begin = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"structuredContent":{{"x":"#);
                let rest = match how {
                    "nan" => b"NaN}}}".to_vec(),
                    "bytes" => b"\"\xff\xfe\"}}}".to_vec(),
                    _ => [vec![b'['; 100_000], vec![b']'; 100_000], b"}}}".to_vec()].concat(),
                };
                let mut out = self.out.lock().unwrap();
                out.write_all(&[begin.into_bytes(), rest, b"\n".to_vec()].concat()).unwrap();
                out.flush().unwrap();
            }
            "ask" if params["inputResponses"].is_object() => self.add(id, given),
            "ask" => self.result(id, json!({
                "resultType": "input_required", "requestState": "s",
                "inputRequests": {"q": {"method": "elicitation/create", "params": {
                    "mode": "form", "message": "Which one?",
                    "requestedSchema": {"type": "object", "properties": {}},
                }}},
            })),
            "elicit" => self.elicit(id),
            "leave" => {
                eprintln!("out of memory");
                std::process::exit(9);
            }
            "journal" => self.result(id, json!({
                "resultType": "complete", "content": [], "structuredContent": self.heard,
            })),
            "change" => {
                self.described = text.to_owned();
                let mut told = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
                if !self.legacy {
                    told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] = given["id"].clone();
                }
                self.say(&told);
                self.text(id, "changed");
            }
            "env" => self.text(id, &std::env::var(text).unwrap_or_default()),
            "error" => self.error(id, given["code"].as_i64().unwrap(), "it cannot be done\nnow"),
            "meta" => self.result(id, json!({
                "resultType": "complete", "content": [], "structuredContent": params["_meta"],
            })),
            "noise" => {
                let mut out = self.out.lock().unwrap();
                out.write_all(b"loading...\n\n{\"half\": \n[]\n").unwrap();
                drop(out);
                self.text(id, "after the noise");
            }
            "late" => {
                let (out, id, text) = (self.out.clone(), id.clone(), text.to_owned());
                let wait = Duration::from_millis(given["ms"].as_u64().unwrap());
                std::thread::spawn(move || {
                    std::thread::sleep(wait);
                    let content = json!([{"type": "text", "text": text}]);
                    let result = json!({"resultType": "complete", "content": content});
                    say(&out, &json!({"jsonrpc": "2.0", "id": id, "result": result}));
                });
            }
            _ => self.error(id, -32602, "there is no such tool"),
        }
    }

    /// Writes a line, and goes on as it is told.
    fn add(&self, id: &Value, given: &Value) {
        if let Some(also) = given["also"].as_str().map(std::path::Path::new) {
            std::fs::create_dir_all(also.parent().unwrap()).unwrap();
            std::fs::write(also, "x").unwrap();
        }
        let file = std::fs::OpenOptions::new().create(true).append(true).open("effects.txt");
        match file.and_then(|mut file| writeln!(file, "{}", given["line"])) {
            Ok(()) => {}
            Err(fault) => {
                let content = json!([{"type": "text", "text": fault.to_string()}]);
                let result = json!({"resultType": "complete", "isError": true, "content": content});
                return self.result(id, result);
            }
        }
        match given["then"].as_str() {
            Some("hang") => {}
            Some("leave") => std::process::exit(0),
            Some("lie") => self.result(id, json!([1])),
            Some(_) | None => self.text(id, "added"),
        }
    }

    fn progress(&self, id: &Value, params: &Value) {
        let token = &params["_meta"]["progressToken"];
        for (done, message) in [(1, "one"), (3, "three"), (2, "two"), (4, "four")] {
            self.say(&json!({
                "jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": token, "progress": done, "total": 4, "message": message},
            }));
        }
        self.text(id, "done");
    }

    fn elicit(&mut self, id: &Value) {
        self.waiting.insert("q1".to_owned(), id.clone());
        self.say(&json!({
            "jsonrpc": "2.0", "id": "q1", "method": "elicitation/create",
            "params": {"message": "Really?", "requestedSchema": {"type": "object", "properties": {}}},
        }));
    }

    fn answered(&mut self, message: &Value) {
        let question = message["id"].as_str().unwrap_or_default();
        if let Some(id) = self.waiting.remove(question) {
            let said = message["result"]["action"].as_str().unwrap_or("nothing").to_owned();
            let content = json!([{"type": "text", "text": format!("the answer is {said}")}]);
            let result = json!({"resultType": "complete", "isError": true, "content": content});
            self.result(&id, result);
        }
    }

    fn text(&self, id: &Value, text: &str) {
        let content = json!([{"type": "text", "text": text}]);
        self.result(id, json!({"resultType": "complete", "content": content}));
    }

    fn result(&self, id: &Value, result: Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    fn error(&self, id: &Value, code: i64, message: &str) {
        let error = json!({"code": code, "message": message});
        self.say(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
    }
}

fn say(out: &Mutex<std::io::Stdout>, message: &Value) {
    let mut out = out.lock().unwrap();
    writeln!(out, "{message}").unwrap();
    out.flush().unwrap();
}

fn pieces() -> Value {
    json!({"resultType": "complete", "content": [
        {"type": "text", "text": "words"},
        {"type": "image", "data": "aW1n", "mimeType": "image/png"},
        {"type": "audio", "data": "c25k", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "file:///a.txt", "name": "a", "mimeType": "text/plain"},
        {"type": "resource", "resource": {"uri": "file:///b.txt", "mimeType": "text/plain", "text": "b"}},
        {"type": "resource", "resource": {"uri": "file:///c.bin", "blob": "Yg=="}},
    ]})
}
