//! Tests of lost MCP responses, and of the effect state that is known then.

use std::time::{Duration, Instant};

use haft_driver::Cancel;
use haft_model::{Code, EffectState, Stop};
use serde_json::json;

use crate::mcp::stage::Stage;

#[test]
fn write_with_lost_answer_is_unknown_committed_or_not() {
    for (then, era, code) in [
        ("leave", "legacy", Code::DependencyUnavailable),
        ("leave", "modern", Code::DependencyUnavailable),
        ("lie", "legacy", Code::OutputInvalid),
    ] {
        let mut stage = Stage::writing("add", &[era]);
        let fate = stage.run(json!({"line": 1, "then": then})).fate();
        assert_eq!(fate, (code, EffectState::Unknown, 1), "{then} {era}");
        assert_eq!(stage.effects(), 1);
    }
    let mut stage = Stage::writing("leave", &[]);
    let failure = stage.run(json!({})).failure();
    let words = "the connection to the server of `leave` broke before it answered: out of memory";
    assert_eq!((failure.stop.message.as_str(), failure.effect), (words, EffectState::Unknown));
}

#[test]
fn a_server_that_hangs_is_not_waited_for() {
    for era in ["legacy", "modern"] {
        let mut stage = Stage::writing("hang", &[era]);
        stage.journal();
        stage.patience = Duration::from_millis(300);
        let before = Instant::now();
        let fate = stage.run(json!({})).fate();
        assert_eq!(fate, (Code::TimeoutUnknownCommit, EffectState::Unknown, 1));
        assert!(before.elapsed() < Duration::from_secs(2));
        stage.patience = Duration::from_secs(20);
        // The cancellation is sent beside the call, so that no caller waits for a server that
        // hangs; and each look at the journal is a call of its own.
        let told = |heard: &String| heard.starts_with("notifications/cancelled");
        assert!((0..200).any(|_| stage.journal().iter().any(told)), "{:?}", stage.journal());
    }
}

#[test]
fn a_submission_that_is_not_recorded_sends_nothing() {
    let mut stage = Stage::writing("add", &[]);
    let mut refuse = || Err(Stop::new(Code::Internal, "the disk is full"));
    let ended = stage.run_around(json!({"line": 1}), &Cancel::new(), &mut refuse);
    let submissions = ended.submissions;
    let failure = ended.failure();
    assert_eq!(failure.stop.message, "the disk is full");
    assert_eq!((failure.effect, submissions), (EffectState::NotSubmitted, 1));
    assert_eq!(stage.effects(), 0);
    // The server never received it.
    let calls = stage.journal().into_iter().filter(|heard| heard == "tools/call").count();
    assert_eq!(calls, 1);
}

#[test]
fn cancellation_during_submission_reports_effect_as_sent_or_not() {
    let mut stage = Stage::writing("add", &[]);
    stage.journal();
    let cancel = Cancel::new();
    let mut call_off = || {
        cancel.cancel();
        // Long enough for the call to have left by the time this is answered.
        std::thread::sleep(Duration::from_millis(50));
        Ok(())
    };
    let (code, effect, _) = stage.run_around(json!({"line": 1}), &cancel, &mut call_off).fate();
    assert_eq!(code, Code::CanceledCaller);
    let happened = effect.may_have_happened();
    let calls = stage.journal().into_iter().filter(|heard| heard == "tools/call").count();
    // Two of them asked for the journal.
    assert_eq!((calls == 3, stage.effects() == 1), (happened, happened), "{effect}");
}
