//! Driver conformance of the sdk driver, with both runtimes.

use haft_driver::conformance::{ConformanceCase, check, check_clearance};
use serde_json::{Value, json};

use crate::plans::permit;
use crate::sdk::stage::{BOTH, Language, Stage};

async fn hold(stage: Stage, input: Value) {
    let plan = stage.plan(input);
    let permit = permit(&plan);
    let effects = || stage.notes().lines().count();
    let name = stage.manifest["implements"][0]["metadata"]["sdk"]["function_ref"].to_string();
    let case = ConformanceCase {
        name: &name,
        plan: &plan,
        permit: &permit,
        most_bytes: 1000,
        effects: Some(&effects),
    };
    let breaches = check(&stage.driver(), &[case]).await;
    assert_eq!(breaches, [], "{}", stage.manifest["import_style"]);
}

#[tokio::test]
async fn reads_keep_the_promises_of_a_driver() {
    for language in BOTH {
        hold(Stage::reading(language, "add"), json!({"a": 1, "b": 2})).await;
        hold(Stage::reading(language, "count"), json!({"n": 5, "ms": 10})).await;
        hold(Stage::reading(language, "fail"), json!({"how": "refused"})).await;
    }
}

#[tokio::test]
async fn writes_keep_the_promises_of_a_driver() {
    for language in BOTH {
        hold(Stage::writing(language, "note"), json!({"text": "a", "ms": 30})).await;
        hold(Stage::writing(language, "fail"), json!({"how": "refused"})).await;
        hold(Stage::writing(language, "flood"), json!({"bytes": 6 << 20})).await;
        let stage = Stage::writing(language, "exit").entry("sdk", "args_template", json!({}));
        hold(stage, json!({})).await;
    }
}

async fn hold_while_it_hangs(language: Language) {
    for function in ["hang", "dangle"] {
        let stage = Stage::writing(language, function);
        hold(stage.entry("sdk", "args_template", json!({})), json!({})).await;
    }
}

#[tokio::test]
async fn hanging_node_function_meets_driver_conformance() {
    hold_while_it_hangs(Language::Node).await;
}

#[tokio::test]
async fn hanging_python_function_meets_driver_conformance() {
    hold_while_it_hangs(Language::Python).await;
}

#[tokio::test]
async fn expired_clearance_calls_no_function() {
    for language in BOTH {
        let stage = Stage::writing(language, "note");
        let plan = stage.plan(json!({"text": "a", "ms": 0}));
        let permit = permit(&plan);
        let effects = || stage.notes().lines().count();
        let effects: Option<&(dyn Fn() -> usize + Sync)> = Some(&effects);
        let case = ConformanceCase {
            name: "note",
            plan: &plan,
            permit: &permit,
            most_bytes: 1000,
            effects,
        };
        assert_eq!(check_clearance(&stage.driver(), &[case]).await, []);
    }
}
