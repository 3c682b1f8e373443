//! Timeout tests (§23, test 17): before and after the request was sent.

use std::io::Read as _;
use std::net::TcpListener;
use std::thread;

use haft_testkit::{ALLOW, Act, Backend, Keys, Then, payments};
use serde_json::{Value, json};

use crate::stage::{json as answer, run};
use crate::twenty::export::all_fit;
use crate::twenty::{each, trace, word};

const PAY: &str = "call pay order=o-7 --as agent:shop --json";

/// How many payments were sent.
fn sent(backend: &Backend) -> usize {
    backend.heard().iter().filter(|heard| heard.path == "/pay").count()
}

/// (a) The connection is refused: each attempt fails before anything is sent, and is retried.
#[test]
fn test_17_a_refused_connection_is_retried() {
    let backend = Backend::closed(Keys::Ignored);
    let folder = payments(&backend, true, false, 20_000).with(ALLOW);
    let (exit, refused) = answer(&folder, PAY);
    assert_eq!(
        (exit, &refused["error"]["error_code"], &refused["effect_state"]),
        (1, &json!("dependency.unavailable"), &json!("not_submitted")),
        "{refused:#}"
    );
    let told = trace(&folder, &word(&refused["invocation_id"]));
    assert_eq!(each(&told["attempts"], "/submitted_at"), vec![Value::Null; 4]);
    all_fit(&folder);
}

/// (a) The connection never opens before the timeout: it is known that nothing was sent.
#[test]
fn test_17_a_timeout_before_submit_sends_nothing() {
    // The first client is turned away before the TLS handshake; the next is left waiting in it.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let door = thread::spawn(move || {
        drop(listener.accept().unwrap());
        let (mut left, _) = listener.accept().unwrap();
        let mut said = Vec::new();
        let _ = left.read_to_end(&mut said);
        String::from_utf8_lossy(&said).contains("o-7")
    });
    let nobody = Backend::closed(Keys::Ignored);
    let folder = payments(&nobody, false, false, 3_000).with(ALLOW);
    for path in [".drivers/shop/DRIVER.md", ".tools/pay/TOOL.md"] {
        let text = folder.read(path).replace(&nobody.host(), &host).replace("http://", "https://");
        std::fs::write(folder.path().join(path), text).unwrap();
    }
    let (exit, late) = answer(&folder, PAY);
    assert_eq!(
        (
            exit,
            &late["error"]["error_code"],
            &late["error"]["aruntime_code"],
            &late["effect_state"]
        ),
        (
            124,
            &json!("timeout.before_submit"),
            &json!("timeout.before-submit"),
            &json!("not_submitted")
        ),
        "{late:#}"
    );
    let told = trace(&folder, &word(&late["invocation_id"]));
    assert_eq!(each(&told["attempts"], "/submitted_at"), vec![Value::Null; 2], "{told:#}");
    assert_eq!(late["error"]["retry"]["safe"], true);
    assert!(!door.join().unwrap(), "the order was sent");
    all_fit(&folder);
}

/// (b) It was committed and never answered: one status query, and the backend's answer is the
/// result.
#[test]
fn test_17_b_timeout_after_commit_resolves_by_lookup() {
    let backend = Backend::new(Keys::Ignored);
    backend.will(Act::commits(Then::Hang));
    let folder = payments(&backend, true, false, 1_500).with(ALLOW);
    let (exit, paid) = answer(&folder, PAY);
    assert_eq!(
        (exit, &paid["effect_state"], &paid["structured_content"]),
        (0, &json!("committed"), &json!({"id": "effect-1"})),
        "{paid:#}"
    );
    assert_eq!((sent(&backend), backend.effects(), backend.heard().len()), (1, 1, 2));
    // The record does not hide how it was learned.
    let events = String::from_utf8(run(&folder, "events --json").stdout).unwrap();
    assert!(events.contains("timeout.unknown_commit"), "{events}");
    let (_, asked) = answer(&folder, "runs --tool pay.status --json");
    assert_eq!(each(&asked, "/status"), ["succeeded"]);
    all_fit(&folder);
}

/// (c) It was not committed, and the backend deduplicates by key: after one status query it is
/// retried under the same key.
#[test]
fn test_17_c_absent_effect_retries_under_same_key() {
    let backend = Backend::new(Keys::Enforced);
    backend.will(Act::refuses(Then::Reset));
    let folder = payments(&backend, true, true, 20_000).with(ALLOW);
    let (exit, paid) = answer(&folder, PAY);
    assert_eq!((exit, &paid["effect_state"]), (0, &json!("committed")), "{paid:#}");
    assert_eq!((sent(&backend), backend.effects()), (2, 1));
    let heard = backend.heard();
    let paths: Vec<_> = heard.iter().map(|heard| heard.path.clone()).collect();
    let keys: Vec<_> = heard.iter().filter_map(|heard| heard.header("idempotency-key")).collect();
    assert_eq!(keys.len(), 2, "{heard:?}");
    assert_eq!(keys[0], keys[1]);
    assert_eq!(paths, ["/pay", &format!("/status/{}", keys[0]), "/pay"]);
    all_fit(&folder);
}

/// (d) No status query is possible: one payment, an unknown outcome, and no retry, not even for a
/// repeat of the call.
#[test]
fn test_17_d_unknown_commit_is_never_sent_again() {
    let backend = Backend::new(Keys::Ignored);
    backend.will(Act::commits(Then::Hang));
    let folder = payments(&backend, false, false, 1_500).with(ALLOW);
    for _ in 0..2 {
        let (exit, lost) = answer(&folder, PAY);
        assert_eq!(
            (exit, &lost["error"]["error_code"], &lost["effect_state"]),
            (124, &json!("timeout.unknown_commit"), &json!("unknown")),
            "{lost:#}"
        );
        assert_eq!(lost["error"]["retry"]["safe"], false);
        assert_eq!(sent(&backend), 1);
    }
    let (_, unknown) = answer(&folder, "runs --unknown --json");
    assert_eq!(unknown.as_array().map(Vec::len), Some(1));
    all_fit(&folder);
}
