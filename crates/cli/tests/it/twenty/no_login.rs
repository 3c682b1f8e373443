//! Missing login tests (§23, test 4 (c)): a call without its login ends before any hook, rule or
//! approver is asked and anything is touched.

use haft_testkit::{Backend, Folder, Keys};
use serde_json::{Value, json};

use crate::bank::{bank, input, told};
use crate::stage::{json as answer, run};
use crate::twenty::export::all_fit;
use crate::twenty::{trace, word};

/// The call was blocked: no approval was requested, no hook ran, nothing was sent.
#[track_caller]
fn blocked(folder: &Folder, backend: &Backend, tool: &str) -> Value {
    let line = input(folder, "o-1", &json!("4111"));
    let (_, ended) =
        answer(folder, &format!("call {tool} {line} --as agent:coder --no-wait --json"));
    assert_eq!(
        (&ended["final_status"], &ended["error"]["error_code"], &ended["effect_state"]),
        (&json!("blocked"), &json!("credential.missing"), &json!("not_submitted")),
        "{ended:#}"
    );
    let told = trace(folder, &word(&ended["invocation_id"]));
    assert_eq!(told["status"], "blocked", "{told:#}");
    for kind in ["hooks", "decisions", "questions", "attempts", "secrets"] {
        let none = told[kind].as_array().is_none_or(Vec::is_empty);
        assert!(none, "{kind} of {tool}: {:#}", told[kind]);
    }
    assert_eq!((backend.connections(), backend.heard().len()), (0, 0), "{tool}");
    told
}

/// The kinds of events that tell of a hook, a rule or an approver that was asked.
fn asking_events(folder: &Folder) -> Vec<String> {
    let said = String::from_utf8(run(folder, "events --json").stdout).unwrap();
    let events = said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let kinds = events.map(|event| word(&event["event_type"]));
    kinds.filter(|kind| kind.contains("hook") || kind.contains("permission")).collect()
}

/// Of three tools one is allowed, one asks and one is denied; without the login all end alike.
#[test]
fn test_04_c_missing_login_blocks_before_any_effect() {
    let backend = Backend::new(Keys::Ignored);
    let folder = bank(&backend);
    for tool in ["pay", "transfer", "refund"] {
        blocked(&folder, &backend, tool);
    }
    let (_, waiting) = answer(&folder, "approvals --all --json");
    assert_eq!(waiting, json!([]));
    assert_eq!(asking_events(&folder), Vec::<String>::new());

    // With the login the same call is heard about, judged and sent, and all of that is told.
    assert!(told(&folder, "secrets set bank/key --stdin", "a-key-of-a-test").status.success());
    let line = input(&folder, "o-1", &json!("4111"));
    let (_, paid) = answer(&folder, &format!("call pay {line} --as agent:coder --no-wait --json"));
    let told = trace(&folder, &word(&paid["invocation_id"]));
    for kind in ["hooks", "decisions", "attempts", "secrets"] {
        assert!(told[kind].as_array().is_some_and(|all| !all.is_empty()), "{kind}: {told:#}");
    }
    assert_ne!(asking_events(&folder), Vec::<String>::new());
    assert_eq!(backend.heard().len(), 1);
    all_fit(&folder);
}

/// The same where no inventory lists the secret that the driver names.
#[test]
fn test_04_c_unlisted_secret_blocks_before_any_effect() {
    let backend = Backend::new(Keys::Ignored);
    let folder = bank(&backend).file(".secrets/SECRETS.md", "---\nsecrets: []\n---\n");
    for tool in ["pay", "transfer"] {
        blocked(&folder, &backend, tool);
    }
    all_fit(&folder);
}
