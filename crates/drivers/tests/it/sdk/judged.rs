//! Tests of policy rules on an interpreter, and on the files that its calls name.

use haft_driver::{Driver as _, PathTarget, TargetKinds};
use haft_model::Code;
use serde_json::{Value, json};

use crate::guards::guard;
use crate::sdk::stage::{BOTH, Language, Stage};

/// The outcome of a call under one rule.
async fn judged(stage: &mut Stage, input: Value, rule: Value) -> Result<(), Code> {
    let (driver, plan) = (stage.driver(), stage.plan(input.clone()));
    let told = driver.targets(&plan, TargetKinds::ALL);
    stage.guard = guard(&plan, &told, rule);
    let ended = stage.call(&driver, input).await;
    ended.result.map(drop).map_err(|failure| failure.stop.code)
}

#[tokio::test]
async fn denied_command_of_a_worker_is_refused() {
    for language in BOTH {
        let pattern = match language {
            Language::Node => "node*",
            Language::Python => "python*",
        };
        let mut stage = Stage::reading(language, "who");
        let rule = json!({ "verdict": "deny", "command": pattern });
        let denied = judged(&mut stage, json!({}), rule).await;
        assert_eq!(denied, Err(Code::PermissionDenied), "{language:?}");
        let other = json!({ "verdict": "deny", "command": "other *" });
        assert_eq!(judged(&mut stage, json!({}), other).await, Ok(()), "{language:?}");
    }
}

#[tokio::test]
async fn path_closed_by_rule_is_hidden_from_worker() {
    for language in BOTH {
        let mut stage = Stage::writing(language, "note");
        let rule = json!({ "verdict": "deny", "path": "notes/log" });
        let _ = judged(&mut stage, json!({ "text": "x" }), rule).await;
        assert_eq!(stage.notes(), "", "{language:?}");
        let input = json!({ "path": "notes/../lib" });
        let told = stage.driver().targets(&stage.plan(input), TargetKinds::ALL);
        assert_eq!(told.paths, [PathTarget::Resolved("lib".into())]);
    }
}
