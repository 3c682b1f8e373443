//! Redaction tests over HTTP (§23, test 16): only the backend sees a secret and a sensitive field,
//! and no span does.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use haft_testkit::{Act, Backend, Folder, Keys, Then};
use serde_json::{Value, json};

use crate::bank::{bank, told};
use crate::canary::{CARD, KEY, canary_in, nothing_below};
use crate::client::Client;
use crate::stage::command;
use crate::telemetry::collector::{Collector, Does, text};
use crate::wire::Server;

/// The bank with spans, and with an approver who may answer over the wire.
fn telling_bank(backend: &Backend, collector: &Collector, content: bool) -> Folder {
    let folder = bank(backend);
    let mut settings =
        OpenOptions::new().append(true).open(folder.path().join("haft.toml")).unwrap();
    let telemetry =
        format!("[telemetry]\nendpoint = \"{}\"\ncontent = {content}\n", collector.base());
    let actor = "[[actor]]\nid = \"user:bo\"\nroles = [\"approver\", \"auditor\"]\n";
    settings.write_all(format!("{actor}{telemetry}").as_bytes()).unwrap();
    let set = told(&folder, "secrets set bank/key --stdin", KEY);
    assert!(set.status.success(), "{set:?}");
    folder
}

/// What a server answers, to agents of this machine and to a person who sees everything; none of it
/// holds a canary.
struct Wire<'s> {
    server: &'s Server,
    token: String,
}

