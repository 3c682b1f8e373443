//! MCP sessions: ownership, limits, and the cost of an idle one.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use haft::StoreChoice;
use haft_model::{ActorId, Role};
use haft_runtime::TokenWish;
use haft_server::{ClientLimits, SessionLimits};
use haft_testkit::Folder;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::mcp::stage::{PATIENCE, Stage};

const ACTORS: &str = "[workspace]\nname = \"stage\"\n\
    [[actor]]\nid = \"agent:ana\"\nroles = [\"agent\"]\ntenant = \"north\"\n\
    [[actor]]\nid = \"agent:bo\"\nroles = [\"agent\"]\ntenant = \"north\"\n\
    [[actor]]\nid = \"agent:cleo\"\nroles = [\"agent\"]\ntenant = \"south\"\n";

/// A client with its identity and protocol version.
#[derive(Clone)]
struct Client {
    address: SocketAddr,
    token: Option<String>,
    version: &'static str,
}

/// A response, without its timestamps.
type Told = (u16, String);

impl Client {
    fn head(&self, method: &str, session: Option<&str>, more: &str) -> String {
        let named = session.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
        let shown = self.token.as_ref().map(|token| format!("Authorization: Bearer {token}\r\n"));
        let version = match method == "POST" && session.is_none() {
            true => String::new(),
            false => format!("MCP-Protocol-Version: {}\r\n", self.version),
        };
        format!(
            "{method} /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{version}{named}{}{more}",
            self.address,
            shown.unwrap_or_default()
        )
    }

    /// Opens a connection; returns it with the head of the response read.
    async fn open(&self, request: &str) -> (u16, Vec<(String, String)>, BufReader<TcpStream>) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reader = BufReader::new(stream);
        let (mut status, mut headers) = (0, Vec::new());
        loop {
            let mut line = String::new();
            timeout(PATIENCE, reader.read_line(&mut line)).await.unwrap().unwrap();
            match line.trim_end().split_once(": ") {
                Some((name, value)) => headers.push((name.to_lowercase(), value.to_owned())),
                None if line.starts_with("HTTP/1.1 ") => status = line[9..12].parse().unwrap(),
                None => return (status, headers, reader),
            }
        }
    }

    async fn whole(&self, request: &str) -> (Told, Vec<(String, String)>) {
        let (status, headers, mut reader) = self.open(request).await;
        let mut body = String::new();
        timeout(PATIENCE, reader.read_to_string(&mut body)).await.unwrap().unwrap();
        ((status, body), headers)
    }

    async fn post(&self, session: Option<&str>, message: &Value) -> (Told, Vec<(String, String)>) {
        let body = message.to_string();
        let more = format!("Connection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        self.whole(&self.head("POST", session, &more)).await
    }

    async fn get(&self, session: &str, more: &str) -> Told {
        let request = self.head("GET", Some(session), &format!("{more}Connection: close\r\n\r\n"));
        let (status, _, mut reader) = self.open(&request).await;
        let mut body = String::new();
        if status != 200 {
            timeout(PATIENCE, reader.read_to_string(&mut body)).await.unwrap().unwrap();
        }
        (status, body)
    }

    async fn delete(&self, session: &str) -> Told {
        self.whole(&self.head("DELETE", Some(session), "Connection: close\r\n\r\n")).await.0
    }

    /// Tries to open a session; returns its id, or the refusal.
    async fn tries_to_open(&self) -> Result<String, (Told, Vec<(String, String)>)> {
        let params = json!({
            "protocolVersion": self.version, "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let (told, headers) = self.post(None, &hello).await;
        let named = headers.iter().find(|(name, _)| name == "mcp-session-id");
        let Some((_, id)) = named.cloned() else { return Err((told, headers)) };
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.post(Some(&id), &ready).await.0.0, 202);
        Ok(id)
    }

    async fn session(&self) -> String {
        self.tries_to_open().await.unwrap_or_else(|told| panic!("{told:?}"))
    }
}

fn list() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} })
}

fn call() -> Value {
    let params = json!({ "name": "remarks", "arguments": { "text": "hello" } });
    json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params })
}

async fn stage(limits: SessionLimits) -> Stage {
    let folder = Arc::new(Folder::new().file("haft.toml", ACTORS));
    let limits = ClientLimits { sessions: limits, ..ClientLimits::default() };
    Stage::over(folder, StoreChoice::Memory, limits).await
}

