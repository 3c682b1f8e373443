//! Approval binding (§23, test 8): an approval is for one action, as it was shown, for a while.

use std::sync::Arc;

use haft::{Host, HostOptions};
use haft_model::{Call, ResultStatus};
use haft_runtime::{CallOptions, Patience, StoppedClock};
use haft_testkit::{Backend, Folder, Keys, Served};
use serde_json::{Value, json};

use crate::stage::{asked, done, json as answer};
use crate::twenty::export::all_fit;
use crate::twenty::{each, hook, program, trace, word};

const PAY: &str = "mutates: [\"external:shop\"]\nrisk_level: 2\napproval: always\n";
const CALL: &str = "call pay amount=5 --as agent:coder";
const DRIVER: &str = ".drivers/shop/DRIVER.md";

fn shop(backend: &Backend, settings: &str) -> Folder {
    Served::by(backend).at("pay", PAY, "POST", "/pay").with(settings)
}

/// Writes a file of the workspace anew while a question is open.
fn rewrite(folder: &Folder, path: &str, change: impl FnOnce(String) -> String) {
    let before = folder.read(path);
    let after = change(before.clone());
    assert_ne!(before, after, "nothing was changed in {path}");
    std::fs::write(folder.path().join(path), after).unwrap();
}

/// The states of all questions about a call, in the order in which they were asked.
fn states(folder: &Folder) -> Value {
    let (_, all) = answer(folder, "approvals --all --json");
    Value::from(each(&all, "/state"))
}

/// The yes comes to a call that is another one by now: nothing runs, people are asked about what it
/// is now, the first decision stays on record, and the new yes is for the new call.
fn asked_again(folder: &Folder, old: &Backend, new: &Backend, change: impl FnOnce()) -> Value {
    let (id, question) = asked(folder, CALL);
    change();
    let (exit, told) = answer(folder, &format!("approve {question} --json"));
    assert_eq!((exit, &told["state"]), (75, &json!("open")), "{told:#}");
    let anew = word(&told["approval_id"]);
    assert_ne!(anew, question, "{told:#}");
    assert_eq!((old.connections(), new.connections()), (0, 0), "something was sent");
    assert_eq!(states(folder), json!(["withdrawn", "open"]));
    let told = trace(folder, &id);
    assert_eq!(told["status"], "awaiting_approval");
    assert_eq!(each(&told["decisions"], "/decision/verdict"), ["ask", "ask"]);
    let given = &told["questions"][0]["answers"];
    assert_eq!(each(given, "/approves"), [true], "the first yes is gone: {told:#}");
    // The old question lets nothing through any more.
    let (exit, refused) = answer(folder, &format!("approve {question} --json"));
    assert_eq!((exit, &refused["error"]["error_code"]), (1, &json!("conflict")), "{refused:#}");
    assert_eq!((old.connections(), new.connections()), (0, 0));
    let (exit, paid) = answer(folder, &format!("approve {anew} --json"));
    assert_eq!((exit, &paid["status"]), (0, &json!("succeeded")), "{paid:#}");
    assert_eq!((old.effects(), new.effects()), (0, 1));
    all_fit(folder);
    trace(folder, &id)
}

/// (a) A hook changes the call after approval was requested. It has no say in that, neither when
/// people are asked nor when they have approved, and the call does not run.
#[test]
fn test_08_a_hook_cannot_edit_input_under_approval() {
    for event in ["permission_request", "permission_decision"] {
        let backend = Backend::new(Keys::Ignored);
        let folder = shop(&backend, &hook(event, "pay", ".hooks/late"));
        let script = "cat > /dev/null\necho '{\"updated_input\": {\"amount\": 5000}}'\n";
        let folder = program(folder, ".hooks/late", script);
        let (_, first) = answer(&folder, &format!("{CALL} --no-wait --json"));
        let id = word(&first["invocation_id"]);
        // At `permission_decision` the call is still pending: that hook runs after the approval.
        let ended = match first["status"] == "pending" {
            true => answer(&folder, &format!("approve {id} --json")).1,
            false => first,
        };
        assert_eq!(
            (&ended["is_error"], &ended["effect_state"]),
            (&json!(true), &json!("not_submitted"))
        );
        let said = format!("`updated_input` cannot be said at `{event}`");
        assert!(word(&ended["error"]["message"]).contains(&said), "{ended:#}");
        assert_eq!(backend.connections(), 0, "{event}");
        all_fit(&folder);
    }
}

/// (a) The same where the contract gives the call another input than the one that was shown.
#[test]
fn test_08_a_approval_does_not_cover_another_input() {
    let backend = Backend::new(Keys::Ignored);
    let nobody = Backend::new(Keys::Ignored);
    let folder = shop(&backend, "");
    let told = asked_again(&folder, &nobody, &backend, || {
        rewrite(&folder, ".tools/pay/TOOL.md", |text| {
            let more = "inputs: { type: object, properties: { tip: { default: 2 } } }";
            text.replace("inputs: { type: object }", more)
        });
    });
    assert_eq!(told["inputs"]["call"]["value"], json!({"amount": 5, "tip": 2}));
}

