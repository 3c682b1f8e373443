//! Tests of the device flow: the requests that it sends, and the outcome of each answer.

use std::sync::Mutex;
use std::time::Duration;

use haft_drivers::{Device, Service, Step};
use haft_model::Timestamp;
use haft_sandbox::AddressGuard;
use haft_testkit::{Act, Backend, Keys, Then};
use serde_json::{Value, json};

/// An authorization server with metadata that starts device logins.
fn server(expires_in: u64) -> Backend {
    let backend = Backend::new(Keys::Ignored);
    let base = base(&backend);
    says(
        &backend,
        "/.well-known/oauth-protected-resource",
        json!({ "resource": base, "authorization_servers": [base] }),
    );
    says(
        &backend,
        "/.well-known/oauth-authorization-server",
        json!({ "issuer": base, "device_authorization_endpoint": format!("{base}/device"),
                "token_endpoint": format!("{base}/token") }),
    );
    says(
        &backend,
        "/device",
        json!({ "device_code": "dev-1", "user_code": "ABCD", "verification_uri": "https://go.example",
                "expires_in": expires_in, "interval": 1 }),
    );
    backend
}

fn base(backend: &Backend) -> String {
    format!("http://{}", backend.host())
}

fn says(backend: &Backend, path: &str, value: Value) {
    backend.will_at(path, Act::commits(Then::json(200, &value.to_string())));
}

/// The outcome of a login: the access token, or the reason and the message.
async fn log_in(backend: &Backend) -> (Result<String, String>, Vec<Step>) {
    let told = Mutex::new(Vec::new());
    let service = Service { api_base: base(backend), audience: Some("shop".to_owned()) };
    let device =
        Device { client: "haft".to_owned(), scope: None, second: Duration::from_millis(5) };
    let guard = AddressGuard::public().allowing("127.0.0.1", backend.port());
    let tell = |step| told.lock().unwrap().push(step);
    let ended = device.log_in(&service, &guard, || Timestamp::UNIX_EPOCH, &tell).await;
    let ended = match ended {
        Ok(token) => {
            assert_eq!(token.until.map(|until| until.as_second()), Some(3600));
            assert_eq!(token.endpoint, Some(format!("{}/token", base(backend))));
            assert_eq!(token.refresh.unwrap().expose(), "again");
            Ok(token.access.expose().to_owned())
        }
        Err(stop) => {
            let words = stop.message.replace(&backend.host(), "[host]");
            Err(format!(
                "{} {}: {words}",
                stop.code,
                stop.cause.to_json()["login"].as_str().unwrap_or("-")
            ))
        }
    };
    (ended, told.into_inner().unwrap())
}

#[tokio::test]
async fn device_flow_answers_follow_the_oauth_standard() {
    let error = |name: &str| (400, json!({ "error": name }));
    let token =
        || (200, json!({ "access_token": "open", "refresh_token": "again", "expires_in": 3600 }));
    let cases = [
        (vec![token()], Ok("open")),
        (vec![error("authorization_pending"), error("slow_down"), token()], Ok("open")),
        (
            vec![error("authorization_pending"), error("expired_token")],
            Err("credential.missing expired: the code expired before it was entered"),
        ),
        (
            vec![error("access_denied")],
            Err("permission.denied access_denied: the login was refused at the other end"),
        ),
        (
            vec![error("invalid_client")],
            Err("dependency.unavailable upstream_error: the server answered 400 (invalid_client)"),
        ),
        (
            vec![(200, json!({}))],
            Err("dependency.unavailable upstream_error: the server gave no token"),
        ),
        (
            vec![(302, json!({}))],
            Err("dependency.unavailable upstream_error: the server answered 302"),
        ),
    ];
    for (answers, expected) in cases {
        let backend = server(600);
        let count = answers.len();
        for (status, body) in answers {
            backend.will_at("/token", Act::commits(Then::json(status, &body.to_string())));
        }
        let (ended, told) = log_in(&backend).await;
        assert_eq!(ended, expected.map(str::to_owned).map_err(str::to_owned));
        assert_eq!(
            told,
            [Step::Code { url: "https://go.example".into(), code: "ABCD".into(), seconds: 600 }]
        );
        let heard = backend.heard();
        assert_eq!(heard[2].body, "client_id=haft&audience=shop");
        assert_eq!(heard.len(), 3 + count, "it is asked as often as it has to be");
    }
}

#[tokio::test]
async fn unentered_device_code_expires() {
    let backend = server(3);
    for _ in 0..3 {
        let pending = r#"{"error": "authorization_pending"}"#;
        backend.will_at("/token", Act::refuses(Then::json(400, pending)));
    }
    let (ended, _) = log_in(&backend).await;
    let words = "credential.missing expired: the code expired before it was entered";
    assert_eq!(ended, Err(words.to_owned()));
}

#[tokio::test]
async fn login_discovery_trusts_only_the_service_itself() {
    let elsewhere = json!({ "resource": "https://other.example", "authorization_servers": ["https://x.example"] });
    let issuer = |backend: &Backend, name: &str| {
        let base = base(backend);
        says(
            backend,
            "/.well-known/oauth-protected-resource",
            json!({ "authorization_servers": [base] }),
        );
        says(backend, "/.well-known/oauth-authorization-server", json!({ "issuer": name }));
    };
    type Lay<'a> = Box<dyn Fn(&Backend) + 'a>;
    let redirect: Lay<'_> = Box::new(|backend| {
        for path in ["/.well-known/oauth-protected-resource", "/.well-known/agentproto-host.json"] {
            let answer = Then::Answer(302, "location: https://evil.example/\r\n", Vec::new());
            backend.will_at(path, Act::commits(answer));
        }
    });
    let cases: [(Lay<'_>, &str); 4] = [
        (
            Box::new(|backend| {
                says(backend, "/.well-known/oauth-protected-resource", elsewhere.clone());
            }),
            "the service describes another one",
        ),
        (
            Box::new(|backend| issuer(backend, "https://other.example")),
            "the server of logins is another one",
        ),
        (
            Box::new(|backend| issuer(backend, &base(backend))),
            "the server of logins knows no codes",
        ),
        (redirect, "`http://[host]/.well-known/agentproto-host.json` answered 302"),
    ];
    for (lay, why) in cases {
        let backend = Backend::new(Keys::Ignored);
        lay(&backend);
        let words = format!(
            "dependency.unavailable discovery_failed: {why}; the login endpoints of `http://[host]` are unknown"
        );
        assert_eq!(log_in(&backend).await, (Err(words), Vec::new()));
    }
}
