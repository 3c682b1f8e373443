//! Tests of cancellation and timeout of sdk calls, also of functions that ignore them.

use std::fs;
use std::time::{Duration, Instant};

use haft_driver::{Cancel, DriverMessage};
use haft_model::{Code, EffectState};
use serde_json::{Value, json};

use crate::sdk::calls::together;
use crate::sdk::stage::{BOTH, Ended, Language, Stage};

/// Cancels a function once it is running.
async fn called_off(stage: &Stage, input: Value) -> Ended {
    let cancel = Cancel::new();
    let log = stage.folder.path().join("notes/log");
    let stop = cancel.clone();
    let watching = tokio::spawn(async move {
        while fs::read_to_string(&log).unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        stop.cancel();
    });
    let ended = stage.call_until(&stage.driver(), input, &cancel, &mut |_| {}).await;
    watching.abort();
    ended
}

#[tokio::test]
async fn cancelled_write_ends_soon_whether_cooperative_or_not() {
    for language in BOTH {
        for (function, args) in [
            ("note", json!({"text": "a", "ms": 60_000})),
            ("hang", json!({})),
            ("dangle", json!({})),
        ] {
            let stage = Stage::writing(language, function).entry("sdk", "args_template", args);
            let began = Instant::now();
            let fate = called_off(&stage, json!({})).await.fate();
            let expected = (Code::CanceledCaller, EffectState::Unknown, 1);
            assert_eq!(fate, expected, "{language:?} {function}");
            assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
        }
    }
}

/// The outcome of a function that exceeds its timeout, in a worker that is running already.
async fn late(mut stage: Stage) -> (Code, EffectState, usize) {
    let ready = json!({"tool": "odd.who", "version": "^1", "metadata": {
        "sdk": {"function_ref": "who", "args_template": {}},
    }});
    stage.manifest["implements"].as_array_mut().unwrap().push(ready);
    let driver = stage.driver_of(&["odd.do", "odd.who"]);
    let first = stage.call_tool(&driver, "odd.who").await.value();
    stage.patience = Duration::from_secs(1);
    let fate = stage.call(&driver, json!({})).await.fate();
    stage.patience = Duration::from_secs(20);
    let next = stage.call_tool(&driver, "odd.who").await.value();
    assert_ne!(next, first, "the worker is another one, at once");
    fate
}

#[tokio::test]
async fn a_function_that_is_late_ends_with_its_worker() {
    for language in BOTH {
        for function in ["hang", "dangle"] {
            let entry = |stage: Stage| stage.entry("sdk", "args_template", json!({}));
            let expected = (Code::TimeoutUnknownCommit, EffectState::Unknown, 1);
            let write = entry(Stage::writing(language, function));
            assert_eq!(late(write).await, expected, "{language:?} {function}");
            let expected = (Code::TimeoutUnknownCommit, EffectState::None, 0);
            let read = entry(Stage::reading(language, function));
            assert_eq!(late(read).await, expected, "{language:?} {function}");
        }
    }
}

#[tokio::test]
async fn cancelled_generator_is_closed_and_worker_survives() {
    for language in BOTH {
        let mut stage = Stage::reading(language, "count");
        let closings = json!({"tool": "odd.do", "version": "^1", "metadata": {
            "sdk": {"function_ref": "closings", "args_template": {}},
        }});
        stage.manifest["implements"].as_array_mut().unwrap().push(closings);
        let driver = stage.driver_of(&["odd.do", "odd.closings"]);
        let cancel = Cancel::new();
        let stop = cancel.clone();
        let mut hear = move |said: &DriverMessage| {
            if matches!(said, DriverMessage::Partial(_)) {
                stop.cancel();
            }
        };
        let input = json!({"n": 1000, "ms": 5});
        let ended = stage.call_until(&driver, input, &cancel, &mut hear).await;
        assert_eq!(ended.fate(), (Code::CanceledCaller, EffectState::None, 0));
        let closed = stage.call_tool(&driver, "odd.closings").await.value();
        assert_eq!(closed, json!(1), "{language:?}");
    }
}

#[tokio::test]
async fn queued_read_timeout_leaves_running_read_alone() {
    // Python functions that do not await run one after the other.
    let mut stage = Stage::reading(Language::Python, "hang");
    stage.manifest["implements"][0]["metadata"]["sdk"] =
        json!({"function_ref": "time.sleep", "args_template": {"_0": "${input.s}"}});
    let stage = stage.with("package", json!("time")).with("entrypoint", json!("lib.sleepy"));
    let stage = Stage { folder: stage.folder.file("lib/sleepy.py", "import time\n"), ..stage };
    let driver = stage.driver();
    assert_eq!(stage.call(&driver, json!({"s": 0})).await.value(), json!(null));
    let mut hasty = Stage::reading(Language::Python, "hang");
    (hasty.manifest, hasty.patience) = (stage.manifest.clone(), Duration::from_millis(400));
    let calls = [(&stage, 2.0), (&hasty, 0.1)];
    let ended = together(calls.iter().map(|(stage, s)| stage.call(&driver, json!({"s": s})))).await;
    let [patient, hasty]: [Ended; 2] = ended.try_into().unwrap();
    assert_eq!(patient.value(), json!(null));
    assert_eq!(hasty.fate().0, Code::TimeoutBeforeSubmit);
}