/// The contract allows two hosts, and the driver goes to the first.
fn two_hosts(first: &Backend, second: &Backend) -> Folder {
    let folder = shop(first, "");
    rewrite(&folder, ".tools/pay/TOOL.md", |text| {
        let one = format!("[\"{}\"]", first.host());
        text.replace(&one, &format!("[\"{}\", \"{}\"]", first.host(), second.host()))
    });
    folder
}

/// (b) Another driver, which goes to another host, is chosen after people were asked.
#[test]
fn test_08_b_approval_does_not_cover_another_driver() {
    let (first, second) = (Backend::new(Keys::Ignored), Backend::new(Keys::Ignored));
    let folder = two_hosts(&first, &second);
    let told = asked_again(&folder, &first, &second, || {
        let other = folder.read(DRIVER).replace(&first.host(), &second.host());
        let other = other.replace("id: shop\n", "id: market\n");
        std::fs::remove_file(folder.path().join(DRIVER)).unwrap();
        let market = folder.path().join(".drivers/market");
        std::fs::create_dir_all(&market).unwrap();
        std::fs::write(market.join("DRIVER.md"), other).unwrap();
        crate::stage::done(&folder, "accept --all");
    });
    assert_eq!(each(&told["attempts"], "/driver"), ["market"]);
}

/// (b) The driver is the same by its name and version, and goes to another host.
#[test]
fn test_08_b_approval_does_not_cover_another_host() {
    let (first, second) = (Backend::new(Keys::Ignored), Backend::new(Keys::Ignored));
    let folder = two_hosts(&first, &second);
    asked_again(&folder, &first, &second, || {
        rewrite(&folder, DRIVER, |text| text.replace(&first.host(), &second.host()));
    });
}

/// (c) The question was asked two days ago, and a day is all that people have. The command has no
/// clock of its own to set, so a program asked whose clock is behind.
#[test]
fn test_08_c_unanswered_approval_expires_and_sends_nothing() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend, "");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let asked = runtime.block_on(async {
        let long_ago = "2025-01-01T00:00:00Z".parse().unwrap();
        let clock = Arc::new(StoppedClock::at(long_ago));
        let options = HostOptions { clock, ..HostOptions::default() };
        crate::stage::done(&folder, "accept --all");
        let host = Host::open(folder.path(), options).unwrap();
        let manner = CallOptions { patience: Patience::Leave, ..CallOptions::default() };
        let call = Call::new(host.actor("agent:coder"), "pay", json!({"amount": 5}));
        let asked = host.runtime().call(call, manner).await;
        host.flush().await.unwrap();
        asked
    });
    assert_eq!(asked.status, ResultStatus::Pending);
    let (id, question) = (asked.invocation_id.to_string(), asked.approval_id.unwrap());
    let (exit, late) = answer(&folder, &format!("approve {question} --json"));
    assert_eq!((exit, &late["error"]["error_code"]), (3, &json!("approval.expired")), "{late:#}");
    // The next call expires questions that no approver answered.
    done(&folder, "call time.now");
    let told = trace(&folder, &id);
    assert_eq!(
        (&told["status"], &told["error_code"]),
        (&json!("denied"), &json!("approval.expired"))
    );
    assert_eq!(states(&folder), json!(["expired"]));
    assert_eq!(each(&told["decisions"], "/decision/verdict")[0], "ask");
    let (exit, _) = answer(&folder, &format!("approve {question} --json"));
    assert_eq!((exit, backend.connections()), (1, 0));
    all_fit(&folder);
}

/// (d) The yes to one call is used for another that differs in nothing but its name.
#[test]
fn test_08_d_approval_does_not_cover_another_call() {
    let backend = Backend::new(Keys::Ignored);
    let folder = shop(&backend, "");
    let (first, yes) = asked(&folder, &format!("{CALL} --key one"));
    let (second, open) = asked(&folder, &format!("{CALL} --key two"));
    assert_ne!((&first, &yes), (&second, &open));
    done(&folder, &format!("approve {yes}"));
    assert_eq!(backend.effects(), 1);
    for _ in 0..2 {
        let (exit, again) = answer(&folder, &format!("approve {yes} --json"));
        assert_eq!((exit, &again["error"]["error_code"]), (1, &json!("conflict")), "{again:#}");
    }
    // A yes is neither lent to the other by asking for it once more.
    let (waiting, _) = asked(&folder, &format!("{CALL} --key two"));
    assert_eq!((waiting, backend.effects()), (second.clone(), 1));
    assert_eq!(trace(&folder, &second)["status"], "awaiting_approval");
    let first = trace(&folder, &first);
    assert_eq!(each(&first["decisions"], "/decision/verdict"), ["ask", "allow"]);
    done(&folder, &format!("reject {open} --reason once-is-enough"));
    assert_eq!(backend.effects(), 1);
    all_fit(&folder);
}
