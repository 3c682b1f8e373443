//! Token tests: created once, presented by callers, revoked.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::serve::{eventually, token, workspace};
use crate::stage::{check, json as told, run};
use crate::wire::{Answer, Server};

/// Makes a call with a token; gives the answer.
fn call(server: &Server, text: &str) -> Answer {
    let body = json!({"tool": "time.now", "input": {}}).to_string();
    server.ask("POST", "/v1/call", &[("Authorization", &format!("Bearer {text}"))], Some(&body))
}

#[test]
fn token_is_shown_once_and_stored_as_hash() {
    let folder = workspace();
    let made = run(&folder, "token new agent:coder --expires 30d --label laptop");
    let text = String::from_utf8(made.stdout).unwrap();
    let text = text.trim();
    assert!(text.strip_prefix("haft_").is_some_and(|hex| hex.len() == 64), "{text}");
    let (exit, mut list) = told(&folder, "token list --json");
    let fields = list[0].as_object_mut().unwrap();
    let varied = ["token_id", "issued_at", "expires_at"];
    assert!(varied.iter().all(|key| fields.remove(*key).is_some_and(|value| value.is_string())));
    assert_eq!(
        (exit, list),
        (
            0,
            json!([{"actor": "agent:coder", "tenant": "shop", "label": "laptop", "issued_by": "user:ana"}])
        )
    );
    for file in ["haft.db", "haft.db-wal"] {
        let bytes = std::fs::read(folder.path().join(".haft").join(file)).unwrap_or_default();
        let kept = bytes.windows(text.len()).any(|bytes| bytes == text.as_bytes());
        assert!(!kept, "{file} holds the token");
    }
    let (exit, found) = told(&folder, "audit verify --json");
    assert_eq!((exit, &found["findings"]), (0, &json!([])), "{found}");
}

#[test]
fn bearer_token_identifies_its_actor_until_revoked() {
    let folder = workspace();
    let (text, id) = token(&folder, "agent:coder");
    let server = Server::of(&folder);
    let answer = call(&server, &text);
    assert_eq!(answer.status, 200, "{answer:?}");
    // A read is answered before it is on record.
    let shown = format!("bearer {text}");
    let actor = eventually(|| {
        let runs = server.ask("GET", "/v1/invocations", &[("authorization", &shown)], None);
        runs.json().pointer("/invocations/0/actor").cloned()
    });
    assert_eq!(actor, "agent:coder");

    check(&folder, &format!("token revoke {id}"), "exit 0\nrevoked tok_[id]");
    let refused = call(&server, &text);
    let (status, problem) = refused.problem();
    assert_eq!((status, &problem["detail"]), (401, &json!("this token is not in force")));
    assert_eq!(
        refused.header("www-authenticate"),
        Some(
            "Bearer realm=\"haft\", error=\"invalid_token\", \
             error_description=\"this token is not in force\""
        )
    );
    check(
        &folder,
        &format!("token revoke {id}"),
        "exit 1\n! resource.not_found: `tok_[id]` is no token that is in force\n\
         ! help: `haft token list` lists those that are",
    );
}

#[test]
fn a_stream_ends_with_the_token_that_opened_it() {
    let folder = workspace();
    let (text, id) = token(&folder, "agent:coder");
    let server = Server::of(&folder);
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    write!(
        stream,
        "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Authorization: Bearer {text}\r\n\r\n"
    )
    .unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    check(&folder, &format!("token revoke {id}"), "exit 0\nrevoked tok_[id]");
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "{rest}");
}

#[test]
fn a_token_that_ran_out_opens_nothing() {
    let folder = workspace();
    let server = Server::of(&folder);
    let (text, _) = token(&folder, "agent:coder --expires 1s");
    let status = eventually(|| Some(call(&server, &text).status).filter(|status| *status != 200));
    assert_eq!(status, 401);
}

#[test]
fn malformed_token_is_refused_and_never_counts_as_anonymous() {
    let folder = workspace();
    let server = Server::of(&folder);
    let (text, _) = token(&folder, "agent:coder");
    let nearly = format!("{}0", &text[..text.len() - 1]);
    let nearly = if nearly == text { format!("{}1", &text[..text.len() - 1]) } else { nearly };
    for shown in [
        "Bearer haft_",
        "Bearer ",
        "Bearer",
        "",
        "Basic dXNlcjpwYXNz",
        &format!("Bearer {nearly}"),
        &format!("Bearer {}", text.to_uppercase()),
        &format!("Bearer {text}{text}"),
        &format!("Token {text}"),
        "Bearer eyJhbGciOiJub25lIn0.e30.",
    ] {
        let answer = server.ask("GET", "/v1/catalog", &[("Authorization", shown)], None);
        assert_eq!(answer.status, 401, "{shown}");
        assert!(answer.header("www-authenticate").unwrap().starts_with("Bearer "), "{shown}");
    }
    let twice = format!("Bearer {text}");
    let twice = [("Authorization", &*twice), ("Authorization", &*twice)];
    assert_eq!(server.ask("GET", "/v1/catalog", &twice, None).status, 401);
    assert_eq!(server.get("/v1/catalog").status, 200);
}

#[test]
fn approver_with_token_answers_as_settings_permit() {
    let folder = workspace().file("notes/a.txt", "");
    let server = Server::of(&folder);
    let (coder, _) = token(&folder, "agent:coder");
    let (bo, _) = token(&folder, "user:bo");
    let body = json!({"tool": "fs.write", "input": {"path": "notes/a.txt", "content": "x"}});
    let asked = server.ask(
        "POST",
        "/v1/call?wait=false",
        &[("Authorization", &format!("Bearer {coder}"))],
        Some(&body.to_string()),
    );
    let question = asked.json()["approval_id"].as_str().unwrap_or_default().to_owned();
    assert!(!question.is_empty(), "{}", asked.json());
    let answer = |headers: &[(&str, &str)]| {
        let body = json!({"decision": "approve"}).to_string();
        server.ask("POST", &format!("/v1/approvals/{question}"), headers, Some(&body)).status
    };
    assert_eq!(answer(&[]), 404, "nobody");
    assert_eq!(answer(&[("Authorization", &format!("Bearer {coder}"))]), 403, "the agent itself");
    assert_eq!(answer(&[("Authorization", &format!("Bearer {bo}"))]), 200, "an approver");
}

#[test]
fn only_workspace_owner_manages_tokens() {
    let folder = workspace();
    for who in ["agent:coder", "user:bo"] {
        let expected = format!(
            "exit 3\n! permission.denied: `{who}` may not deal with tokens\n\
             ! help: a person who runs the workspace may"
        );
        for line in ["new agent:coder", "list", "revoke tok_1"] {
            check(&folder, &format!("token {line} --as {who}"), &expected);
        }
    }
    check(
        &folder,
        "token new coder",
        "exit 4\n! input.value: `coder` does not name an actor\n! help: write `user:NAME` or `agent:NAME`",
    );
    check(&folder, "token list", "exit 0\nno token is in force");
    assert_eq!(told(&folder, "token list --json"), (0, Value::Array(Vec::new())));
}
