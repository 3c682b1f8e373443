//! Cancellation tests (§23, test 12): a cancellation request gets the true outcome of its call.

use std::process::{Child, Command};

use haft_testkit::{ALLOW, Act, Backend, Folder, Keys, READ, Served, Then, WRITE};
use serde_json::{Value, json};

use crate::stage::{command, done, finished, json as answer, started};
use crate::twenty::export::all_fit;
use crate::twenty::{each, trace, until, word};

/// How a cancellation is requested.
#[derive(Clone, Copy, Debug)]
enum Wish {
    /// Ctrl-C where it was called.
    Signal,
    /// `haft cancel` from elsewhere.
    Command,
}

/// A call in flight at its backend.
struct UnderWay {
    folder: Folder,
    backend: Backend,
    child: Child,
    id: String,
}

const LINE: &str = "call slow --json";

/// A tool that is declared so, called, and waiting for the answer of its backend.
fn under_way(effects: &str, haft: &str, act: Act) -> UnderWay {
    let backend = Backend::new(Keys::Ignored);
    backend.will(act);
    let frontmatter = format!("{effects}metadata: {{ haft: {haft} }}\n");
    let folder = Served::by(&backend).at("slow", &frontmatter, "POST", "/slow").with(ALLOW);
    let child = started(command(&folder, LINE));
    backend.wait_for(1);
    let id = until("the call", || {
        let (_, runs) = answer(&folder, "runs --open --json");
        runs.get(0).map(|run| word(&run["invocation_id"]))
    });
    UnderWay { folder, backend, child, id }
}

fn interrupt(child: &Child) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
}

impl UnderWay {
    fn wish(&self, wish: Wish) {
        match wish {
            Wish::Signal => interrupt(&self.child),
            Wish::Command => done(&self.folder, &format!("cancel {}", self.id)),
        }
    }

    /// How it exits, and its envelope.
    fn ended(self) -> (i32, Value, Ended) {
        let UnderWay { folder, backend, child, id } = self;
        let ended = finished(child, LINE);
        let envelope = serde_json::from_slice(&ended.stdout).unwrap();
        all_fit(&folder);
        (ended.status.code().unwrap(), envelope, Ended { folder, backend, id })
    }
}

/// A call that is over.
struct Ended {
    folder: Folder,
    backend: Backend,
    id: String,
}

/// The records of the cancellation request and of its outcome.
fn wishes(folder: &Folder, id: &str) -> Vec<Value> {
    let told = trace(folder, id);
    each(&told["cancels"], "/fact").into_iter().filter(|fact| !fact.is_null()).collect()
}

/// (a) A tool that supports cancellation is cancelled, and its result says so.
#[test]
fn test_12_a_interrupt_cancels_a_cancellable_tool() {
    for wish in [Wish::Signal, Wish::Command] {
        let call = under_way(READ, "{ interrupt: cancel }", Act::refuses(Then::Hang));
        call.wish(wish);
        let (exit, envelope, ended) = call.ended();
        assert_eq!(
            (exit, &envelope["status"], &envelope["error"]["error_code"]),
            (130, &json!("canceled"), &json!("canceled.caller")),
            "{wish:?}: {envelope:#}"
        );
        assert_eq!(envelope["effect_state"], "none");
        let facts = wishes(&ended.folder, &ended.id);
        assert_eq!(facts, ["cancel_requested", "cancel_acknowledged", "canceled"], "{wish:?}");
    }
}

/// (b) and (c) A tool that does not state its support, and one that states that it has none,
/// finish; that the request came, and that it could not be granted, is on record while they still
/// run.
#[test]
fn test_12_bc_interrupt_lets_uncancellable_tool_finish() {
    for haft in ["{}", "{ supports_cancel: false }"] {
        for wish in [Wish::Signal, Wish::Command] {
            let call = under_way(WRITE, haft, Act::commits(Then::Id).held());
            call.wish(wish);
            let asked = ["cancel_requested", "cancel_unsupported"];
            until("the wish", || (wishes(&call.folder, &call.id) == asked).then_some(()));
            assert_eq!(trace(&call.folder, &call.id)["status"], "running", "{haft} {wish:?}");
            call.backend.let_go();
            let (exit, envelope, ended) = call.ended();
            assert_eq!(
                (exit, &envelope["status"], &envelope["effect_state"]),
                (0, &json!("succeeded"), &json!("committed")),
                "{haft} {wish:?}: {envelope:#}"
            );
            assert_eq!(wishes(&ended.folder, &ended.id), asked, "{haft} {wish:?}");
            assert_eq!(ended.backend.effects(), 1);
        }
    }
}

/// (b) The turn after it is held: it does not begin, and says why.
#[test]
fn test_12_b_interrupt_holds_the_next_turn() {
    let backend = Backend::new(Keys::Ignored);
    backend.will_at("/slow", Act::commits(Then::Id).held());
    let calls = r#"[{"tool": "slow"}, {"tool": "next"}]"#;
    let folder = Served::by(&backend)
        .at("slow", WRITE, "POST", "/slow")
        .at("next", WRITE, "POST", "/next")
        .with(ALLOW)
        .file("calls.json", calls);
    let line = format!("batch {} --json", folder.path().join("calls.json").display());
    let child = started(command(&folder, &line));
    backend.wait_for(1);
    interrupt(&child);
    until("the end of the one behind", || {
        let (_, runs) = answer(&folder, "runs --tool next --status canceled --json");
        runs.get(0).cloned()
    });
    backend.let_go();
    let ended = finished(child, &line);
    let printed = String::from_utf8(ended.stdout).unwrap();
    let results: Value =
        printed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
    assert_eq!(each(&results, "/result/status"), ["succeeded", "canceled"], "{results:#}");
    assert_eq!(results[1]["result"]["abort_reason"], "user_interruption");
    assert_eq!((ended.status.code(), backend.heard().len()), (Some(130), 1));
    all_fit(&folder);
}

/// (d) A backend that ignores cancellation is disconnected. Its outcome is recorded as unknown, and
/// the call is listed among those that have to be resolved.
#[test]
fn test_12_d_ignored_interrupt_leaves_the_effect_unknown() {
    for wish in [Wish::Signal, Wish::Command] {
        let call = under_way(WRITE, "{ supports_cancel: true }", Act::commits(Then::Hang));
        call.wish(wish);
        let (exit, envelope, ended) = call.ended();
        assert_eq!(
            (exit, &envelope["status"], &envelope["effect_state"]),
            (130, &json!("canceled"), &json!("unknown")),
            "{wish:?}: {envelope:#}"
        );
        let error = &envelope["error"];
        assert_eq!(
            (&error["aruntime_code"], &error["retry"]["safe"]),
            (&json!("x:canceled.unknown-commit"), &json!(false)),
            "{envelope:#}"
        );
        let (_, unknown) = answer(&ended.folder, "runs --unknown --json");
        assert_eq!(each(&unknown, "/invocation_id"), [json!(ended.id)], "{wish:?}");
        let facts = wishes(&ended.folder, &ended.id);
        assert_eq!(facts.first(), Some(&json!("cancel_requested")), "{facts:?}");
        assert_eq!(facts.last(), Some(&json!("canceled")), "{facts:?}");
        assert_eq!(ended.backend.effects(), 1, "it happened, whatever anybody knows");
    }
}
