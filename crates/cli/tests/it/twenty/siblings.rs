//! Batch failure policy (§23, test 11): siblings of a failed call go on, or are cancelled.

use haft_testkit::{Act, Backend, Folder, Keys, READ, Served, Then};
use serde_json::{Value, json};

use crate::stage::{command, finished, started};
use crate::twenty::export::all_fit;
use crate::twenty::{each, trace, word};

/// Two reads at the beginning, of which the second fails while the first one runs; then one that
/// needs the second, and one that needs the first.
fn family(backend: &Backend, on_failure: &str) -> Folder {
    let safe = format!(
        "{READ}metadata: {{ haft: {{ interrupt: cancel, concurrency: {{ safe: true }} }} }}\n"
    );
    let calls = json!({"on_failure": on_failure, "calls": [
        {"id": "slow", "tool": "note.slow"},
        {"id": "bad", "tool": "note.fail"},
        {"id": "needs-bad", "tool": "note.show", "depends_on": ["bad"]},
        {"id": "needs-slow", "tool": "note.show", "depends_on": ["slow"]},
    ]});
    Served::by(backend)
        .at("note.slow", &safe, "GET", "/slow")
        .at("note.fail", &safe, "GET", "/fail")
        .at("note.show", &safe, "GET", "/show")
        .with("")
        .file("calls.json", calls.to_string())
}

/// The four results of a batch, in their order.
fn results(backend: &Backend, on_failure: &str, slow: Act) -> (Folder, Value) {
    let folder = family(backend, on_failure);
    backend.will_at("/slow", slow.held());
    backend.will_at("/fail", Act::refuses(Then::status(404)).held());
    let line = format!("batch {} --json", folder.path().join("calls.json").display());
    let child = started(command(&folder, &line));
    // It fails when both are in flight, and not before.
    backend.wait_for(2);
    backend.let_go();
    let ended = finished(child, &line);
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let printed = String::from_utf8(ended.stdout).unwrap();
    let lines = printed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    (folder, lines.collect())
}

/// One of four calls fails, three times: the others go on, all are cancelled, or only those that
/// need it. Each is answered each time, and a call that was cancelled for its sake says so.
#[test]
fn test_11_sibling_failure() {
    let (done, failed, taken) = ("succeeded", "failed", "synthetic_error");
    let usual = Act::refuses(Then::Id);
    // Where all are cancelled, one runs that would never end by itself.
    let endless = Act::refuses(Then::Hang);
    for (on_failure, slow, expected, sent) in [
        ("ignore", usual.clone(), [done, failed, done, done], 4),
        ("cancel_siblings", endless, [taken, failed, taken, taken], 2),
        ("cancel_dependent", usual, [done, failed, taken, done], 3),
    ] {
        let backend = Backend::new(Keys::Ignored);
        let (folder, results) = results(&backend, on_failure, slow);
        assert_eq!(each(&results, "/id"), ["slow", "bad", "needs-bad", "needs-slow"]);
        assert_eq!(each(&results, "/result/status"), expected, "{on_failure}");
        assert_eq!(backend.heard().len(), sent, "{on_failure}: {:?}", backend.heard());
        for result in each(&results, "/result") {
            let is_taken = result["status"] == taken;
            let reason = if is_taken { json!("sibling_error") } else { Value::Null };
            assert_eq!(result["abort_reason"], reason, "{on_failure}: {result:#}");
            let told = trace(&folder, &word(&result["invocation_id"]));
            if is_taken {
                let error = &result["error"];
                assert_eq!(error["error_class"], "sibling_canceled", "{result:#}");
                assert!(word(&error["message"]).contains("`bad`"), "{error:#}");
                assert_eq!(told["status"], "canceled", "{told:#}");
            }
        }
        all_fit(&folder);
    }
}
