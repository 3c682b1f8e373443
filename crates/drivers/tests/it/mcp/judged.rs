//! Tests of policy rules on an MCP server, and on the files that its calls name.

use std::os::unix::fs::symlink;

use haft_driver::{Driver as _, PathTarget, TargetKinds};
use haft_model::{Code, Tri};
use serde_json::{Value, json};

use crate::guards::guard;
use crate::mcp::elsewhere::Elsewhere;
use crate::mcp::remote;
use crate::mcp::stage::Stage;

/// The outcome of a call under one rule.
fn judged(stage: &mut Stage, input: Value, rule: Value) -> Result<(), Code> {
    let plan = stage.plan_of(input.clone());
    let told = stage.fresh().targets(&plan, TargetKinds::ALL);
    stage.guard = guard(&plan, &told, rule);
    stage.run(input).result.map(drop).map_err(|failure| failure.stop.code)
}

#[test]
fn denied_address_of_a_server_is_refused() {
    let server = Elsewhere::new(true);
    let mut stage = remote::stage(&server, Tri::Yes);
    let url = format!("http://{}/*", server.host());
    let rule = json!({ "verdict": "deny", "url": url });
    assert_eq!(judged(&mut stage, json!({}), rule), Err(Code::PermissionDenied));
    assert!(server.methods().is_empty(), "it was never asked");
    let other = json!({ "verdict": "deny", "url": "https://other.example/*" });
    assert_eq!(judged(&mut stage, json!({}), other), Ok(()));
}

#[test]
fn denied_command_of_a_server_is_refused() {
    let input = || json!({ "text": "x" });
    for pattern in ["haft-test-mcp *", "*/haft-test-mcp *", "launched *"] {
        let mut stage = Stage::reading("echo", &["launched"]);
        let rule = json!({ "verdict": "deny", "command": pattern });
        assert_eq!(judged(&mut stage, input(), rule), Err(Code::PermissionDenied), "{pattern}");
    }
    let mut stage = Stage::reading("echo", &[]);
    let rule = json!({ "verdict": "deny", "command": "other *" });
    assert_eq!(judged(&mut stage, input(), rule), Ok(()));
}

#[test]
fn path_through_a_link_is_told_resolved() {
    let mut stage = Stage::reading("echo", &[]);
    std::fs::create_dir(stage.folder.path().join("keys")).unwrap();
    symlink("keys", stage.folder.path().join("link")).unwrap();
    let input = json!({ "text": "x", "path": "link/a" });
    let told = stage.fresh().targets(&stage.plan_of(input.clone()), TargetKinds::ALL);
    assert_eq!(told.paths, [PathTarget::Resolved("keys/a".into())]);
    let rule = json!({ "verdict": "deny", "path": "keys/*" });
    assert_eq!(judged(&mut stage, input, rule), Err(Code::PermissionDenied));
}

#[test]
fn rule_that_closes_a_path_starts_another_server() {
    let mut stage = Stage::writing("add", &[]);
    stage.run(json!({ "line": 1 })).output();
    assert_eq!(stage.effects(), 1);
    // The pooled process could still write it.
    let rule = json!({ "verdict": "deny", "path": "effects.txt" });
    let _ = judged(&mut stage, json!({ "line": 2 }), rule);
    assert_eq!(stage.effects(), 1);
    stage.guard = Default::default();
    stage.run(json!({ "line": 3 })).output();
    assert_eq!(stage.effects(), 2);
}
