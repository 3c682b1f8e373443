//! Tests of OAuth logins to a remote MCP server, with a local authorization server.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use haft_drivers::mcp::{LoginRequest, McpLogin, PendingAuthorization};
use haft_model::{Code, Stop};
use haft_sandbox::AddressGuard;

use crate::office::{Habits, Office, encoded, query};

impl Office {
    fn guard(&self) -> AddressGuard {
        AddressGuard::public().allowing("127.0.0.1", self.port)
    }

    async fn asked(&self) -> Result<PendingAuthorization, Stop> {
        let wish = LoginRequest {
            url: format!("{}/mcp", self.base()),
            redirect_uri: "http://127.0.0.1:1/callback".into(),
            scopes: vec!["notes".into()],
            ..LoginRequest::default()
        };
        PendingAuthorization::begin(wish, self.guard()).await
    }
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
    assert_eq!(login.token.expose(), "token-1");
    let form = office.forms.lock().unwrap()[0].clone();
    assert!(form.contains("code_verifier=") && form.contains("resource="), "{form}");
    let url = format!("{}/mcp", office.base());
    let renewed = McpLogin::renewed(&url, &login.kept, office.guard()).await.unwrap();
    assert_eq!(renewed.token.expose(), "token-2");
    let form = office.forms.lock().unwrap()[1].clone();
    assert!(
        form.contains("grant_type=refresh_token") && form.contains("refresh_token=r1"),
        "{form}"
    );
    // The token is valid for an hour now, so no request is sent.
    let again = McpLogin::renewed(&url, &renewed.kept, office.guard()).await.unwrap();
    assert_eq!((again.token.expose(), office.forms.lock().unwrap().len()), ("token-2", 2));
    assert_eq!(*office.shown.lock().unwrap(), [""; 0], "a login shows nobody a token");
    assert_eq!(format!("{again:?}"), "McpLogin { kept: Secret, token: Secret }");
}

#[tokio::test]
async fn login_answer_with_wrong_state_or_issuer_is_refused() {
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
async fn login_at_blocked_address_is_refused() {
    let office = Office::new();
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{}/mcp", office.port);
        let wish = LoginRequest { url, ..LoginRequest::default() };
        assert!(PendingAuthorization::begin(wish, AddressGuard::public()).await.is_err());
    }
}

#[tokio::test]
async fn confidential_client_authenticates_on_token_refresh_too() {
    let office = Office::with(Habits { secret: Some("proof"), ..Habits::default() });
    let asked = office.asked().await.unwrap();
    let (state, iss) = (query(asked.address(), "state"), encoded(&office.base()));
    let back = format!("http://127.0.0.1:1/callback?code=x&state={state}&iss={iss}");
    let login = asked.answered(&back).await.unwrap();
    let url = format!("{}/mcp", office.base());
    let renewed = McpLogin::renewed(&url, &login.kept, office.guard()).await.unwrap();
    assert_eq!(renewed.token.expose(), "token-2");
    // `c1:proof`, twice.
    assert_eq!(*office.proved.lock().unwrap(), ["Basic YzE6cHJvb2Y="; 2]);
}

#[tokio::test]
async fn login_requests_proposed_scopes_and_those_granted_before() {
    let office = Office::new();
    let kept = vec!["notes:write".into(), "notes:read".into()];
    let (url, redirect_uri) = (format!("{}/mcp", office.base()), "http://127.0.0.1:1/x".into());
    let wish = LoginRequest { url, redirect_uri, kept, ..LoginRequest::default() };
    let asked = PendingAuthorization::begin(wish, office.guard()).await.unwrap();
    assert_eq!(query(asked.address(), "scope"), "notes%3Aread+notes%3Awrite");
}

#[tokio::test]
async fn loopback_authorization_server_may_use_another_port() {
    let (office, server) = (Office::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = server.local_addr().unwrap().port();
    let base = office.base();
    std::thread::spawn(move || {
        for mut stream in server.incoming().flatten() {
            let mut head = [0; 4096];
            let read = stream.read(&mut head).unwrap();
            let metadata =
                String::from_utf8_lossy(&head[..read]).contains("oauth-protected-resource");
            let said = format!(
                "{{\"resource\": \"http://127.0.0.1:{port}/mcp\", \"authorization_servers\": [\"{base}\"]}}"
            );
            let (status, body) = if metadata { (200, said) } else { (401, String::new()) };
            let length = body.len();
            let head = "Content-Type: application/json\r\nConnection: close\r\n";
            let _ = write!(
                stream,
                "HTTP/1.1 {status} X\r\n{head}Content-Length: {length}\r\n\r\n{body}"
            );
        }
    });
    let guard = AddressGuard::public().allowing("127.0.0.1", port);
    let redirect_uri = "http://127.0.0.1:1/x".into();
    let wish = LoginRequest {
        url: format!("http://127.0.0.1:{port}/mcp"),
        redirect_uri,
        ..LoginRequest::default()
    };
    let asked = PendingAuthorization::begin(wish, guard).await.unwrap();
    assert!(asked.address().starts_with(&format!("{}/authorize?", office.base())));
}
