//! Driver conformance of the cli driver.

use std::fs;

use haft_driver::conformance::{ConformanceCase, check, check_clearance};
use serde_json::json;

use crate::cli::stage::{Stage, alone};
use crate::plans::permit;

fn hold(name: &str, stage: &Stage, most_bytes: usize) {
    let plan = stage.plan(json!({"text": "hello"}));
    let permit = permit(&plan);
    let out = stage.folder.path().join("out");
    let effects = || fs::read_to_string(out.join("done")).map_or(0, |text| text.lines().count());
    let case =
        ConformanceCase { name, plan: &plan, permit: &permit, most_bytes, effects: Some(&effects) };
    assert_eq!(alone(check(&stage.driver(), &[case])), [], "{name}");
}

#[test]
fn a_read_keeps_the_promises_of_a_driver() {
    hold("an echo", &Stage::reading("echo", &["${input.text}"]), 100);
    hold("a cat", &Stage::reading("cat", &[]).cli("stdin", json!("${input.text}")), 100);
    hold("a sleep", &Stage::reading("sleep", &["97001"]), 100);
    hold("a git", &Stage::reading("git", &["--version"]), 100);
    hold("a flood", &Stage::reading("yes", &[]), 100);
    hold("a crash", &Stage::script("kill -9 $$"), 100);
    hold("nothing there", &Stage::reading("no-such-program", &[]), 100);
    assert_eq!(crate::cli::crowd::processes_with("sleep\097001"), Vec::<String>::new());
}

#[test]
fn write_meets_driver_conformance_however_it_ends() {
    let done = "echo x >> out/done";
    hold("a write", &Stage::writing_script(done), 100);
    hold("a write that fails", &Stage::writing_script(&format!("{done}; exit 1")), 100);
    hold("a write that is killed", &Stage::writing_script(&format!("{done}; kill -9 $$")), 100);
    hold(
        "a write that floods",
        &Stage::writing_script(&format!("{done}; head -c 3000000 /dev/zero")),
        100,
    );
    hold("a write that cannot start", &Stage::writing("./note", &[]), 100);
    let vouching = Stage::writing_script("exit 7").haft("not_committed", json!([7]));
    hold("a write that was refused", &vouching, 100);
}

#[test]
fn hanging_write_meets_driver_conformance() {
    let script = "trap '' TERM; echo x >> out/done; sleep 97002 & sleep 97003";
    hold("a write that hangs", &Stage::writing_script(script), 100);
    assert_eq!(crate::cli::crowd::processes_with("sleep\097002"), Vec::<String>::new());
    assert_eq!(crate::cli::crowd::processes_with("sleep\097003"), Vec::<String>::new());
}

#[test]
fn expired_clearance_starts_no_program() {
    let stage = Stage::writing_script("echo x >> out/done");
    let plan = stage.plan(json!({"text": "hello"}));
    let permit = permit(&plan);
    let out = stage.folder.path().join("out");
    let effects = || fs::read_to_string(out.join("done")).map_or(0, |text| text.lines().count());
    let effects: Option<&(dyn Fn() -> usize + Sync)> = Some(&effects);
    let case =
        ConformanceCase { name: "a write", plan: &plan, permit: &permit, most_bytes: 100, effects };
    assert_eq!(alone(check_clearance(&stage.driver(), &[case])), []);
}