async fn client(stage: &Stage, actor: Option<&str>, version: &'static str) -> Client {
    let token = match actor {
        None => None,
        Some(actor) => {
            let mut owner = stage.host.actor("user:owner");
            owner.roles.insert(Role::Admin);
            let wish = TokenWish { actor: ActorId::from(actor), expires: None, label: None };
            let (text, _) = stage.host.runtime().issue_token(wish, &owner).await.unwrap();
            Some(text.expose().to_owned())
        }
    };
    Client { address: stage.address, token, version }
}

/// A value of `/metrics`.
async fn figure(client: &Client, name: &str) -> usize {
    let request =
        format!("GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", client.address);
    let ((_, text), _) = client.whole(&request).await;
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.unwrap_or_else(|| panic!("{name}: {text}")).parse().unwrap()
}

/// Waits until a metric has a value.
async fn until(client: &Client, name: &str, wanted: usize) {
    let looking = async {
        while figure(client, name).await != wanted {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, looking).await.unwrap_or_else(|_| panic!("{name} is never {wanted}"));
}

/// Everything that a client can do with a session id but end it.
async fn uses(client: &Client, session: &str) -> Vec<Told> {
    let cancels = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    let answers = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
    let mut told = Vec::new();
    for message in [list(), call(), cancels, answers] {
        told.push(client.post(Some(session), &message).await.0);
    }
    for more in ["", "Last-Event-ID: 0\r\n", "Last-Event-ID: 0/0\r\n"] {
        told.push(client.get(session, more).await);
    }
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn session_of_another_is_unknown_on_every_method() {
    const UNKNOWN: &str = "00000000-0000-4000-8000-000000000000";
    let stage = stage(SessionLimits::default()).await;
    for version in ["2025-06-18", "2025-11-25"] {
        let ana = client(&stage, Some("agent:ana"), version).await;
        let session = ana.session().await;
        for other in [Some("agent:bo"), Some("agent:cleo"), None] {
            let other = client(&stage, other, version).await;
            let (foreign, unknown) = (uses(&other, &session).await, uses(&other, UNKNOWN).await);
            assert_eq!(foreign, unknown, "{version}");
            assert!(foreign.iter().all(|(status, _)| *status == 404), "{version}: {foreign:?}");
            let ended = other.delete(&session).await;
            assert_eq!(ended, other.delete(UNKNOWN).await, "{version}");
            assert_eq!(ended.0, 404, "{version}");
            let modern = Client { version: "2026-07-28", ..other };
            assert_eq!(uses(&modern, &session).await, uses(&modern, UNKNOWN).await, "{version}");
        }
        let own = uses(&ana, &session).await;
        assert!(own.iter().all(|(status, _)| [200, 202].contains(status)), "{version}: {own:?}");
        let again = client(&stage, Some("agent:ana"), version).await;
        assert_eq!(again.post(Some(&session), &list()).await.0.0, 200, "another token of hers");
        assert_eq!(ana.delete(&session).await.0, 204);
        assert!(uses(&ana, &session).await.iter().all(|(status, _)| *status == 404));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sleeping_session_belongs_to_its_opener_and_goes_on() {
    let limits =
        SessionLimits { awake: 0, rest: Duration::from_millis(50), ..SessionLimits::default() };
    let stage = stage(limits).await;
    let ana = client(&stage, Some("agent:ana"), "2025-11-25").await;
    let bo = client(&stage, Some("agent:bo"), "2025-11-25").await;
    let plain = client(&stage, None, "2025-11-25").await;
    let session = ana.session().await;
    let level = json!({ "jsonrpc": "2.0", "id": 3, "method": "logging/setLevel", "params": { "level": "error" } });
    assert_eq!(ana.post(Some(&session), &level).await.0.0, 200);
    for round in 0..3 {
        until(&plain, "haft_mcp_sessions_asleep", 1).await;
        assert_eq!(figure(&plain, "haft_mcp_sessions_awake").await, 0);
        assert!(uses(&bo, &session).await.iter().all(|(status, _)| *status == 404), "{round}");
        assert_eq!(figure(&plain, "haft_mcp_sessions_asleep").await, 1, "nobody else wakes it");
        // Concurrent requests are all answered, by one session.
        let mut coming = tokio::task::JoinSet::new();
        for number in 0..8 {
            let (ana, session) = (ana.clone(), session.clone());
            let mut asks = list();
            asks["id"] = json!(100 + number);
            coming.spawn(async move { ana.post(Some(&session), &asks).await.0 });
        }
        while let Some(told) = coming.join_next().await {
            let (status, body) = told.unwrap();
            assert_eq!(status, 200, "{round}: {body}");
            assert!(body.contains("\"remarks\""), "{round}: {body}");
        }
    }
    until(&plain, "haft_mcp_sessions_asleep", 1).await;
    let told = ana.post(Some(&session), &call()).await.0;
    assert!(
        told.0 == 200 && !told.1.contains("notifications/message"),
        "its level is kept: {told:?}"
    );
    until(&plain, "haft_mcp_sessions_asleep", 1).await;
    assert_eq!(ana.delete(&session).await.0, 204);
    assert_eq!(figure(&plain, "haft_mcp_sessions_asleep").await, 0);
    assert_eq!(ana.post(Some(&session), &list()).await.0.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn opening_past_a_cap_ends_the_oldest_idle_session() {
    let stage = stage(SessionLimits { most: 3, per_actor: 2, ..SessionLimits::default() }).await;
    let ana = client(&stage, Some("agent:ana"), "2025-11-25").await;
    let bo = client(&stage, Some("agent:bo"), "2025-11-25").await;
    let waits = async |client: &Client, session: &str| {
        client.open(&client.head("GET", Some(session), "\r\n")).await
    };
    let first = ana.session().await;
    let second = ana.session().await;
    let third = ana.session().await;
    let status =
        async |client: &Client, session: &str| client.post(Some(session), &list()).await.0.0;
    assert_eq!([status(&ana, &first).await, status(&ana, &second).await], [404, 200]);
    let streams = (waits(&ana, &second).await, waits(&ana, &third).await);
    let (told, headers) = ana.tries_to_open().await.unwrap_err();
    let after = |headers: &[(String, String)]| {
        headers.iter().find(|(name, _)| name == "retry-after").map(|(_, value)| value.clone())
    };
    assert_eq!((told.0, after(&headers)), (429, Some("30".to_owned())), "{told:?}");
    let theirs = bo.session().await;
    let stream = waits(&bo, &theirs).await;
    let cleo = client(&stage, Some("agent:cleo"), "2025-11-25").await;
    let (told, headers) = cleo.tries_to_open().await.unwrap_err();
    assert_eq!((told.0, after(&headers)), (503, Some("30".to_owned())), "{told:?}");
    drop((streams, stream));
    until_open(&cleo).await;
    assert_eq!(
        figure(&client(&stage, None, "2025-11-25").await, "haft_mcp_sessions_awake").await,
        3
    );
}

/// Opens a session as soon as the server noticed that others left.
async fn until_open(client: &Client) {
    let trying = async {
        while client.tries_to_open().await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, trying).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn abandoned_session_takes_at_most_four_kilobytes() {
    const MANY: usize = 200;
    let limits =
        SessionLimits { awake: 8, rest: Duration::from_millis(50), ..SessionLimits::default() };
    let stage = stage(limits).await;
    let plain = client(&stage, None, "2025-11-25").await;
    for _ in 0..MANY {
        plain.session().await;
    }
    until(&plain, "haft_mcp_sessions_asleep", MANY).await;
    let bytes = figure(&plain, "haft_mcp_sessions_bytes").await;
    assert!(bytes <= MANY * 4096, "{bytes}");
}

#[tokio::test(flavor = "multi_thread")]
async fn session_id_stands_in_no_record() {
    let stage = stage(SessionLimits::default()).await;
    let plain = client(&stage, None, "2025-11-25").await;
    let session = plain.session().await;
    for message in [list(), call()] {
        assert_eq!(plain.post(Some(&session), &message).await.0.0, 200);
    }
    let reader = stage.host.runtime().reader();
    reader.caught_up().await.unwrap();
    let entries = reader.entries(None, 1000).await.unwrap();
    assert!(!entries.is_empty());
    for entry in entries {
        assert!(!entry.line.contains(&session), "{}", entry.line);
    }
}
