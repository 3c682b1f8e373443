//! Logging in to a server elsewhere, with somebody who gives out logins.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use haft_drivers::mcp::{Asked, Login, Wish};
use haft_model::{Code, Stop};
use haft_sandbox::AddressGuard;
use serde_json::{Value, json};

/// A server that wants a login, and gives them out as well.
struct Office {
    port: u16,
    /// The forms that were handed in for tokens.
    forms: Arc<Mutex<Vec<String>>>,
}

impl Office {
    fn new() -> Office {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let forms: Arc<Mutex<Vec<String>>> = Arc::default();
        let handed_in = forms.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let handed_in = handed_in.clone();
                std::thread::spawn(move || serve(stream, port, &handed_in));
            }
        });
        Office { port, forms }
    }

    fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn guard(&self) -> AddressGuard {
        AddressGuard::public().allowing("127.0.0.1", self.port)
    }

    async fn asked(&self) -> Result<Asked, Stop> {
        let wish = Wish {
            url: format!("{}/mcp", self.base()),
            redirect_uri: "http://127.0.0.1:1/callback".into(),
            scopes: vec!["notes".into()],
            ..Wish::default()
        };
        Asked::begin(wish, self.guard()).await
    }
}

fn serve(mut stream: TcpStream, port: u16, forms: &Mutex<Vec<String>>) {
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
                    "access_token": format!("t{}", forms.len()), "token_type": "Bearer",
                    "refresh_token": "r1", "expires_in": seconds,
                }),
            )
        }
        "/mcp" => {
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
fn query(address: &str, name: &str) -> String {
    let pairs = address.split_once('?').unwrap().1.split('&');
    let found = pairs.filter_map(|pair| pair.split_once('=')).find(|(known, _)| *known == name);
    found.map(|(_, value)| value.to_owned()).unwrap_or_default()
}

fn encoded(text: &str) -> String {
    text.replace(':', "%3A").replace('/', "%2F")
}

#[tokio::test]
async fn a_person_agrees_once_and_the_login_renews_itself() {
    let office = Office::new();
    let asked = office.asked().await.unwrap();
    let address = asked.address().to_owned();
    assert!(address.starts_with(&format!("{}/authorize?", office.base())), "{address}");
    assert_eq!(query(&address, "code_challenge_method"), "S256");
    assert_eq!(query(&address, "resource"), encoded(&format!("{}/mcp", office.base())));
    let state = query(&address, "state");
    let iss = encoded(&office.base());
    let back = format!("http://127.0.0.1:1/callback?code=x&state={state}&iss={iss}");
    let login = asked.answered(&back).await.unwrap();
    assert_eq!(login.token.expose(), "t1");
    let form = office.forms.lock().unwrap()[0].clone();
    assert!(form.contains("code_verifier=") && form.contains("resource="), "{form}");
    let url = format!("{}/mcp", office.base());
    let renewed = Login::renewed(&url, &login.kept, office.guard()).await.unwrap();
    assert_eq!(renewed.token.expose(), "t2");
    let form = office.forms.lock().unwrap()[1].clone();
    assert!(
        form.contains("grant_type=refresh_token") && form.contains("refresh_token=r1"),
        "{form}"
    );
    // It is good for an hour now, and nobody is asked.
    let again = Login::renewed(&url, &renewed.kept, office.guard()).await.unwrap();
    assert_eq!((again.token.expose(), office.forms.lock().unwrap().len()), ("t2", 2));
    assert_eq!(format!("{again:?}"), "Login { kept: Secret, token: Secret }");
}

#[tokio::test]
async fn an_answer_to_another_question_or_by_somebody_else_is_no_login() {
    let office = Office::new();
    let iss = encoded(&office.base());
    let stranger = encoded("https://stranger.example");
    for (state, iss) in [(Some("other"), iss.as_str()), (None, &stranger), (None, "")] {
        let asked = office.asked().await.unwrap();
        let state = state.map_or_else(|| query(asked.address(), "state"), str::to_owned);
        let iss = if iss.is_empty() { String::new() } else { format!("&iss={iss}") };
        let back = format!("http://127.0.0.1:1/callback?code=x&state={state}{iss}");
        assert_eq!(asked.answered(&back).await.unwrap_err().code, Code::CredentialMissing);
    }
    assert_eq!(office.forms.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn nobody_is_asked_at_an_address_that_is_closed() {
    let office = Office::new();
    let wish = Wish { url: format!("{}/mcp", office.base()), ..Wish::default() };
    assert!(Asked::begin(wish, AddressGuard::public()).await.is_err());
}
