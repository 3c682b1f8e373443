//! MCP tasks: polls the task that answers a call until it ends, and cancels it when the call is
//! dropped.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use haft_driver::{Failure, Output};
use haft_model::{Code, EffectState, Progress};
use rmcp::model::{
    CancelTaskParams, DetailedTask, ErrorData, GetTaskParams, GetTaskResult, InputRequests,
    InputResponses, JsonObject, RequestMetaObject, Task, TaskPayload, UpdateTaskParams,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::answer::{self, ToolResponse, ToolResult};
use super::backend::{InputRequired, answers};
use super::call::McpCall;
use super::client::{ClientRequest, FAREWELL, decode};
use super::connection::Connection;
use super::fault::RequestFault;
use super::in_flight::CallContext;
use super::message::Response;
use super::request_headers::RepeatedParts;
use super::tools::one_line;
use crate::failure::running;

/// Poll interval of a task where the server states none.
const LOOK: Duration = Duration::from_secs(1);

/// Bounds of the poll interval that a server states.
const SOONEST: Duration = Duration::from_millis(50);
const LATEST: Duration = Duration::from_secs(60);

/// Consecutive polls that may fail before the task counts as lost.
const MOST_MISSED: usize = 5;

/// A task under poll; dropping it before its end sends `tasks/cancel`.
struct FollowedTask {
    id: String,
    connection: Arc<Connection>,
    /// The last status message, so that a repeat is no progress.
    said: Option<String>,
    over: bool,
}

impl McpCall<'_> {
    /// Polls a task to its end.
    pub(super) async fn follow(
        &self,
        connection: &Arc<Connection>,
        mut native: Value,
        created: Task,
    ) -> Result<Output, Failure> {
        self.attempt.link.backgrounded().await;
        let (id, connection) = (created.task_id, connection.clone());
        if let Some(known_by) = native.as_object_mut() {
            known_by.insert("task_id".to_owned(), json!(id));
        }
        let mut task = FollowedTask { id, connection, said: None, over: false };
        match self.end_of(&mut task).await {
            Ok(output) => Ok(Output { native: vec![native], ..output }),
            Err(failure) => Err(Failure { native: vec![native], ..failure }),
        }
    }

    async fn end_of(&self, task: &mut FollowedTask) -> Result<Output, Failure> {
        let mut told = BTreeSet::new();
        loop {
            let seen = self.seen(task).await?;
            let pause = seen.task.poll_interval_ms.map_or(LOOK, Duration::from_millis);
            task.over = seen.status().is_terminal();
            match seen.payload {
                TaskPayload::Working => {}
                TaskPayload::InputRequired { mut input_requests } => {
                    // The server may report a request again until it has processed the answer.
                    input_requests.retain(|name, _| told.insert(name.clone()));
                    if !input_requests.is_empty() {
                        self.tell(task, input_requests).await?;
                    }
                }
                TaskPayload::Completed { result } => {
                    return self.taken(read(result), &task.connection);
                }
                TaskPayload::Failed { error } => return Err(self.unknown(&fault(error))),
                TaskPayload::Cancelled | _ => {
                    let words = format!("`{}` was called off by its server", self.entry.tool);
                    let stop = running(Code::ExecutionFailed, words);
                    return Err(Failure::new(stop, self.effect(EffectState::Unknown)));
                }
            }
            tokio::time::sleep(pause.clamp(SOONEST, LATEST)).await;
        }
    }

    /// Polls the task once, and retries where the server does not respond.
    async fn seen(&self, task: &mut FollowedTask) -> Result<DetailedTask, Failure> {
        let mut missed = 0;
        loop {
            match task.look(self.reading()).await {
                Ok(seen) => {
                    let said = seen.task.status_message.as_deref().map(one_line);
                    if said.is_some() && said != task.said {
                        task.said.clone_from(&said);
                        let progress = Progress { message: said, ..Progress::default() };
                        self.attempt.link.offer_progress(progress);
                    }
                    return Ok(seen);
                }
                // The server may have completed a task that it no longer knows.
                Err(RequestFault::Refused(error)) => return Err(self.unknown(&error)),
                Err(fault) if missed == MOST_MISSED || task.connection.is_broken() => {
                    return Err(self.failed(&fault, &task.connection));
                }
                Err(_) => missed += 1,
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Asks the caller the inputs that a task requires, and sends them to the server.
    async fn tell(&self, task: &FollowedTask, asked: InputRequests) -> Result<(), Failure> {
        let begun = |failure: Failure| {
            let effect = self.effect(EffectState::Unknown);
            Failure { effect, ..failure }
        };
        let input_requests = match serde_json::to_value(asked) {
            Ok(Value::Object(requests)) => requests,
            Ok(_) | Err(_) => JsonObject::new(),
        };
        let asks = InputRequired { input_requests, request_state: None };
        if !self.can_be_asked() {
            let stop = answer::asks(&asks, &self.entry);
            return Err(begun(Failure::new(stop, EffectState::Unknown)));
        }
        let answers = answers(self.attempt, &asks).await.map_err(begun)?;
        self.renew().await.map_err(begun)?;
        match task.update(answers, self.reading()).await {
            Ok(()) => Ok(()),
            Err(RequestFault::Refused(error)) => Err(self.unknown(&error)),
            Err(fault) => Err(self.failed(&fault, &task.connection)),
        }
    }

    /// The call of a request about its task, which has no effect of its own.
    fn reading(&self) -> CallContext {
        CallContext::read(self.attempt.link.clone())
    }

    /// A task error: the task was under way, so the effect is unknown.
    fn unknown(&self, error: &ErrorData) -> Failure {
        Failure { effect: self.effect(EffectState::Unknown), ..self.refused(error) }
    }
}

impl FollowedTask {
    async fn look(&self, call: CallContext) -> Result<DetailedTask, RequestFault> {
        let params = GetTaskParams::new(self.id.clone());
        let seen = requested(&self.connection, "tasks/get", &self.id, &params, Some(call)).await?;
        decode::<GetTaskResult>(&seen).map(|seen| seen.task)
    }

    async fn update(&self, answers: InputResponses, call: CallContext) -> Result<(), RequestFault> {
        let params = UpdateTaskParams::new(self.id.clone(), answers);
        requested(&self.connection, "tasks/update", &self.id, &params, Some(call)).await.map(drop)
    }
}

/// Sends a task request with the task capability declared.
async fn requested(
    connection: &Connection,
    method: &str,
    task: &str,
    params: &impl Serialize,
    call: Option<CallContext>,
) -> Response {
    let mut meta = RequestMetaObject::default();
    if let Some(able) = connection.with_tasks() {
        meta.set_client_capabilities(able.clone());
    }
    let (client, meta, repeated) = (connection.client(), meta.0.0, RepeatedParts::name(task));
    let id = client.next_id();
    client.request(ClientRequest { id, method, params, meta, repeated, call }).await
}

impl Drop for FollowedTask {
    fn drop(&mut self) {
        let (false, Ok(here)) = (self.over, tokio::runtime::Handle::try_current()) else { return };
        let (id, connection) = (std::mem::take(&mut self.id), self.connection.clone());
        here.spawn(async move {
            let params = CancelTaskParams::new(id.clone());
            let cancelling = requested(&connection, "tasks/cancel", &id, &params, None);
            let _ = tokio::time::timeout(FAREWELL, cancelling).await;
        });
    }
}

/// The JSON-RPC error of a failed task.
fn fault(error: JsonObject) -> ErrorData {
    serde_json::from_value(Value::Object(error)).unwrap_or_else(|_| {
        ErrorData::internal_error("the server does not say what went wrong", None)
    })
}

/// The tool result of a completed task.
fn read(result: JsonObject) -> Result<ToolResponse, RequestFault> {
    let text = Value::Object(result).to_string();
    let read = ToolResult::decode(text.as_bytes()).map(ToolResponse::Complete);
    read.ok_or(RequestFault::Undecodable)
}
