//! Driver conformance of the mcp driver.

use haft_driver::Cancel;
use haft_driver::conformance::{ConformanceCase, check, check_clearance};
use haft_model::{Code, EffectState, Stop, Tri};
use serde_json::{Value, json};

use crate::mcp::elsewhere::Elsewhere;
use crate::mcp::remote;
use crate::mcp::stage::Stage;
use crate::plans::permit;

fn hold(name: &str, mut stage: Stage, input: Value) {
    let plan = stage.plan_of(input);
    let permit = permit(&plan);
    let driver = stage.driver();
    let effects = || stage.effects();
    let case = ConformanceCase {
        name,
        plan: &plan,
        permit: &permit,
        most_bytes: 1000,
        effects: Some(&effects),
    };
    assert_eq!(stage.runtime.block_on(check(&*driver, &[case])), [], "{name}");
}

#[test]
fn a_read_keeps_the_promises_of_a_driver() {
    for era in ["legacy", "modern"] {
        hold("a read", Stage::reading("echo", &[era]), json!({"text": "a"}));
    }
}

#[test]
fn hanging_read_meets_driver_conformance() {
    hold("a read that hangs", Stage::reading("hang", &["modern"]), json!({}));
}

#[test]
fn write_meets_driver_conformance_however_it_is_answered() {
    for then in ["answer", "leave", "lie"] {
        let stage = Stage::writing("add", &["legacy"]);
        hold(then, stage, json!({"line": 1, "then": then}));
    }
    hold("a modern write", Stage::writing("add", &["modern"]), json!({"line": 1}));
}

#[test]
fn hanging_write_meets_driver_conformance() {
    hold("a write that hangs", Stage::writing("add", &[]), json!({"line": 1, "then": "hang"}));
}

/// Expires the clearance of a write at each of its checks in turn.
fn expire(name: &str, stage: &mut Stage, effects: &(dyn Fn() -> usize + Sync)) {
    let plan = stage.plan_of(json!({"line": 1}));
    let (permit, driver) = (permit(&plan), stage.driver());
    let case = ConformanceCase {
        name,
        plan: &plan,
        permit: &permit,
        most_bytes: 1000,
        effects: Some(effects),
    };
    assert_eq!(stage.runtime.block_on(check_clearance(&*driver, &[case])), [], "{name}");
}

#[test]
fn expired_clearance_sends_nothing_over_stdio() {
    for era in ["legacy", "modern"] {
        let mut stage = Stage::writing("add", &[era]);
        let written = stage.folder.path().join("effects.txt");
        let effects =
            move || std::fs::read_to_string(&written).map_or(0, |text| text.lines().count());
        expire(era, &mut stage, &effects);
    }
}

#[test]
fn expired_clearance_sends_nothing_over_http() {
    for modern in [true, false] {
        let server = Elsewhere::new(modern);
        let mut stage = remote::stage(&server, Tri::No);
        let calls = || server.methods().iter().filter(|method| *method == "tools/call").count();
        expire("a server elsewhere", &mut stage, &calls);
    }
}

/// A call whose server asks once, and the answer to its second submission.
fn asked(tool: &str, era: &str, second: Result<(), Stop>) -> (Stage, crate::mcp::stage::Ended) {
    let mut stage = Stage::writing(tool, &[era]);
    stage.fills_in = true;
    let mut answers = vec![second, Ok(())];
    let mut submitted = || answers.pop().unwrap();
    let ended = stage.run_around(json!({"line": 1}), &Cancel::new(), &mut submitted);
    (stage, ended)
}

fn lost_lease() -> Stop {
    Stop::new(Code::Conflict, "another process has the call")
}

#[test]
fn second_request_of_call_is_submitted_again() {
    let (stage, ended) = asked("ask", "modern", Ok(()));
    assert_eq!((ended.submissions, stage.effects()), (2, 1));
    assert_eq!(ended.output().effect, EffectState::Committed);
    let (stage, ended) = asked("ask", "modern", Err(lost_lease()));
    assert_eq!(ended.fate(), (Code::Conflict, EffectState::NotCommitted, 2));
    assert_eq!(stage.effects(), 0);
}

#[test]
fn answer_to_elicitation_is_submitted_again() {
    let (_, ended) = asked("elicit", "legacy", Ok(()));
    assert_eq!(ended.submissions, 2);
    let words = ended.failure().stop.message;
    assert!(words.contains("the answer is accept"), "{words}");
    let (_, ended) = asked("elicit", "legacy", Err(lost_lease()));
    assert_eq!(ended.failure().stop.message, "`elicit` asks: Really?");
}
