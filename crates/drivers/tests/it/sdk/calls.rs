//! Tests of sdk calls: the arguments of functions, and what becomes of their return values.

use haft_driver::Driver as _;
use haft_model::EffectState;
use serde_json::{Value, json};

use crate::sdk::stage::{BOTH, Language, Stage};

#[tokio::test]
async fn arguments_pass_as_object_positions_or_whole_input() {
    for language in BOTH {
        for (function, template, input, expected) in [
            ("add", Value::Null, json!({"a": 1, "b": 2}), json!(3)),
            ("add", json!({"a": "${input.n}", "b": 10}), json!({"n": 5}), json!(15)),
            ("join", json!({"_0": "${input.n}", "_1": "b"}), json!({"n": "a"}), json!("a b")),
            ("tools.deep.twice", Value::Null, json!({"n": 4}), json!(8)),
            ("nothing", json!({}), json!({}), Value::Null),
            ("Client.make", json!({}), json!({}), json!("made without one")),
        ] {
            let mut stage = Stage::reading(language, function);
            if !template.is_null() {
                stage = stage.entry("sdk", "args_template", template);
            }
            let ended = stage.run(input).await;
            assert_eq!(ended.submissions, 0);
            assert_eq!(ended.value(), expected, "{language:?} {function}");
        }
    }
}

#[tokio::test]
async fn result_extract_selects_part_of_return_value() {
    for language in BOTH {
        let stage = Stage::reading(language, "nested");
        let stage = stage.entry("sdk", "result_extract", json!("$.data[0].url"));
        assert_eq!(stage.run(json!({"n": 1})).await.value(), json!("u1"));
        let stage = stage.entry("haft", "wrap", json!("url"));
        assert_eq!(stage.run(json!({"n": 1})).await.value(), json!({"url": "u1"}));
        let stage = stage.entry("sdk", "result_extract", json!("$.rows"));
        let expected =
            "output.invalid: `nested` returned, and `result_extract` finds nothing in it";
        assert_eq!(stage.run(json!({"n": 1})).await.words(), expected);
    }
}

#[tokio::test]
async fn stdout_and_stdin_of_package_never_disturb_the_answer() {
    for language in BOTH {
        let stage = Stage::reading(language, "noisy").entry("sdk", "args_template", json!({}));
        assert_eq!(stage.run(json!({})).await.value(), json!("heard"), "{language:?}");
    }
}

#[tokio::test]
async fn generator_items_are_streamed_and_collected() {
    for language in BOTH {
        let stage = Stage::reading(language, "count");
        let ended = stage.run(json!({"n": 3})).await;
        assert_eq!(ended.parts, [json!({"at": 0}), json!({"at": 1}), json!({"at": 2})]);
        assert_eq!(ended.value(), json!([{"at": 0}, {"at": 1}, {"at": 2}]));
        let stage = stage.entry("sdk", "result_extract", json!("$.at"));
        assert_eq!(stage.run(json!({"n": 2})).await.value(), json!([0, 1]));
        let stage = Stage::reading(language, "lines").entry("sdk", "args_template", json!({}));
        assert_eq!(stage.run(json!({})).await.value(), json!(["one", "two"]));
    }
}

#[tokio::test]
async fn a_function_that_calls_back_tells_its_parts() {
    for language in BOTH {
        let stage = Stage::reading(language, "backwards")
            .entry("sdk", "args_template", json!({"_0": "${input.words}"}))
            .entry("sdk", "streaming", json!({"mode": "callback"}));
        let ended = stage.run(json!({"words": ["a", "b"]})).await;
        assert_eq!(ended.parts, [json!("a"), json!("b")]);
        assert_eq!(ended.value(), json!(["a", "b"]));
    }
}

#[tokio::test]
async fn concurrent_reads_share_one_worker() {
    for language in BOTH {
        let stage = Stage::reading(language, "slow");
        let driver = stage.driver();
        let first = stage.call(&driver, json!({"ms": 1})).await.value();
        let began = std::time::Instant::now();
        let calls = (0..8).map(|_| stage.call(&driver, json!({"ms": 400})));
        for ended in together(calls).await {
            assert_eq!(ended.value(), first, "the same worker served all");
        }
        assert!(began.elapsed().as_millis() < 8 * 400, "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn concurrent_writes_run_in_separate_workers() {
    for language in BOTH {
        let stage = Stage::writing(language, "slow");
        let driver = stage.driver();
        let calls = (0..2).map(|_| stage.call(&driver, json!({"ms": 500})));
        let tokens: Vec<_> =
            together(calls).await.into_iter().map(|ended| ended.value()["token"].clone()).collect();
        assert_ne!(tokens[0], tokens[1]);
        let again = stage.call(&driver, json!({"ms": 1})).await.value()["token"].clone();
        assert!(tokens.contains(&again), "workers are used again");
    }
}

#[tokio::test]
async fn a_write_is_submitted_once_and_then_committed() {
    for language in BOTH {
        let stage = Stage::writing(language, "note");
        let ended = stage.run(json!({"text": "a"})).await;
        assert_eq!(ended.submissions, 1);
        let output = ended.result.unwrap();
        assert_eq!(output.structured, Some(json!({"noted": "a"})));
        assert_eq!(output.effect, EffectState::Committed);
        let native = json!({
            "source": "sdk", "package": "odd", "package_version": "1.2.0", "function_ref": "note",
        });
        let native = match language {
            // A file without a package.json has no version.
            Language::Node => merged(native, json!({"package_version": null})),
            Language::Python => native,
        };
        assert_eq!(output.native, [native]);
        assert_eq!(stage.notes(), "a\n");
    }
}

#[tokio::test]
async fn read_only_contract_opens_no_write_path() {
    for language in BOTH {
        let stage = Stage::reading(language, "note");
        let (code, effect, _) = stage.run(json!({"text": "a"})).await.fate();
        assert_eq!((code.name(), effect), ("execution.failed", EffectState::None));
        assert_eq!(stage.notes(), "");
    }
}

#[test]
fn missing_template_input_is_refused_preflight() {
    let stage = Stage::reading(Language::Node, "add");
    let stage = stage.entry("sdk", "args_template", json!({"a": "${input.gone}"}));
    let stop = stage.driver().preflight(&stage.plan(json!({}))).unwrap_err();
    assert_eq!(stop.message, "`args_template` cannot be filled in: `input.gone` has no value");
}

/// Runs calls concurrently.
pub(crate) async fn together<T, F: Future<Output = T>>(calls: impl Iterator<Item = F>) -> Vec<T> {
    let mut calls: Vec<_> = calls.map(Box::pin).collect();
    let mut ended: Vec<Option<T>> = calls.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (call, end) in calls.iter_mut().zip(&mut ended) {
            if end.is_none()
                && let std::task::Poll::Ready(value) = call.as_mut().poll(context)
            {
                *end = Some(value);
            }
        }
        match ended.iter().all(Option::is_some) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    ended.into_iter().flatten().collect()
}

fn merged(mut value: Value, more: Value) -> Value {
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    value
}
