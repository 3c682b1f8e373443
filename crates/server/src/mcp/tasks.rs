//! Calls that wait for people, as tasks: the ledger keeps them, so that any process can answer.

use haft_model::{Actor, Envelope, InvocationId, Timestamp};
use rmcp::model::{CreateTaskResult, DetailedTask, GetTaskResult, Task, TaskPayload, TaskStatus};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use super::answer;
use super::handler::Wire;

/// How often a client should look.
const LOOK_MS: u64 = 1000;

/// Whether a client knows tasks. Before 2026-07-28 no result could be one, and a client that says so in
/// `initialize` takes it for a broken result all the same.
pub(super) fn are_known(context: &RequestContext<RoleServer>) -> bool {
    super::is_modern(context)
        && context.client_capabilities().is_some_and(|told| told.supports_tasks())
}

/// The answer to a call that waits.
pub(super) fn created(envelope: &Envelope) -> CreateTaskResult {
    let task = Task::new(
        envelope.invocation_id.to_string(),
        TaskStatus::Working,
        envelope.created_at.to_string(),
        envelope.created_at.to_string(),
    );
    let task = task.with_poll_interval_ms(LOOK_MS).with_status_message(envelope.summary.clone());
    CreateTaskResult::new(task)
}

impl Wire {
    /// Where a task stands.
    pub(super) async fn task(&self, id: &str, actor: &Actor) -> Result<GetTaskResult, ErrorData> {
        let id = self.own(id, actor).await?;
        let reader = self.desk.runtime.reader();
        let fault = |stop: haft_model::Stop| ErrorData::internal_error(stop.message, None);
        let envelope = reader.result(&id).await.map_err(fault)?;
        let now = Timestamp::now().to_string();
        let task = Task::new(id.to_string(), TaskStatus::Working, now.clone(), now);
        let task = task.with_poll_interval_ms(LOOK_MS);
        let payload = match envelope {
            None => TaskPayload::Working,
            Some(envelope) => {
                let result = serde_json::to_value(answer::result(&envelope, false));
                let result = result.ok().and_then(|result| result.as_object().cloned());
                TaskPayload::Completed { result: result.unwrap_or_default() }
            }
        };
        Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
    }

    /// Calls a task off.
    pub(super) async fn call_off(&self, id: &str, actor: &Actor) -> Result<(), ErrorData> {
        let id = self.own(id, actor).await?;
        let canceled = self.desk.runtime.cancel(&id, actor).await;
        canceled.map(|_| ()).map_err(|stop| ErrorData::invalid_params(stop.message, None))
    }

    /// The id of a call that this actor made.
    async fn own(&self, id: &str, actor: &Actor) -> Result<InvocationId, ErrorData> {
        let unknown = || ErrorData::invalid_params(format!("there is no task `{id}`"), None);
        let id = InvocationId::from(id);
        let found = self.desk.runtime.reader().run(&id, actor).await;
        found.ok().flatten().map(|run| run.invocation_id).ok_or_else(unknown)
    }
}
