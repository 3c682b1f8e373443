//! URL hooks: signed requests, and each way in which a response may fail.

use haft_model::{Code, Signature};
use serde_json::{Value, json};

use crate::hooks::server::{Server, header};
use crate::hooks::{ALLOW, runs};
use crate::stage::{Setting, Stage, WRITE};

/// A variable that every test has, since no test may set one.
const VARIABLE: &str = "CARGO_MANIFEST_DIR";

fn inventory(entry: &str) -> String {
    format!(
        "---\nsecrets:\n  - slug: hooks/key\n    name: Key\n    description: Signs.\n    access: {{ bind: [{{ role: admin }}] }}\n{entry}---\n"
    )
}

fn asking(url: &str, more: &str) -> Setting {
    let hook = format!("[[hook]]\nevent = \"pre_tool_use\"\nurl = \"{url}\"\n{more}\n");
    Setting::default().tool("note.it", WRITE).settings(ALLOW).settings(&hook)
}

fn signed(url: &str) -> Setting {
    let entry = format!(
        "    kind: opaque\n    exposures: [{{ kind: env, name: {VARIABLE}, field: value }}]\n"
    );
    asking(url, "timeout_ms = 20000\nsecret = \"hooks/key\"")
        .file(".secrets/SECRETS.md", &inventory(&entry))
}

/// Why the hook of a stage could not be heard.
async fn fault(stage: &Stage) -> String {
    let envelope = stage.call("note.it", json!({})).await;
    let error = envelope.error.clone().expect("the hook was heard");
    assert_eq!((error.error_code, stage.canary.count()), (Code::HookFailed, 0));
    runs(stage, &envelope).await[0].failed.clone().unwrap()
}

#[tokio::test]
async fn webhook_request_is_signed_with_timestamp_and_response_applied() {
    let server = Server::saying(r#"{"updated_input": {"n": 2}, "message": "seen"}"#).await;
    let stage = signed(&server.url).open();
    let envelope = stage.call("note.it", json!({"n": 1})).await;
    assert_eq!(envelope.error, None);
    assert_eq!(stage.canary.inputs(), [json!({"n": 2})]);
    let [(head, body)] = &server.received()[..] else { panic!() };
    assert!(head.starts_with("POST /hook HTTP/1.1"), "{head}");
    assert_eq!(header(head, "content-type").as_deref(), Some("application/json"));
    let asked: Value = serde_json::from_slice(body).unwrap();
    assert_eq!(
        (&asked["event"], &asked["observable_input"]),
        (&json!("pre_tool_use"), &json!({"n": 1}))
    );
    let time = header(head, "haft-timestamp").unwrap();
    let now = haft_model::Timestamp::now().as_second();
    assert!((now - time.parse::<i64>().unwrap()).abs() < 300, "{time}");
    let signature = header(head, "haft-signature").unwrap();
    let signature = Signature::from(signature.strip_prefix("v1=").unwrap());
    let secret = std::env::var(VARIABLE).unwrap();
    let message = [time.as_bytes(), b".", body].concat();
    assert!(signature.is_of(secret.as_bytes(), &message));
    assert!(!signature.is_of(b"another secret", &message));
    assert!(!signature.is_of(secret.as_bytes(), &[b"0".as_slice(), b".", body].concat()));
    let facts = serde_json::to_string(&stage.facts(&envelope.invocation_id).await).unwrap();
    assert!(!facts.contains(&secret) && !facts.contains(signature.as_str()));
}

#[tokio::test]
async fn an_empty_answer_is_no_opinion() {
    let answers = [
        "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    ];
    for answer in answers {
        let server = Server::answering(answer.as_bytes()).await;
        let stage = signed(&server.url).open();
        assert_eq!(stage.call("note.it", json!({})).await.error, None);
    }
}

#[tokio::test]
async fn failing_webhook_blocks_call_with_reason() {
    let other = Server::saying("{}").await;
    let body = |status: &str, body: &str| {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
    };
    let away =
        format!("HTTP/1.1 302 Found\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", other.url);
    let cases = [
        (body("500 Internal Server Error", "{}"), "it answered 500 Internal Server Error"),
        (body("404 Not Found", "{}"), "it answered 404 Not Found"),
        (away, "it answered 302 Found, and a hook is not followed elsewhere"),
        (
            body("200 OK", "yes"),
            "its answer is not what a hook can say: it is not a JSON object; it answered `yes`; at `pre_tool_use` it may say nothing, or one JSON object with any of `message`, `progress`, `additional_context`, `stop`, `updated_input`, `permission`",
        ),
        (body("200 OK", &" ".repeat(1024 * 1024 + 1)), "it said more than 1048576 bytes"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{}".to_owned(), "its answer broke off"),
        ("gibberish\r\n\r\n".to_owned(), "`127.0.0.1` did not answer as a web server does"),
    ];
    for (answer, reason) in cases {
        let server = Server::answering(answer.as_bytes()).await;
        assert_eq!(fault(&signed(&server.url).open()).await, reason);
    }
    assert!(other.received().is_empty());
}

#[tokio::test]
async fn unreachable_webhook_blocks_call() {
    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let stage = signed(&format!("http://{gone}/hook")).open();
    assert_eq!(fault(&stage).await, "`127.0.0.1` cannot be reached");
}

#[tokio::test]
async fn an_address_that_hangs_is_a_no() {
    let server = Server::answering(b"").await;
    let stage = asking(&server.url, "timeout_ms = 200").open();
    assert_eq!(fault(&stage).await, "it took longer than 200 ms");
}

#[tokio::test]
async fn without_its_secret_nothing_is_sent() {
    let server = Server::saying("{}").await;
    let cases = [
        (None, "its question cannot be signed: no SECRETS.md lists `hooks/key`"),
        (
            Some(
                "    kind: opaque\n    exposures: [{ kind: env, name: HAFT_TEST_NOT_SET, field: value }]\n",
            ),
            "its question cannot be signed: there is no value for the secret `hooks/key`",
        ),
        (
            Some("    kind: opaque\n    exposures: [{ kind: file, path: ~/.key }]\n"),
            "its question cannot be signed: there is no value for the secret `hooks/key`",
        ),
        (
            Some(
                "    kind: oauth\n    exposures: [{ kind: env, name: CARGO_MANIFEST_DIR, field: accessToken }]\n",
            ),
            "its question cannot be signed: the secret `hooks/key` is not one text, and cannot sign",
        ),
        (
            Some("    kind: opaque\n    metadata: { haft: { per: actor } }\n"),
            "its question cannot be signed: the secret `hooks/key` is each actor's own, and cannot sign",
        ),
    ];
    for (entry, reason) in cases {
        let mut setting = asking(&server.url, "secret = \"hooks/key\"");
        if let Some(entry) = entry {
            setting = setting.file(".secrets/SECRETS.md", &inventory(entry));
        }
        assert_eq!(fault(&setting.open()).await, reason);
    }
    assert!(server.received().is_empty());
}

#[tokio::test]
async fn a_hook_without_a_secret_is_asked_unsigned() {
    let server = Server::saying(r#"{"stop": "no"}"#).await;
    let stage = asking(&server.url, "timeout_ms = 20000").open();
    let envelope = stage.call("note.it", json!({})).await;
    assert_eq!(envelope.error.unwrap().error_code, Code::HookBlocked);
    let [(head, _)] = &server.received()[..] else { panic!() };
    assert_eq!(header(head, "haft-signature"), None);
}
