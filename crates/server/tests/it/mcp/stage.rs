//! MCP test stage: a workspace with a few tools, a server for it, and clients of both eras.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use haft::{Args, Definitions, Host, HostOptions, LoadOptions, StoreChoice, Tool, define_driver};
use haft_driver::{Cancel, Inquiry, InquiryKind, Remark};
use haft_model::{Actor, ApprovalClass, Role};
use haft_server::{AppState, ClientLimits, Entrance, HttpServer};
use haft_testkit::Folder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::io::{DuplexStream, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::mcp::long;

/// Upper bound on every wait of these tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Deserialize, Serialize, JsonSchema)]
pub(crate) struct Said {
    #[serde(default)]
    pub(crate) text: String,
}

/// A workspace that is served until this is dropped.
pub(crate) struct Stage {
    pub(crate) address: SocketAddr,
    pub(crate) desk: Arc<AppState>,
    pub(crate) host: Host,
    /// Notifies when the lingering tool began, and when it was cancelled.
    pub(crate) began: Arc<Notify>,
    pub(crate) told: Arc<Notify>,
    /// Lets the long-running tool end.
    pub(crate) go: Arc<Notify>,
    stop: Cancel,
    _folder: Arc<Folder>,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(crate) fn reading(id: &str) -> haft::ToolBuilder<Said, Said> {
    let tool = Tool::<Said, Said>::builder(id).description("Does as it is told.");
    tool.mutates(Vec::<String>::new()).risk(0).approval(ApprovalClass::Auto)
}

impl Stage {
    pub(crate) async fn new() -> Stage {
        Stage::within(ClientLimits::default()).await
    }

    pub(crate) async fn within(limits: ClientLimits) -> Stage {
        Stage::over(Arc::new(Stage::folder()), StoreChoice::Memory, limits).await
    }

    /// The same, with a ledger that outlives it.
    pub(crate) async fn kept(folder: Arc<Folder>) -> Stage {
        Stage::over(folder, StoreChoice::Settings, ClientLimits::default()).await
    }

    pub(crate) fn folder() -> Folder {
        Folder::new().file("haft.toml", "[workspace]\nname = \"stage\"\n")
    }

    pub(crate) async fn over(
        folder: Arc<Folder>,
        store: StoreChoice,
        limits: ClientLimits,
    ) -> Stage {
        let (began, told) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let curious =
            reading("curious").extra("concurrency", json!({ "safe": true })).define().unwrap();
        let lingers = reading("lingers").extra("supports_cancel", json!(true)).define().unwrap();
        let remarks = reading("remarks").define().unwrap();
        let writes = Tool::<Said, Said>::builder("writes").description("Writes something down.");
        let writes = writes.mutates(["workspace:notes"]).risk(2).approval(ApprovalClass::OnMutate);
        let writes = writes.define().unwrap();
        let (begin, stop) = (began.clone(), told.clone());
        let driver = define_driver("stage")
            .implement(&curious, |args: Args<Said>| async move {
                let schema =
                    json!({ "type": "object", "properties": { "name": { "type": "string" } } });
                let params =
                    json!({ "mode": "form", "message": "Who?", "requestedSchema": schema });
                let inquiry = Inquiry { kind: InquiryKind::Form, params };
                let answers = args.link.ask([("name".to_owned(), inquiry)].into()).await?;
                Ok(Said { text: json!(answers).to_string() })
            })
            .implement(&lingers, move |args: Args<Said>| {
                let (begin, stop) = (begin.clone(), stop.clone());
                async move {
                    begin.notify_one();
                    args.cancel.cancelled().await;
                    stop.notify_one();
                    Err("it was told to stop".into())
                }
            })
            .implement(&remarks, |args: Args<Said>| async move {
                let (level, data) = ("warning".to_owned(), json!(args.input.text));
                args.link.remark(Remark { level, logger: None, data }).await;
                Ok(args.input)
            })
            .implement(&writes, |args: Args<Said>| async move { Ok(args.input) })
            .define()
            .unwrap();
        let (go, definitions) = (Arc::new(Notify::new()), Definitions::new());
        let definitions = definitions.tool(&curious).tool(&lingers).tool(&remarks).tool(&writes);
        let definitions = long::defined(definitions.driver(&driver), &began, &go);
        let load = LoadOptions { definitions, ..LoadOptions::default() };
        let options = HostOptions { load, store, ..HostOptions::default() };
        let host = Host::open(folder.path(), options).unwrap();
        let desk = Arc::new(AppState::new(host.shared_runtime()).unwrap());
        let entrance = Entrance { limits, ..Entrance::default() };
        let server = HttpServer::open(desk.clone(), "127.0.0.1:0", entrance).await.unwrap();
        let (address, stop) = (server.address(), Cancel::new());
        tokio::spawn(server.run(stop.clone()));
        Stage { address, desk, host, began, told, go, stop, _folder: folder }
    }

    /// A request of 2026-07-28, by a client with the form capability.
    pub(crate) fn request(&self, method: &str, name: &str, params: Value) -> String {
        self.request_by(json!({ "elicitation": { "form": {} } }), method, name, params)
    }

    /// The same by a client with the given capabilities.
    pub(crate) fn request_by(
        &self,
        able: Value,
        method: &str,
        name: &str,
        mut params: Value,
    ) -> String {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": able,
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let body = body.to_string();
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: {method}\r\nMcp-Name: {name}\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
    }

    /// Calls a tool and returns the response.
    pub(crate) async fn call(&self, name: &str, params: Value) -> Value {
        self.sent(self.request("tools/call", name, params)).await
    }

    /// The same by a client without elicitation.
    pub(crate) async fn call_plainly(&self, name: &str, params: Value) -> Value {
        self.sent(self.request_by(json!({}), "tools/call", name, params)).await
    }

    pub(crate) async fn sent(&self, request: String) -> Value {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        let body = answer.split("\r\n\r\n").nth(1).unwrap_or_default();
        let data = body.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap_or(body);
        serde_json::from_str(data).unwrap_or_else(|_| panic!("{answer}"))
    }

    /// The response, head and body, to a message in a session of 2025-11-25; an empty session opens
    /// one.
    pub(crate) async fn say(&self, session: &str, message: Value) -> String {
        let named = match session {
            "" => String::new(),
            name => format!("MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {name}\r\n"),
        };
        let body = message.to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{named}Connection: close\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        answer
    }

    /// Opens a session for a client with the given capabilities, and returns its id.
    pub(crate) async fn session(&self, capabilities: Value) -> String {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": { "name": "test", "version": "1" },
        });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let answer = self.say("", hello).await;
        let named = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        let session = named.unwrap_or_else(|| panic!("{answer}")).trim_end().to_owned();
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.say(&session, ready).await;
        session
    }

    /// A stdio client of an actor.
    pub(crate) fn client_of(&self, actor: Actor) -> Client {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(theirs);
        tokio::spawn(haft_server::lines(self.desk.clone(), actor, input, output));
        let (read, write) = tokio::io::split(ours);
        Client { read: BufReader::new(read), write }
    }

    /// A person's client of 2025-11-25.
    pub(crate) async fn person(&self) -> Client {
        let mut ana = self.host.actor("user:ana");
        ana.roles.insert(Role::Approver);
        let mut client = self.client_of(ana);
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "test", "version": "1" },
        });
        client
            .say(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }))
            .await;
        assert_eq!(client.hear().await["result"]["protocolVersion"], "2025-11-25");
        client.say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        client
    }
}

/// The client's end of a stdio connection.
pub(crate) struct Client {
    read: BufReader<ReadHalf<DuplexStream>>,
    write: WriteHalf<DuplexStream>,
}

impl Client {
    pub(crate) async fn say(&mut self, message: Value) {
        self.say_text(&message.to_string()).await;
    }

    /// Sends a message byte for byte.
    pub(crate) async fn say_text(&mut self, message: &str) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn hear(&mut self) -> Value {
        let mut line = String::new();
        tokio::time::timeout(PATIENCE, self.read.read_line(&mut line)).await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }
}
