//! Tests of a program's sandbox: what it sees and may do.

use haft_model::{Code, EffectState};
use haft_sandbox::Walls;
use serde_json::{Value, json};

use crate::cli::stage::Stage;

#[test]
fn read_writes_nothing_and_write_needs_contract_and_driver() {
    let script = "echo x > note 2>/dev/null || echo closed; echo y > out/new 2>/dev/null || echo closed too; \
                  cat note; exit 0";
    assert_eq!(Stage::script(script).run(json!({})).text(), "closed\nclosed too\na note\n");
    let write = Stage::writing_script(script);
    assert_eq!(write.run(json!({})).text(), "closed\na note\n");
    assert_eq!(write.folder.read("out/new"), "y\n");
    let narrower = Stage::writing_script(script)
        .with("sandbox", json!({"fs": {"read": ["./**"], "write": []}}));
    assert_eq!(narrower.run(json!({})).text(), "closed\nclosed too\na note\n");
}

#[test]
fn the_environment_is_what_is_declared() {
    let stage = Stage::reading("env", &[]).with(
        "sandbox",
        json!({"env": {"pass": ["CARGO_MANIFEST_DIR", "NOT_THERE"], "set": {"DEMO": "1"}}}),
    );
    let text = stage.run(json!({})).text();
    let mut names: Vec<_> = text.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["CARGO_MANIFEST_DIR", "DEMO", "HOME", "LANG", "PATH", "TMPDIR"]);
}

#[test]
fn driver_without_exec_permission_cannot_start_other_programs() {
    let stage = |allow: bool| {
        Stage::script("ls out || echo refused").with("sandbox", json!({"exec": {"allow": allow}}))
    };
    assert_eq!(stage(true).run(json!({})).text(), "kept\n");
    assert_ne!(
        stage(false).run(json!({})).result.ok().and_then(|output| output.structured),
        Some(json!({"text": "kept\n"}))
    );
}

#[test]
fn unconfined_run_is_marked_and_missing_launcher_refuses_calls() {
    let off = Stage { walls: Walls::Off, ..Stage::script("echo free") };
    let output = off.run(json!({})).output();
    assert_eq!(output.structured, Some(json!({"text": "free\n"})));
    let [Value::Object(native)] = &output.native[..] else { panic!("{:?}", output.native) };
    let mut native = native.clone();
    let argv = native.remove("argv_ref").unwrap();
    assert!(argv.as_str().unwrap().starts_with("sha256:"), "{argv}");
    native.remove("command_id").unwrap();
    assert_eq!(
        Value::Object(native),
        json!({"source": "cli", "exit_code": 0, "layers": ["none"], "unconfined": true})
    );
    let missing = Stage { walls: Walls::Missing, ..Stage::writing_script("echo x > out/x") };
    assert_eq!(missing.run(json!({})).fate(), (Code::SetupRequired, EffectState::NotSubmitted, 0));
}

#[test]
fn a_driver_that_reads_one_folder_sees_no_other() {
    let stage = Stage::script("ls; cat out/kept; cat note 2>/dev/null || echo no note");
    let stage = stage.with("sandbox", json!({"fs": {"read": ["./out/**"], "deny": []}}));
    assert_eq!(stage.run(json!({})).text(), "out\nkept\nno note\n");
    let denied = Stage::script("cat note; ls out 2>/dev/null || echo nothing");
    let denied = denied.with("sandbox", json!({"fs": {"deny": ["./out/**"]}}));
    assert_ne!(denied.run(json!({})).text(), "a note\nkept\n");
}
