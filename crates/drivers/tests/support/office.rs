//! Test MCP server that requires a login, with its own authorization server.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// An MCP server that requires a login, with its own authorization server.
pub(crate) struct Office {
    pub(crate) port: u16,
    /// The received forms of the token endpoint.
    pub(crate) forms: Arc<Mutex<Vec<String>>>,
    /// Each `Authorization` header at the MCP endpoint.
    pub(crate) shown: Arc<Mutex<Vec<String>>>,
    /// Each `Authorization` header at the token endpoint.
    pub(crate) proved: Arc<Mutex<Vec<String>>>,
}

/// The requests that it has received.
#[derive(Clone, Default)]
struct Heard {
    forms: Arc<Mutex<Vec<String>>>,
    shown: Arc<Mutex<Vec<String>>>,
    proved: Arc<Mutex<Vec<String>>>,
}

/// How it treats its clients.
#[derive(Clone, Copy, Default)]
pub(crate) struct Habits {
    /// The client secret that a registration returns.
    pub(crate) secret: Option<&'static str>,
    /// A scope that the server requires and that no token has.
    pub(crate) wants: Option<&'static str>,
}

impl Office {
    pub(crate) fn new() -> Office {
        Office::with(Habits::default())
    }

    pub(crate) fn with(habits: Habits) -> Office {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Heard::default();
        let Heard { forms, shown, proved } = heard.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let heard = heard.clone();
                std::thread::spawn(move || serve(stream, port, habits, &heard));
            }
        });
        Office { port, forms, shown, proved }
    }

    pub(crate) fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

fn serve(mut stream: TcpStream, port: u16, habits: Habits, heard: &Heard) {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let (head, body) = loop {
        let read = stream.read(&mut piece).unwrap_or(0);
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let lower = head.to_ascii_lowercase();
            let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.parse().unwrap());
            if body.len() >= length {
                break (head.to_owned(), body.to_owned());
            }
        }
        if read == 0 {
            return;
        }
    };
    let base = format!("http://127.0.0.1:{port}");
    let path = head.split(' ').nth(1).unwrap_or_default();
    let proof = head.lines().find_map(|line: &str| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("authorization").then(|| value.to_owned())
    });
    let (status, headers, answer) = match path {
        "/.well-known/oauth-protected-resource/mcp" => {
            let resource = format!("{base}/mcp");
            (200, String::new(), json!({"resource": resource, "authorization_servers": [base]}))
        }
        "/.well-known/oauth-authorization-server" => (
            200,
            String::new(),
            json!({
                "issuer": base, "authorization_endpoint": format!("{base}/authorize"),
                "token_endpoint": format!("{base}/token"), "registration_endpoint": format!("{base}/register"),
                "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
                "authorization_response_iss_parameter_supported": true,
            }),
        ),
        "/register" => {
            let mut registered: Value = serde_json::from_str(&body).unwrap();
            registered["client_id"] = json!("c1");
            if let Some(secret) = habits.secret {
                registered["client_secret"] = json!(secret);
            }
            (201, String::new(), registered)
        }
        "/token" => {
            heard.proved.lock().unwrap().extend(proof);
            let mut forms = heard.forms.lock().unwrap();
            forms.push(body);
            // The first token expires at once, so that it must be renewed.
            let seconds = if forms.len() == 1 { 1 } else { 3600 };
            (
                200,
                String::new(),
                json!({
                    "access_token": format!("token-{}", forms.len()), "token_type": "Bearer",
                    "refresh_token": "r1", "expires_in": seconds,
                }),
            )
        }
        "/mcp" => {
            let place = format!("{base}/.well-known/oauth-protected-resource/mcp");
            let known = proof.is_some();
            heard.shown.lock().unwrap().extend(proof);
            let (status, lacks) = match habits.wants.filter(|_| known) {
                Some(wanted) => {
                    (403, format!("error=\"insufficient_scope\", scope=\"{wanted}\", "))
                }
                None => (401, "scope=\"notes:read\", ".to_owned()),
            };
            let challenge =
                format!("WWW-Authenticate: Bearer {lacks}resource_metadata=\"{place}\"\r\n");
            (status, challenge, json!({}))
        }
        _ => (404, String::new(), json!({})),
    };
    let answer = answer.to_string();
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n{answer}",
        answer.len()
    );
}

/// A value in the query of a URL.
pub(crate) fn query(address: &str, name: &str) -> String {
    let pairs = address.split_once('?').unwrap().1.split('&');
    let found = pairs.filter_map(|pair| pair.split_once('=')).find(|(known, _)| *known == name);
    found.map(|(_, value)| value.to_owned()).unwrap_or_default()
}

/// A text as encoded in a query.
pub(crate) fn encoded(text: &str) -> String {
    text.replace(':', "%3A").replace('/', "%2F")
}
