//! Tests of program exits: the result and the effect state that each exit gives.

use std::fs;
use std::time::{Duration, Instant};

use haft_model::{Code, EffectState};
use haft_sandbox::TotalMemory;
use serde_json::json;

use crate::cli::stage::Stage;

const UNKNOWN: EffectState = EffectState::Unknown;

#[test]
fn exit_codes_follow_aip_29_and_leave_write_unknown() {
    for (code, expected) in [
        (1, Code::ExecutionFailed),
        (2, Code::InputValue),
        (4, Code::CredentialMissing),
        (9, Code::ExecutionFailed),
        (124, Code::TimeoutUnknownCommit),
        (137, Code::DependencyUnavailable),
    ] {
        let stage = Stage::writing_script(&format!("echo oh no >&2; exit {code}"));
        assert_eq!(stage.run(json!({})).fate(), (expected, UNKNOWN, 1), "{code}");
    }
    let read = Stage::script("exit 124").run(json!({}));
    assert_eq!(read.fate(), (Code::TimeoutUnknownCommit, EffectState::None, 0));
}

#[test]
fn driver_maps_exit_codes_and_which_mean_not_committed() {
    let stage = |code: i32| {
        let meanings = json!({"1": "ok", "3": "not_found", "5": "card_declined", "6": "conflict"});
        Stage::writing_script(&format!("echo said; exit {code}"))
            .with("output", json!({"exit_codes": meanings}))
            .with("auth", json!({"expiry": {"detect": "exit_code:7"}}))
            .haft("not_committed", json!([5, 6]))
    };
    assert_eq!(stage(1).run(json!({})).text(), "said\n");
    assert_eq!(stage(3).run(json!({})).fate(), (Code::ResourceNotFound, UNKNOWN, 1));
    assert_eq!(stage(6).run(json!({})).fate(), (Code::Conflict, EffectState::NotCommitted, 1));
    assert_eq!(stage(7).run(json!({})).fate(), (Code::CredentialMissing, UNKNOWN, 1));
    let own = stage(5).run(json!({})).failure();
    assert_eq!((own.stop.code, own.effect), (Code::ExecutionFailed, EffectState::NotCommitted));
    assert_eq!(
        own.stop.cause,
        json!({"phase": "run", "exit_code": 5, "native": "demo:card_declined"})
    );
}

#[test]
fn failure_holds_stderr_tail_and_native_exit() {
    let failure =
        Stage::script("echo first >&2; echo 'it broke' >&2; exit 3").run(json!({})).failure();
    assert_eq!(failure.stop.message, "`sh` ended with code 3: it broke");
    assert_eq!(
        failure.stop.cause,
        json!({"phase": "run", "exit_code": 3, "stderr": "first\nit broke\n"})
    );
    let [native] = failure.native.as_slice() else { return assert_eq!(failure.native.len(), 1) };
    assert_eq!((&native["source"], &native["exit_code"]), (&json!("cli"), &json!(3)));
    assert!(native["layers"].as_array().is_some_and(|layers| layers.len() > 3), "{native}");
    assert_eq!(native.get("unconfined"), None);
}

#[test]
fn death_by_signal_is_told_apart_from_exit_code() {
    let failure = Stage::writing_script("kill -SEGV $$").run(json!({})).failure();
    assert_eq!(
        (failure.stop.code, failure.effect, failure.stop.message.as_str()),
        (Code::DependencyUnavailable, UNKNOWN, "`sh` was ended by signal 11")
    );
    assert_eq!(failure.native[0]["signal"], json!(11));
}

/// Each process stays below its own limit; together they exceed the limit of the call.
#[test]
fn process_tree_over_memory_limit_is_sandbox_violation() {
    if let TotalMemory::EachProcess(why) = TotalMemory::here() {
        return eprintln!("each process is limited by itself here: {why}");
    }
    let each = "(x=0123456789abcdef; for i in 1 2 3 4 5 6 7 8 9 a b c d e f g h i j; do x=$x$x; done; \
                sleep 1000) & ";
    let stage = Stage::writing_script(&format!("{} wait", each.repeat(60)))
        .with("runner", json!({"engine": "subprocess", "limits": {"memory_mb": 40}}));
    let failure = stage.run(json!({})).failure();
    let message = "`sh` was ended: its processes together took more memory than they may";
    assert_eq!(
        (failure.stop.code, failure.effect),
        (Code::SandboxViolation, UNKNOWN),
        "{failure:?}"
    );
    assert!(failure.stop.message.starts_with(message), "{}", failure.stop.message);
}

#[test]
fn timeout_kills_hanging_program_and_all_its_descendants() {
    for script in [
        "trap '' TERM INT HUP; sleep 98701 & sleep 98702",
        "setsid sleep 98703 & disown; exec sleep 98704",
        "exec 1>&- 2>&-; sleep 98705",
    ] {
        let stage = Stage { patience: Duration::from_millis(400), ..Stage::writing_script(script) };
        let began = Instant::now();
        let ended = stage.run(json!({}));
        assert_eq!(ended.fate(), (Code::TimeoutUnknownCommit, UNKNOWN, 1), "{script}");
        assert!(began.elapsed() < Duration::from_secs(3), "{script}: {:?}", began.elapsed());
    }
    assert_eq!(crate::cli::crowd::processes_with("sleep\09870"), Vec::<String>::new());
}

#[test]
fn daemon_is_killed_with_program_that_started_it() {
    let text = Stage::script("(setsid sleep 98801 &) ; echo gone").run(json!({})).text();
    assert_eq!(text, "gone\n");
    assert_eq!(crate::cli::crowd::processes_with("sleep\098801"), Vec::<String>::new());
}

#[test]
fn program_that_closes_output_early_is_waited_for() {
    let stage = Stage::writing_script("echo early; exec 1>&- 2>&-; sleep 0.2; echo x > out/late");
    assert_eq!(stage.run(json!({})).text(), "early\n");
    assert_eq!(stage.folder.read("out/late"), "x\n");
}

#[test]
fn cancellation_ends_program_at_once_with_effect_unknown() {
    let stage = Stage::writing_script("echo x > out/begun; sleep 98901");
    let began = Instant::now();
    let ended = stage.run_until("out/begun");
    assert_eq!(ended.fate(), (Code::CanceledCaller, UNKNOWN, 1));
    assert!(began.elapsed() < Duration::from_secs(3));
    let read = Stage { patience: Duration::from_millis(300), ..Stage::script("sleep 98902") };
    assert_eq!(read.run(json!({})).fate(), (Code::TimeoutUnknownCommit, EffectState::None, 0));
    assert_eq!(crate::cli::crowd::processes_with("sleep\09890"), Vec::<String>::new());
}

#[test]
fn a_program_that_is_not_there_was_not_submitted() {
    for bin in ["no-such-program-here", "./tools/none", "/no/such/program"] {
        let ended = Stage::writing(bin, &[]).run(json!({}));
        assert_eq!(ended.fate(), (Code::SetupRequired, EffectState::NotSubmitted, 0), "{bin}");
    }
    // A program that exists and cannot be started counts as submitted, with no effect.
    let stage = Stage::writing("./note", &[]);
    let failure = stage.run(json!({})).failure();
    assert_eq!(
        (failure.stop.code, failure.effect),
        (Code::SetupRequired, EffectState::NotCommitted)
    );
    assert_eq!(fs::read_dir(stage.folder.path().join("out")).unwrap().count(), 1);
}
