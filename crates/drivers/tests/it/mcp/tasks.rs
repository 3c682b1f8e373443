//! Tests of MCP tasks: servers that answer a call with a task.

use std::time::Instant;

use haft_driver::Cancel;
use haft_model::{Code, EffectState, Progress, Tri};
use serde_json::json;

use crate::mcp::elsewhere::{Elsewhere, TASKS};
use crate::mcp::remote::stage;

#[test]
fn server_task_is_polled_to_completion() {
    let server = Elsewhere::new(true);
    let mut stage = stage(&server, Tri::No);
    stage.patient = true;
    let ended = stage.run(json!({"how": "task done"}));
    let message = Some("half of it is done".to_owned());
    assert_eq!(ended.progress, [Progress { message, ..Progress::default() }]);
    let output = ended.output();
    assert_eq!((output.structured, output.effect), (Some(json!("done")), EffectState::Committed));
    assert_eq!(output.native[0]["task_id"], "task done");
    let expected = ["server/discover", "tools/list", "tools/call", "tasks/get", "tasks/get"];
    assert_eq!(server.methods(), expected);
    let look = server.heard().pop().unwrap();
    assert_eq!(look.header("mcp-name"), Some("task done"));
    let able = &look.body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(able["extensions"], json!({TASKS: {}}));
}

#[test]
fn task_without_result_leaves_effect_unknown() {
    for (how, code) in [
        ("task failed", Code::InputValue),
        ("task called off", Code::ExecutionFailed),
        ("task forgotten", Code::InputValue),
    ] {
        let server = Elsewhere::new(true);
        let mut stage = stage(&server, Tri::No);
        stage.patient = true;
        let fate = stage.run(json!({"how": how})).fate();
        assert_eq!(fate, (code, EffectState::Unknown, 1), "{how}");
    }
}

#[test]
fn tasks_are_not_advertised_when_caller_cannot_wait() {
    let server = Elsewhere::new(true);
    let output = stage(&server, Tri::No).run(json!({"how": "task done"})).output();
    assert_eq!(output.structured, Some(json!("done")));
    assert_eq!(server.methods(), ["server/discover", "tools/list", "tools/call"]);
}

#[test]
fn cancelling_the_call_cancels_its_server_task() {
    let server = Elsewhere::new(true);
    let mut stage = stage(&server, Tri::Yes);
    stage.patient = true;
    let (cancel, driver) = (Cancel::new(), stage.driver());
    let plan = stage.plan_of(json!({"how": "task without end"}));
    let heard = |method: &str| server.methods().iter().any(|heard| heard == method);
    let ended = stage.runtime.block_on(async {
        let mut submitted = || Ok(());
        let call = stage.call(&driver, plan, &cancel, &mut submitted);
        let off = async {
            while !heard("tasks/get") {
                tokio::task::yield_now().await;
            }
            cancel.cancel();
        };
        tokio::join!(call, off).0
    });
    assert_eq!(ended.failure().stop.code, Code::CanceledCaller);
    let until = Instant::now() + stage.patience;
    while !heard("tasks/cancel") {
        assert!(Instant::now() < until, "the server was not told");
        std::thread::yield_now();
    }
}