impl Wire<'_> {
    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let bearer = format!("Bearer {}", self.token);
        self.asked(method, path, &[("Authorization", &bearer)], body)
    }

    #[track_caller]
    fn asked(
        &self,
        method: &str,
        path: &str,
        as_whom: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Value {
        let answer = self.server.ask(method, path, as_whom, body.map(Value::to_string).as_deref());
        let text = String::from_utf8_lossy(&answer.body);
        assert_eq!(canary_in(&answer.body), None, "{method} {path}\n{text}");
        assert!(matches!(answer.status, 200 | 202), "{method} {path}: {}\n{text}", answer.status);
        serde_json::from_str(&text).unwrap_or_else(|_| json!(text))
    }

    /// Everything that happened, as a stream tells it, up to the end of so many calls.
    fn streamed(&self, calls: usize) -> String {
        let mut stream = TcpStream::connect(self.server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let (host, token) = (self.server.address, &self.token);
        let head = format!(
            "GET /v1/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nLast-Event-ID: 0\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let (mut told, mut piece) = (Vec::new(), [0; 4096]);
        loop {
            let read = stream.read(&mut piece).unwrap();
            told.extend_from_slice(&piece[..read]);
            let text = String::from_utf8_lossy(&told);
            let ended = text.matches("event: haft.attempt.ended").count();
            if ended >= calls {
                return text.into_owned();
            }
            assert_ne!(read, 0, "the stream ended\n{text}");
        }
    }

    #[track_caller]
    fn call(&self, tool: &str, order: &str, card: &str, status: &str) -> Value {
        let body = json!({ "tool": tool, "input": { "order": order, "card": card } });
        let told = self.asked("POST", "/v1/call", &[], Some(&body));
        assert_eq!(told["status"], status, "{told:#}");
        told
    }
}

/// One call each way that a call can go, over REST, MCP and function calling.
fn calls(wire: &Wire<'_>, backend: &Backend) -> Vec<String> {
    let gossip = format!("{{\"id\": \"e-1\", \"note\": \"card {CARD} by Bearer {KEY}\"}}");
    for act in [
        Act::commits(Then::json(200, &gossip)),
        Act::refuses(Then::json(402, &gossip)),
        Act::refuses(Then::Answer(500, "", gossip.clone().into_bytes())),
        Act::commits(Then::json(200, &gossip)),
        Act::commits(Then::json(200, &gossip)),
    ] {
        backend.will_at("/pay", act);
    }
    backend.will_at("/transfer", Act::commits(Then::json(200, &gossip)));
    let id = |told: &Value| told["invocation_id"].as_str().unwrap().to_owned();
    let mut ids = vec![
        id(&wire.call("pay", "o-1", CARD, "succeeded")),
        id(&wire.call("pay", "o-2", CARD, "failed")),
        id(&wire.call("pay", "o-3", CARD, "failed")),
        id(&wire.call("pay", "o-4", &format!("{CARD}{}", "0".repeat(40)), "failed")),
        id(&wire.call("refund", "o-5", CARD, "denied")),
    ];
    let (no, yes) = (
        wire.call("transfer", "o-6", CARD, "pending"),
        wire.call("transfer", "o-7", CARD, "pending"),
    );
    wire.ask("GET", "/v1/approvals", None);
    for (asked, decision) in [(&no, "reject"), (&yes, "approve")] {
        let question = asked["approval_id"].as_str().unwrap();
        let body = json!({ "decision": decision, "reason": "said so" });
        wire.ask("POST", &format!("/v1/approvals/{question}"), Some(&body));
    }
    ids.extend([id(&no), id(&yes)]);
    // The same over the two wires of agents.
    let client = Client { server: wire.server, session: None };
    for tool in ["pay", "refund"] {
        let input = json!({ "order": format!("m-{tool}"), "card": CARD });
        let answer = client.call(tool, input).to_string();
        assert_eq!(canary_in(answer.as_bytes()), None, "{answer}");
    }
    let arguments = json!({ "order": "f-1", "card": CARD }).to_string();
    let reply = json!({ "tool_calls": [
        { "id": "c-1", "type": "function", "function": { "name": "pay", "arguments": arguments } },
    ] });
    wire.asked("POST", "/v1/functions/openai", &[], Some(&reply));
    ids
}

fn check(content: bool) {
    let backend = Backend::new(Keys::Ignored);
    let collector = Collector::new(Does::Takes);
    let folder = telling_bank(&backend, &collector, content);
    let token = told(&folder, "token new user:bo --json", "");
    let token: Value = serde_json::from_slice(&token.stdout).unwrap();
    let mut serve = command(&folder, "serve --listen 127.0.0.1:0");
    serve.env_remove("BANK_KEY");
    let mut server = Server::by(serve);
    let wire = Wire { server: &server, token: token["token"].as_str().unwrap().to_owned() };
    let ids = calls(&wire, &backend);

    // The backend was told both, and so they were there to be seen.
    let heard = backend.heard();
    assert!(heard.len() >= 6, "{heard:?}");
    for request in &heard {
        assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
        assert!(request.body.contains(CARD), "{request:?}");
    }
    for path in [
        "/v1/catalog",
        "/v1/catalog/pay",
        "/v1/invocations",
        "/v1/approvals?all=true",
        "/v1/search?q=money",
        "/v1/surfaces",
        "/v1/functions/anthropic",
        "/metrics",
    ] {
        wire.ask("GET", path, None);
    }
    let mut followed = 0;
    for id in &ids {
        for path in ["", "/trace"] {
            wire.ask("GET", &format!("/v1/invocations/{id}{path}"), None);
        }
        let whole = collector.of(id).remove(0);
        followed += usize::from(text(&whole, "error.type").is_empty());
    }
    assert_eq!(followed, 2, "two of them went well");
    let streamed = wire.streamed(heard.len());
    assert_eq!(canary_in(streamed.as_bytes()), None, "{streamed}");
    let listed = Client { server: &server, session: None }.rpc("tools/list", json!({}));
    assert_eq!(canary_in(listed.to_string().as_bytes()), None, "{listed:#}");
    assert!(listed.to_string().contains("pay"), "{listed:#}");

    server.end();
    assert_eq!(canary_in(server.said().as_bytes()), None, "{}", server.said());
    for taken in collector.requests() {
        let text = String::from_utf8_lossy(&taken.bytes);
        assert_eq!(canary_in(&taken.bytes), None, "{text}");
        assert!(taken.headers.iter().all(|(_, value)| canary_in(value.as_bytes()).is_none()));
        assert_eq!(text.contains("gen_ai.tool.call.arguments"), content);
    }
    let events = told(&folder, "events --json", "");
    assert_eq!(canary_in(&events.stdout), None);
    assert!(nothing_below(&folder.path().join(".haft")) > 3);
}

#[test]
fn test_16_http_server_redacts_secrets_and_sensitive_fields() {
    check(false);
}

#[test]
fn test_16_spans_with_content_redact_secrets_too() {
    check(true);
}
