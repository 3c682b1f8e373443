//! Tests of failing functions and failing workers.

use std::time::Duration;

use haft_model::{Code, EffectState};
use serde_json::json;

use crate::sdk::stage::{BOTH, Language, Stage};

#[tokio::test]
async fn exception_is_reported_by_class_in_one_line() {
    for language in BOTH {
        let stage = Stage::reading(language, "fail");
        let ended = stage.run(json!({"how": "refused"})).await;
        let failure = ended.result.unwrap_err();
        let expected = "`fail` failed with Refused: no more than one line";
        assert_eq!(failure.stop.message, expected, "{language:?}");
        assert_eq!(failure.stop.code, Code::ExecutionFailed);
        assert_eq!(failure.stop.cause, json!({"phase": "run", "exception": "Refused"}));
        assert_eq!(failure.native[0]["exception"], json!("Refused"));
        assert_eq!(failure.effect, EffectState::None);
    }
    let thrown = Stage::reading(Language::Node, "fail").run(json!({"how": "thrown"})).await;
    assert_eq!(thrown.words(), "execution.failed: `fail` failed with thrown: a word");
}

#[tokio::test]
async fn failed_write_is_unknown_unless_driver_declares_not_committed() {
    for language in BOTH {
        let stage = Stage::writing(language, "fail");
        // A class covers its subclasses as well.
        let stage = stage.entry("haft", "not_committed", json!(["TypeError"]));
        let known = stage.run(json!({"how": "refused"})).await.fate();
        assert_eq!(known, (Code::ExecutionFailed, EffectState::NotCommitted, 1));
        let unknown = stage.run(json!({"how": "range"})).await.fate();
        assert_eq!(unknown, (Code::ExecutionFailed, EffectState::Unknown, 1));
    }
}

#[tokio::test]
async fn worker_exit_during_write_leaves_effect_unknown() {
    for language in BOTH {
        let stage = Stage::writing(language, "exit").entry("sdk", "args_template", json!({}));
        let ended = stage.run(json!({})).await;
        let failure = ended.result.unwrap_err();
        assert_eq!(failure.stop.message, "the worker broke: it ended with code 3");
        let fate = (failure.stop.code, failure.effect, ended.submissions);
        assert_eq!(fate, (Code::DependencyUnavailable, EffectState::Unknown, 1));
    }
}

#[tokio::test]
async fn broken_worker_restarts_after_backoff() {
    for language in BOTH {
        let mut stage = Stage::reading(language, "exit").entry("sdk", "args_template", json!({}));
        let second = json!({"tool": "odd.do", "version": "^1", "metadata": {
            "sdk": {"function_ref": "who", "args_template": {}},
        }});
        stage.manifest["implements"].as_array_mut().unwrap().push(second);
        // Two contracts of one driver share a worker.
        let driver = stage.driver_of(&["odd.do", "odd.who"]);
        let who = || stage.call_tool(&driver, "odd.who");
        let first = who().await.value();
        assert_eq!(who().await.value(), first);
        let broke = stage.call(&driver, json!({})).await.words();
        assert_eq!(broke, "dependency.unavailable: the worker broke: it ended with code 3");
        let refused = who().await.words();
        let expected =
            "dependency.unavailable: it broke 1 times in a row and is left alone for a while";
        assert_eq!(refused, expected);
        let again = loop {
            match who().await.result {
                Ok(output) => break output.structured.unwrap(),
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        };
        assert_ne!(again, first);
    }
}

#[tokio::test]
async fn worker_over_memory_limit_fails_alone() {
    let runner = json!({"engine": "in-process", "limits": {"memory_mb": 400}});
    let stage = |language| {
        let stage = Stage::reading(language, "bomb").entry("sdk", "args_template", json!({}));
        stage.with("runner", runner.clone())
    };
    let node = stage(Language::Node).run(json!({})).await.words();
    assert_eq!(node, "dependency.unavailable: the worker broke: it ran out of memory");
    let python = stage(Language::Python).run(json!({})).await.words();
    assert_eq!(python, "execution.failed: `bomb` failed with MemoryError: ");
}

#[tokio::test]
async fn too_large_answer_is_refused_and_effect_stays_committed() {
    for language in BOTH {
        let stage = Stage::writing(language, "flood");
        assert_eq!(stage.run(json!({"bytes": 1000})).await.value().as_str().unwrap().len(), 1000);
        let fate = stage.run(json!({"bytes": 6 << 20})).await.fate();
        assert_eq!(fate, (Code::ResultTooLarge, EffectState::Committed, 1));
        let stage = Stage::writing(language, "drip").entry("sdk", "args_template", json!({}));
        let fate = stage.run(json!({})).await.fate();
        assert_eq!(fate, (Code::ResultTooLarge, EffectState::Unknown, 1));
    }
}

#[tokio::test]
async fn non_json_answer_is_refused_and_effect_stays_committed() {
    for (language, function) in BOTH
        .into_iter()
        .flat_map(|language| ["odd", "nan", "deep", "broken"].map(|function| (language, function)))
    {
        let stage = Stage::writing(language, function).entry("sdk", "args_template", json!({}));
        let fate = stage.run(json!({})).await.fate();
        let expected = (Code::OutputInvalid, EffectState::Committed, 1);
        assert_eq!(fate, expected, "{language:?} {function}");
    }
}

#[tokio::test]
async fn a_worker_that_talks_nonsense_is_ended() {
    for language in BOTH {
        let stage = Stage::writing(language, "lie").entry("sdk", "args_template", json!({}));
        let ended = stage.run(json!({})).await;
        let expected =
            "dependency.unavailable: the worker broke: it said something that no worker says";
        assert_eq!(ended.words(), expected, "{language:?}");
    }
}
