//! Idempotency key binding (§23, test 18): a key is bound to its input and its caller.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Child;

use haft_testkit::{ALLOW, Act, Backend, Keys, Then, payments};
use serde_json::{Value, json};

use crate::stage::{command, finished, json as answer, started};
use crate::twenty::export::all_fit;
use crate::twenty::{until, word};

fn pay(order: &str, by: &str) -> String {
    format!("call pay order={order} --key k-1 --as {by} --json")
}

/// The same key twice is one effect and one answer, in one process after the other. Another order
/// under the key is refused and changes nothing. To another agent, and to the same one of another
/// tenant, the key means nothing.
#[test]
fn test_18_idempotency_binding_one_after_the_other() {
    let backend = Backend::new(Keys::Ignored);
    let folder = payments(&backend, false, false, 20_000).with(ALLOW);
    let (_, first) = answer(&folder, &pay("o-1", "agent:shop"));
    let (exit, mut again) = answer(&folder, &pay("o-1", "agent:shop"));
    assert_eq!((exit, first["replayed"].as_bool()), (0, None), "{first:#}");
    assert_eq!(again["replayed"].take(), true);
    let mut same = first.clone();
    same["replayed"] = Value::Null;
    assert_eq!((again, backend.effects()), (same, 1));

    let (exit, other) = answer(&folder, &pay("o-2", "agent:shop"));
    assert_eq!(
        (exit, &other["error"]["error_code"], &other["effect_state"]),
        (1, &json!("conflict"), &json!("not_submitted")),
        "{other:#}"
    );
    assert_eq!(backend.effects(), 1);

    let (exit, another) = answer(&folder, &pay("o-2", "agent:other"));
    assert_eq!((exit, backend.effects()), (0, 2), "{another:#}");
    let north = "[[actor]]\nid = \"agent:shop\"\ntenant = \"north\"\nroles = [\"agent\"]\n";
    let folder = folder.file("haft.toml", format!("[workspace]\nname = \"shop\"\n{ALLOW}{north}"));
    let (exit, elsewhere) = answer(&folder, &pay("o-2", "agent:shop"));
    assert_eq!((exit, backend.effects()), (0, 3), "{elsewhere:#}");

    // Back home, after all these processes, the key still means the first order.
    let folder = folder.file("haft.toml", format!("[workspace]\nname = \"shop\"\n{ALLOW}"));
    let (_, last) = answer(&folder, &pay("o-1", "agent:shop"));
    assert_eq!((&last["invocation_id"], backend.effects()), (&first["invocation_id"], 3));
    all_fit(&folder);
}

/// Whether a process has opened the store; assumed where the system does not tell.
fn has_store(child: &Child) -> bool {
    let files = Path::new("/proc").join(child.id().to_string()).join("fd");
    let Ok(open) = std::fs::read_dir(files) else { return true };
    let links = open.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.into_iter().any(|file| file.ends_with(".haft/haft.db"))
}

/// The same key in six processes at the same moment: one pays, and all are told the same.
#[test]
fn test_18_idempotency_binding_at_the_same_moment() {
    let backend = Backend::new(Keys::Ignored);
    backend.will(Act::commits(Then::Id).held());
    let folder = payments(&backend, false, false, 60_000).with(ALLOW);
    // The store is there before they race for it.
    answer(&folder, "call time.now --json");
    let line = pay("o-1", "agent:shop");
    let children: Vec<Child> = (0..6).map(|_| started(command(&folder, &line))).collect();
    backend.wait_for(1);
    until("the others", || children.iter().all(has_store).then_some(()));
    backend.let_go();
    let mut ids = BTreeSet::new();
    let mut replayed = 0;
    for child in children {
        let ended = finished(child, &line);
        let envelope: Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!(
            (ended.status.code(), &envelope["structured_content"]),
            (Some(0), &json!({"id": "effect-1"})),
            "{envelope:#}"
        );
        ids.insert(word(&envelope["invocation_id"]));
        replayed += usize::from(envelope["replayed"] == true);
    }
    assert_eq!((backend.effects(), backend.heard().len(), ids.len(), replayed), (1, 1, 1, 5));
    all_fit(&folder);
}
