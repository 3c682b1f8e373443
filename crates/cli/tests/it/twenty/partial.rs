//! Partial effect and compensation (§23, test 19).

use std::process::{Command, Stdio};

use haft_testkit::{ALLOW, Act, Backend, Folder, Keys, Served, Then, WRITE};
use serde_json::{Value, json};

use crate::stage::{asked, command, finished, json as answer, started};
use crate::twenty::export::{all_fit, exported};
use crate::twenty::{each, trace, word};

/// How long a file may get, in the blocks of 512 bytes that a shell counts; far more than a store
/// needs.
const BLOCKS: u64 = 64 * 1024;

/// `fs.write` with a compensation: `list.remove` is told which items to remove.
fn tool() -> String {
    let undo = "    interrupt: block\n    compensation:\n      tool: list.remove\n      \
        approval: always\n      input: { list: \"${input.path}\", items: \"${input.content}\" }\n";
    include_str!("../../../../haft/builtin/tools/fs.write/TOOL.md")
        .replace("requires: {}\n", "requires: {}\ndefault_implementation: haft-builtin\n")
        .replace("approval: on-mutate\n", "approval: auto\n")
        .replace("    interrupt: block\n", undo)
}

/// A list that has room for three more items, a byte each.
fn list(backend: &Backend) -> Folder {
    let folder = Served::by(backend)
        .at("list.remove", WRITE, "POST", "/remove")
        .with(ALLOW)
        .file(".tools/fs.write/TOOL.md", tool())
        .file("list", "");
    let file = std::fs::File::options().write(true).open(folder.path().join("list")).unwrap();
    file.set_len(BLOCKS * 512 - 3).unwrap();
    folder
}

/// Runs a command under a kernel that lets no file get longer than that.
fn limited(folder: &Folder, line: &str) -> (i32, Value) {
    let plain = command(folder, line);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -f {BLOCKS}; exec \"$0\" \"$@\"")]);
    shell.arg(plain.get_program()).args(plain.get_args()).stdin(Stdio::null());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let ended = finished(started(shell), line);
    let envelope = serde_json::from_slice(&ended.stdout);
    let envelope = envelope.unwrap_or_else(|_| panic!("haft {line}: {ended:?}"));
    (ended.status.code().unwrap(), envelope)
}

/// The parts of a compensated call that must not change.
fn unchanged(folder: &Folder, id: &str) -> (Value, Value) {
    let export = exported(folder, id);
    let mut invocation = export.of("invocation")[0].clone();
    for name in ["effect_state", "compensated_by", "evidence_refs"] {
        invocation.as_object_mut().unwrap().remove(name);
    }
    (invocation, export.of("result")[0].clone())
}

/// Three of five items are written and then there is no room. That is neither a success nor a
/// failure, and is not tried again. It is undone by a call of its own, which asks first; when that
/// fails, both records say so, and what was recorded of the first call is as it was.
#[test]
fn test_19_partial_effect_and_compensation() {
    let backend = Backend::new(Keys::Ignored);
    let folder = list(&backend);
    let (exit, added) = limited(
        &folder,
        "call fs.write path=list content=abcde mode=append --as agent:coder --json",
    );
    let error = &added["error"];
    assert_eq!(
        (exit, &added["status"], &error["error_code"], &error["aruntime_code"]),
        (1, &json!("partial_succeeded"), &json!("effect.partial"), &json!("partial-effect")),
        "{added:#}"
    );
    assert_eq!(error["error_class"], "partial_failure");
    assert_eq!(
        (&added["effect_state"], &error["retry"]["safe"]),
        (&json!("partially_committed"), &json!(false))
    );
    let original = word(&added["invocation_id"]);
    assert_eq!(trace(&folder, &original)["attempts"].as_array().unwrap().len(), 1);
    let text = std::fs::read(folder.path().join("list")).unwrap();
    assert!(text.ends_with(b"\0abc"), "{:?}", text.last_chunk::<5>());
    let before = unchanged(&folder, &original);

    let undo = format!("compensate {original}");
    let (by, question) = asked(&folder, &undo);
    assert_ne!(by, original);
    assert_eq!(backend.connections(), 0, "it asks first");
    assert_eq!(trace(&folder, &by)["compensates"], json!(original));
    backend.will(Act::refuses(Then::status(409)));
    let (exit, failed) = answer(&folder, &format!("approve {question} --json"));
    assert_eq!(
        (exit, &failed["error"]["error_code"], &failed["error"]["aruntime_code"]),
        (1, &json!("compensation.failed"), &json!("compensation.failed")),
        "{failed:#}"
    );
    assert_eq!((&failed["invocation_id"], backend.effects()), (&json!(by), 0));
    let told = trace(&folder, &original);
    assert_eq!(told["effect_state"], "compensation_failed");
    assert_eq!(unchanged(&folder, &original), before);

    let (again, question) = asked(&folder, &undo);
    let (exit, undone) = answer(&folder, &format!("approve {question} --json"));
    assert_eq!((exit, &undone["status"]), (0, &json!("succeeded")), "{undone:#}");
    let told = trace(&folder, &original);
    assert_eq!(told["effect_state"], "compensated");
    assert_eq!(each(&told["compensated_by"], "/by"), [json!(by), json!(again)]);
    assert_eq!(unchanged(&folder, &original), before);
    let bodies: Vec<Value> =
        backend.heard().iter().map(|heard| serde_json::from_str(&heard.body).unwrap()).collect();
    assert_eq!(bodies, vec![json!({"list": "list", "items": "abcde"}); 2]);
    assert_eq!(answer(&folder, &format!("{undo} --json")).0, 1, "what was undone stays undone");
    all_fit(&folder);
}
