//! A server of MCP that wants a login, and gives them out as well.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// A server that wants a login, and gives them out as well.
pub(crate) struct Office {
    pub(crate) port: u16,
    /// The forms that were handed in for tokens.
    pub(crate) forms: Arc<Mutex<Vec<String>>>,
    /// What was said at the door of the server: each `Authorization`.
    pub(crate) shown: Arc<Mutex<Vec<String>>>,
}

impl Office {
    pub(crate) fn new() -> Office {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let forms: Arc<Mutex<Vec<String>>> = Arc::default();
        let shown: Arc<Mutex<Vec<String>>> = Arc::default();
        let (handed_in, seen) = (forms.clone(), shown.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (handed_in, seen) = (handed_in.clone(), seen.clone());
                std::thread::spawn(move || serve(stream, port, &handed_in, &seen));
            }
        });
        Office { port, forms, shown }
    }

    pub(crate) fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

fn serve(mut stream: TcpStream, port: u16, forms: &Mutex<Vec<String>>, shown: &Mutex<Vec<String>>) {
    let mut heard = Vec::new();
    let mut piece = [0; 4096];
    let (head, body) = loop {
        let read = stream.read(&mut piece).unwrap_or(0);
        heard.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&heard).into_owned();
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
                "token_endpoint_auth_methods_supported": ["none"],
                "authorization_response_iss_parameter_supported": true,
            }),
        ),
        "/register" => {
            let mut registered: Value = serde_json::from_str(&body).unwrap();
            registered["client_id"] = json!("c1");
            (201, String::new(), registered)
        }
        "/token" => {
            let mut forms = forms.lock().unwrap();
            forms.push(body);
            // The first is over at once, so that it has to be renewed.
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
            let says = |line: &str| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("authorization").then(|| value.to_owned())
            };
            shown.lock().unwrap().extend(head.lines().find_map(says));
            let place = format!("{base}/.well-known/oauth-protected-resource/mcp");
            let challenge = format!("WWW-Authenticate: Bearer resource_metadata=\"{place}\"\r\n");
            (401, challenge, json!({}))
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

/// A value in the query of an address.
pub(crate) fn query(address: &str, name: &str) -> String {
    let pairs = address.split_once('?').unwrap().1.split('&');
    let found = pairs.filter_map(|pair| pair.split_once('=')).find(|(known, _)| *known == name);
    found.map(|(_, value)| value.to_owned()).unwrap_or_default()
}

/// A text as it stands in a query.
pub(crate) fn encoded(text: &str) -> String {
    text.replace(':', "%3A").replace('/', "%2F")
}
