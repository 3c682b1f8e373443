//! Redaction tests (§23, test 16): only the backend sees a secret and a sensitive field.

use haft_testkit::{Act, Backend, Folder, Keys, Then};
use serde_json::{Value, json};

use crate::bank::{bank, input, told};
use crate::canary::{CARD, KEY, canary_in, nothing_below};
use crate::twenty::export::all_fit;
use crate::twenty::word;

/// Runs a command, whose words hold no canary.
#[track_caller]
fn said(folder: &Folder, line: &str) -> String {
    let ended = told(folder, line, "");
    for stream in [&ended.stdout, &ended.stderr] {
        let text = String::from_utf8_lossy(stream);
        assert_eq!(canary_in(stream), None, "haft {line}\n{text}");
    }
    String::from_utf8(ended.stdout).unwrap()
}

#[track_caller]
fn answered(folder: &Folder, line: &str) -> Value {
    let said = said(folder, &format!("{line} --json"));
    serde_json::from_str(&said).unwrap_or_else(|_| panic!("haft {line}\n{said}"))
}

/// One call each way that a call can go: done, failed, refused by its schema, denied by a rule,
/// rejected by a person, and approved.
fn calls(folder: &Folder, backend: &Backend) -> Vec<String> {
    // The backend gives back everything that it was told.
    let gossip = format!("{{\"id\": \"e-1\", \"note\": \"card {CARD} by Bearer {KEY}\"}}");
    backend.will_at("/pay", Act::commits(Then::json(200, &gossip)));
    backend.will_at("/pay", Act::refuses(Then::json(402, &gossip)));
    backend.will_at("/pay", Act::refuses(Then::Answer(500, "", gossip.clone().into_bytes())));
    backend.will_at("/transfer", Act::commits(Then::json(200, &gossip)));
    let called = |tool: &str, order: &str, card: Value, status: &str| {
        let line = input(folder, order, &card);
        let envelope = answered(folder, &format!("call {tool} {line} --as agent:coder --no-wait"));
        assert_eq!(envelope["status"], status, "{envelope:#}");
        envelope
    };
    let id = |envelope: &Value| word(&envelope["invocation_id"]);
    let done = called("pay", "o-1", json!(CARD), "succeeded");
    assert_eq!(done["structured_content"]["id"], "e-1", "{done:#}");
    let mut ids = vec![id(&done)];
    ids.push(id(&called("pay", "o-2", json!(CARD), "failed")));
    ids.push(id(&called("pay", "o-3", json!(CARD), "failed")));
    let long = format!("{CARD}{}", "0".repeat(40));
    ids.push(id(&called("pay", "o-4", json!(long), "failed")));
    ids.push(id(&called("refund", "o-5", json!(CARD), "denied")));
    let asked = |order: &str| called("transfer", order, json!(CARD), "pending");
    let question = |envelope: &Value| word(&envelope["approval_id"]);
    let (no, yes) = (asked("o-6"), asked("o-7"));
    said(folder, "approvals");
    said(folder, "approvals --json");
    answered(folder, &format!("reject {} --reason no", question(&no)));
    let approved = answered(folder, &format!("approve {}", question(&yes)));
    assert_eq!(approved["status"], "succeeded", "{approved:#}");
    ids.extend([id(&no), id(&yes)]);
    ids
}

#[test]
fn test_16_only_backend_sees_secrets_and_sensitive_fields() {
    let backend = Backend::new(Keys::Ignored);
    let folder = bank(&backend);
    let set = told(&folder, "secrets set bank/key --stdin", KEY);
    assert!(set.status.success(), "{set:?}");
    assert_eq!((canary_in(&set.stdout), canary_in(&set.stderr)), (None, None));
    let ids = calls(&folder, &backend);

    // It was told both, and so they were there to be seen.
    let heard = backend.heard();
    assert_eq!(heard.len(), 4, "{heard:?}");
    for request in &heard {
        assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
        let body: Value = serde_json::from_str(&request.body).unwrap();
        assert_eq!(body["card"], CARD);
        assert_eq!(canary_in(request.body.as_bytes()).as_deref(), Some(CARD));
    }

    for id in &ids {
        for line in ["trace ID", "trace ID --json", "trace ID --records"] {
            said(&folder, &line.replace("ID", id));
        }
    }
    let own = input(&folder, "o-8", &json!(CARD));
    let long = input(&folder, "o-9", &json!(format!("{CARD}{}", "0".repeat(40))));
    let out = folder.path().join("exported");
    for line in [
        "events",
        "events --json",
        "runs",
        "runs --json",
        "tools",
        "tools --json",
        "show pay",
        "show pay --json",
        "approvals --all",
        "approvals --all --json",
        "secrets list",
        "secrets list --json",
        "export mcp",
        "export mcp --json",
        "export openai --json",
        "export anthropic --json",
        "check",
        "check --json",
        "explain credential.missing",
        "audit verify --json",
        &format!("why pay {own} --as agent:coder"),
        &format!("why pay {own} --as agent:coder --json"),
        &format!("why pay {long} --as agent:coder"),
        &format!("why pay {long} --as agent:coder --json"),
        &format!("audit export --output {}", out.display()),
    ] {
        said(&folder, line);
    }
    assert!(nothing_below(&folder.path().join(".haft")) > 3);
    assert!(nothing_below(&out) > 1);
    all_fit(&folder);
}
