//! A driver of kind http keeps the promises of every driver.

use haft_driver::conformance::{Case, check};
use haft_testkit::{Act, Then};
use serde_json::json;

use crate::plans::permit;
use crate::stage::Stage;

/// The rounds in which a case reaches the backend, and some to spare.
const ROUNDS: usize = 8;

fn hold(name: &str, stage: &Stage, act: Option<Act>) {
    for act in act.into_iter().cycle().take(ROUNDS) {
        stage.backend.will(act);
    }
    let plan = stage.plan(json!({"order": "o1"}));
    let permit = permit(&plan);
    let effects = || stage.backend.effects();
    let case =
        Case { name, plan: &plan, permit: &permit, most_bytes: 1000, effects: Some(&effects) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(check(&stage.driver(), &[case])), [], "{name}");
}

#[test]
fn a_read_keeps_the_promises_of_a_driver() {
    hold("a read", &Stage::reading(json!({})), None);
    hold("a slow read", &Stage::reading(json!({})), Some(Act::refuses(Then::Hang)));
}

#[test]
fn a_write_keeps_the_promises_of_a_driver_however_it_is_answered() {
    for submitted in ["on_write", "on_connect"] {
        let stage = || Stage::writing(json!({})).haft(json!({"submitted": submitted}));
        hold("a write", &stage(), None);
        hold("a write that is reset", &stage(), Some(Act::commits(Then::Reset)));
        hold("a write that is refused", &stage(), Some(Act::refuses(Then::status(422))));
        hold("a write whose gateway fails", &stage(), Some(Act::commits(Then::status(502))));
        hold("a write that floods", &stage(), Some(Act::commits(Then::Flood(200))));
    }
}

#[test]
fn a_write_that_hangs_keeps_the_promises_of_a_driver() {
    hold("a write that hangs", &Stage::writing(json!({})), Some(Act::commits(Then::Hang)));
}
