//! Calls that are called off or late, and functions that do not care.

use std::time::{Duration, Instant};

use haft_driver::{Cancel, Said};
use haft_model::{Code, EffectState};
use serde_json::json;

use crate::calls::together;
use crate::stage::{BOTH, Ended, Language, Stage};

/// Calls a function off as soon as it is submitted.
async fn called_off(stage: &Stage, input: serde_json::Value) -> Ended {
    let cancel = Cancel::new();
    let stop = cancel.clone();
    let mut hear = move |said: &Said| {
        if matches!(said, Said::Submit(_)) {
            let stop = stop.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(150)).await;
                stop.cancel();
            });
        }
    };
    stage.call_until(&stage.driver(), input, &cancel, &mut hear).await
}

#[tokio::test]
async fn a_write_that_is_called_off_ends_soon_whether_it_listens_or_not() {
    for language in BOTH {
        for (function, input) in [
            ("note", json!({"text": "a", "ms": 60_000})),
            ("hang", json!({})),
            ("dangle", json!({})),
            ("count", json!({"n": 1000, "ms": 10})),
        ] {
            let stage = Stage::writing(language, function);
            let stage = match function {
                "hang" | "dangle" => stage.entry("sdk", "args_template", json!({})),
                _ => stage,
            };
            let began = Instant::now();
            let fate = called_off(&stage, input).await.fate();
            let expected = (Code::CanceledCaller, EffectState::Unknown, 1);
            assert_eq!(fate, expected, "{language:?} {function}");
            assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
        }
    }
}

#[tokio::test]
async fn a_function_that_is_late_ends_with_its_worker() {
    for language in BOTH {
        for function in ["hang", "dangle"] {
            let entry = |stage: Stage| stage.entry("sdk", "args_template", json!({}));
            let mut write = entry(Stage::writing(language, function));
            write.patience = Duration::from_millis(1500);
            let expected = (Code::TimeoutUnknownCommit, EffectState::Unknown, 1);
            assert_eq!(write.run(json!({})).await.fate(), expected, "{language:?} {function}");
            let mut read = entry(Stage::reading(language, function));
            read.patience = Duration::from_millis(1500);
            let expected = (Code::TimeoutBeforeSubmit, EffectState::None, 0);
            assert_eq!(read.run(json!({})).await.fate(), expected, "{language:?} {function}");
        }
    }
}

#[tokio::test]
async fn a_generator_that_is_called_off_is_closed_and_its_worker_goes_on() {
    for language in BOTH {
        let mut stage = Stage::reading(language, "count");
        let closings = json!({"tool": "odd.do", "version": "^1", "metadata": {
            "sdk": {"function_ref": "closings", "args_template": {}},
        }});
        stage.manifest["implements"].as_array_mut().unwrap().push(closings);
        let driver = stage.driver_of(&["odd.do", "odd.closings"]);
        let cancel = Cancel::new();
        let stop = cancel.clone();
        let mut hear = move |said: &Said| {
            if matches!(said, Said::Partial(_)) {
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
async fn a_late_read_that_waits_for_its_turn_leaves_the_one_before_it_alone() {
    // Functions of Python that do not await are called one after the other.
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
