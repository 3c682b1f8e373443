//! Tasks of a server: a call that is answered with one is followed to its end.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use haft_driver::{Failure, Output};
use haft_model::{Code, EffectState, Progress};
use rmcp::model::{
    CancelTaskParams, CancelTaskRequest, ClientRequest, DetailedTask, ErrorData, GetTaskParams,
    GetTaskRequest, InputRequests, InputRequiredResult, InputResponses, JsonObject,
    RequestMetaObject, ServerResult, Task, TaskPayload, UpdateTaskParams, UpdateTaskRequest,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::{Value, json};

use super::answer;
use super::backend::answers;
use super::call::{FAREWELL, McpCall};
use super::connection::Connection;
use super::tools::one_line;
use crate::failure::running;

/// How often a server is asked about its task where it does not say.
const LOOK: Duration = Duration::from_secs(1);

/// How often at most and at least, whatever it says.
const SOONEST: Duration = Duration::from_millis(50);
const LATEST: Duration = Duration::from_secs(60);

/// How often in a row it may fail to answer.
const MOST_MISSED: usize = 5;

/// A task that is followed. Whoever stops following it calls it off.
struct FollowedTask {
    id: String,
    connection: Arc<Connection>,
    /// What the server said of it last.
    said: Option<String>,
    over: bool,
}

impl McpCall<'_> {
    /// Follows a task to its end.
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
                    // An answer may take its time to be seen.
                    input_requests.retain(|name, _| told.insert(name.clone()));
                    if !input_requests.is_empty() {
                        self.tell(task, input_requests).await?;
                    }
                }
                TaskPayload::Completed { result } => {
                    return self.taken(Ok(read(result)), &task.connection);
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

    /// Where a task stands. A server that does not answer is asked again.
    async fn seen(&self, task: &mut FollowedTask) -> Result<DetailedTask, Failure> {
        let mut missed = 0;
        loop {
            match task.look().await {
                Ok(seen) => {
                    let said = seen.task.status_message.as_deref().map(one_line);
                    if said.is_some() && said != task.said {
                        task.said.clone_from(&said);
                        let progress = Progress { message: said, ..Progress::default() };
                        self.attempt.link.offer_progress(progress);
                    }
                    return Ok(seen);
                }
                // What a server forgot may have been done all the same.
                Err(ServiceError::McpError(error)) => return Err(self.unknown(&error)),
                Err(fault) if missed == MOST_MISSED || task.connection.is_broken() => {
                    return Err(self.lost(&fault, &task.connection));
                }
                Err(_) => missed += 1,
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Asks the caller what a task wants to know, and tells the server.
    async fn tell(&self, task: &FollowedTask, asked: InputRequests) -> Result<(), Failure> {
        let begun = |failure: Failure| {
            let effect = self.effect(EffectState::Unknown);
            Failure { effect, ..failure }
        };
        let asks = InputRequiredResult::new(Some(asked), None);
        if !self.can_be_asked() {
            let stop = answer::asks(&asks, &self.entry);
            return Err(begun(Failure::new(stop, EffectState::Unknown)));
        }
        let answers = answers(self.attempt, &asks).await.map_err(begun)?;
        self.renew().await.map_err(begun)?;
        match task.update(answers).await {
            Ok(()) => Ok(()),
            Err(ServiceError::McpError(error)) => Err(self.unknown(&error)),
            Err(fault) => Err(self.lost(&fault, &task.connection)),
        }
    }

    /// An error of a task that was begun: nobody knows how far it came.
    fn unknown(&self, error: &ErrorData) -> Failure {
        Failure { effect: self.effect(EffectState::Unknown), ..self.refused(error) }
    }
}

impl FollowedTask {
    async fn look(&self) -> Result<DetailedTask, ServiceError> {
        let request = GetTaskRequest::new(GetTaskParams::new(self.id.clone()));
        match requested(&self.connection, ClientRequest::GetTaskRequest(request)).await? {
            ServerResult::GetTaskResult(seen) => Ok(seen.task),
            _ => Err(ServiceError::UnexpectedResponse),
        }
    }

    async fn update(&self, answers: InputResponses) -> Result<(), ServiceError> {
        let params = UpdateTaskParams::new(self.id.clone(), answers);
        let request = ClientRequest::UpdateTaskRequest(UpdateTaskRequest::new(params));
        requested(&self.connection, request).await.map(drop)
    }
}

/// Asks for something of a task, as somebody who knows tasks.
async fn requested(
    connection: &Connection,
    request: ClientRequest,
) -> Result<ServerResult, ServiceError> {
    let mut meta = RequestMetaObject::default();
    if let Some(able) = connection.with_tasks() {
        meta.set_client_capabilities(able.clone());
    }
    let options = PeerRequestOptions::no_options().with_meta(meta);
    connection.peer().send_request_with_option(request, options).await?.await_response().await
}

impl Drop for FollowedTask {
    fn drop(&mut self) {
        let (false, Ok(here)) = (self.over, tokio::runtime::Handle::try_current()) else { return };
        let params = CancelTaskParams::new(std::mem::take(&mut self.id));
        let request = ClientRequest::CancelTaskRequest(CancelTaskRequest::new(params));
        let connection = self.connection.clone();
        here.spawn(async move {
            let _ = tokio::time::timeout(FAREWELL, requested(&connection, request)).await;
        });
    }
}

/// The error that a task came to.
fn fault(error: JsonObject) -> ErrorData {
    serde_json::from_value(Value::Object(error)).unwrap_or_else(|_| {
        ErrorData::internal_error("the server does not say what went wrong", None)
    })
}

/// The result of a call, or something that is none.
fn read(result: JsonObject) -> ServerResult {
    let read = serde_json::from_value(Value::Object(result));
    read.map_or_else(|_| ServerResult::empty(()), ServerResult::CallToolResult)
}
