//! A driver of kind mcp keeps the promises of every driver.

use haft_driver::conformance::{Case, check};
use serde_json::{Value, json};

use crate::plans::permit;
use crate::stage::Stage;

fn hold(name: &str, mut stage: Stage, input: Value) {
    let plan = stage.plan_of(input);
    let permit = permit(&plan);
    let driver = stage.driver();
    let effects = || stage.effects();
    let case =
        Case { name, plan: &plan, permit: &permit, most_bytes: 1000, effects: Some(&effects) };
    assert_eq!(stage.runtime.block_on(check(&*driver, &[case])), [], "{name}");
}

#[test]
fn a_read_keeps_the_promises_of_a_driver() {
    for era in ["legacy", "modern"] {
        hold("a read", Stage::reading("echo", &[era]), json!({"text": "a"}));
    }
}

#[test]
fn a_read_that_hangs_keeps_the_promises_of_a_driver() {
    hold("a read that hangs", Stage::reading("hang", &["modern"]), json!({}));
}

#[test]
fn a_write_keeps_the_promises_of_a_driver_however_it_is_answered() {
    for then in ["answer", "leave", "lie"] {
        let stage = Stage::writing("add", &["legacy"]);
        hold(then, stage, json!({"line": 1, "then": then}));
    }
    hold("a modern write", Stage::writing("add", &["modern"]), json!({"line": 1}));
}

#[test]
fn a_write_that_hangs_keeps_the_promises_of_a_driver() {
    hold("a write that hangs", Stage::writing("add", &[]), json!({"line": 1, "then": "hang"}));
}
