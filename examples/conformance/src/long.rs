//! Long-running tools of the conformance fixture.

use std::time::Duration;

use haft_driver::{Attempt, Failure, Inquiry, Output};
use haft_model::{Code, EffectState, Stop};
use serde_json::{Value, json};

use crate::fixture::{ask, failed, form, named, text};

/// The default duration of a job.
const JOB: Duration = Duration::from_secs(1);

pub(crate) async fn carry_out(name: &str, attempt: &Attempt<'_>) -> Result<Output, Failure> {
    match name {
        "slow_compute" => {
            let seconds = attempt.input.get("seconds").and_then(Value::as_f64).unwrap_or(0.2);
            let time = Duration::try_from_secs_f64(seconds);
            tokio::time::sleep(time.map_err(|_| failed("that is no time"))?).await;
            Ok(text("Computed."))
        }
        "failing_job" => {
            tokio::time::sleep(JOB).await;
            Err(failed("This job fails on purpose"))
        }
        "confirm_delete" => {
            let confirm = form("Delete it?", json!({ "confirm": { "type": "boolean" } }));
            answered(attempt, vec![("confirm", confirm)]).await
        }
        "multi_input" => {
            answered(attempt, vec![("first", named("name")), ("second", named("name"))]).await
        }
        "test_tool_with_task" => {
            // It asks before it is a task, and those above when they are.
            let told = answered(attempt, vec![("user_name", named("name"))]).await?;
            attempt.link.backgrounded().await;
            tokio::time::sleep(JOB).await;
            Ok(told)
        }
        _ => {
            let words = "This job ends in an error of the protocol";
            let cause = json!({ "phase": "run", "json_rpc": { "code": -32603, "message": words } });
            let stop = Stop::new(Code::ExecutionFailed, words).because(cause);
            Err(Failure::new(stop, EffectState::None))
        }
    }
}

async fn answered(
    attempt: &Attempt<'_>,
    inquiries: Vec<(&str, Inquiry)>,
) -> Result<Output, Failure> {
    let answers = ask(attempt, inquiries).await?;
    Ok(text(&format!("The client answered: {}", json!(answers))))
}
