//! Dispatcher: method to handler, by the version of the client; it knows no transport.
#![expect(deprecated, reason = "clients of 2025 still use levels and subscriptions")]

use std::sync::Arc;

use haft_catalog::Viewer;
use haft_driver::Cancel;
use rmcp::ErrorData;
use rmcp::model::{
    CancelTaskParams, ClientCapabilities, CompleteRequestParams, ErrorCode, GetPromptRequestParams,
    GetTaskParams, PaginatedRequestParams, ReadResourceRequestParams, ServerJsonRpcMessage,
    ServerResult, SetLevelRequestParams, SubscribeRequestParams, SubscriptionsListenRequestParams,
    TaskPayload, UnsubscribeRequestParams, UpdateTaskParams,
};
use serde_json::Value;

use super::exchange::Exchange;
use super::message::RequestFrame;
use super::requester::{Lifecycle, Requester};
use super::{flaws, protocol};
use crate::AppState;

/// Answers the requests of every client.
#[derive(Clone)]
pub(super) struct Dispatcher {
    pub(super) desk: Arc<AppState>,
    /// Fires when the transport closes: subscriptions end.
    pub(super) closing: Cancel,
}

/// A method of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    CallTool,
    CancelTask,
    Complete,
    Discover,
    GetPrompt,
    GetTask,
    Listen,
    ListPrompts,
    ListResources,
    ListTemplates,
    ListTools,
    Ping,
    ReadResource,
    SetLevel,
    Subscribe,
    Unsubscribe,
    UpdateTask,
}

/// The versions that have a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Versions {
    All,
    /// Those with sessions, up to 2025-11-25.
    Sessions,
    /// Those with self-contained requests, from 2026-07-28 on.
    SelfContained,
}

/// Every method but `initialize`, which opens what the others are answered in.
const METHODS: [(&str, Method, Versions); 17] = [
    ("tools/call", Method::CallTool, Versions::All),
    ("tools/list", Method::ListTools, Versions::All),
    ("completion/complete", Method::Complete, Versions::All),
    ("logging/setLevel", Method::SetLevel, Versions::Sessions),
    ("ping", Method::Ping, Versions::Sessions),
    ("prompts/get", Method::GetPrompt, Versions::All),
    ("prompts/list", Method::ListPrompts, Versions::All),
    ("resources/list", Method::ListResources, Versions::All),
    ("resources/read", Method::ReadResource, Versions::All),
    ("resources/subscribe", Method::Subscribe, Versions::Sessions),
    ("resources/templates/list", Method::ListTemplates, Versions::All),
    ("resources/unsubscribe", Method::Unsubscribe, Versions::Sessions),
    ("server/discover", Method::Discover, Versions::SelfContained),
    ("subscriptions/listen", Method::Listen, Versions::SelfContained),
    ("tasks/cancel", Method::CancelTask, Versions::All),
    ("tasks/get", Method::GetTask, Versions::All),
    ("tasks/update", Method::UpdateTask, Versions::All),
];

impl Method {
    /// The method of a name, where the client's version has it.
    fn named(name: &str, lifecycle: &Lifecycle) -> Option<Method> {
        let (_, method, versions) = METHODS.iter().find(|(own, ..)| *own == name)?;
        let has_it = match (versions, lifecycle) {
            (Versions::All, _) => true,
            (Versions::Sessions, Lifecycle::Session(_)) => true,
            (Versions::SelfContained, Lifecycle::SelfContained(_)) => true,
            (Versions::Sessions | Versions::SelfContained, _) => false,
        };
        has_it.then_some(*method)
    }
}

impl Dispatcher {
    /// Begins to answer a request.
    pub(super) fn begin(&self, frame: RequestFrame, by: Requester) -> Exchange {
        let (dispatcher, outbox) = (self.clone(), by.outbox.clone());
        Exchange::new(outbox, async move {
            let result = dispatcher.result(frame, &by).await;
            match result.and_then(|result| in_version(result, &by.lifecycle)) {
                Ok(result) => ServerJsonRpcMessage::response(result, by.id),
                Err(error) => {
                    let error = error_in_version(error, &by.lifecycle);
                    ServerJsonRpcMessage::error(error, Some(by.id))
                }
            }
        })
    }

    async fn result(&self, frame: RequestFrame, by: &Requester) -> Result<ServerResult, ErrorData> {
        match Method::named(&frame.method, &by.lifecycle) {
            None => Err(ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                format!("there is no method `{}`", frame.method),
                None,
            )),
            Some(Method::CallTool) => self.call_tool(frame.into_tool_call()?, by).await,
            // The futures of all others are boxed, to keep that of a call small.
            Some(other) => Box::pin(self.other(other, frame, by)).await,
        }
    }

    async fn other(
        &self,
        method: Method,
        frame: RequestFrame,
        by: &Requester,
    ) -> Result<ServerResult, ErrorData> {
        Ok(match method {
            Method::CallTool => self.call_tool(frame.into_tool_call()?, by).await?,
            Method::ListTools => self.list_tools(&frame, by)?,
            Method::Discover => ServerResult::DiscoverResult(protocol::discover()),
            Method::Ping => ServerResult::empty(()),
            Method::Complete => {
                let params = frame.read_params::<CompleteRequestParams>()?;
                ServerResult::CompleteResult(self.complete(params, by).await?)
            }
            Method::GetPrompt => {
                let params = frame.read_params::<GetPromptRequestParams>()?;
                self.get_prompt(params, by).await?
            }
            Method::ListPrompts => ServerResult::ListPromptsResult(self.list_prompts(by).await),
            Method::ListResources => {
                ServerResult::ListResourcesResult(self.list_resources(by).await)
            }
            Method::ListTemplates => {
                ServerResult::ListResourceTemplatesResult(self.list_templates(by).await)
            }
            Method::ReadResource => {
                let params = frame.read_params::<ReadResourceRequestParams>()?;
                self.read_resource(params, by).await?
            }
            Method::Listen => {
                let params = frame.read_params::<SubscriptionsListenRequestParams>()?;
                ServerResult::SubscriptionsListenResult(self.listen(params, by).await)
            }
            Method::SetLevel => {
                let params = frame.read_params::<SetLevelRequestParams>()?;
                session(by)?.set_level(params.level);
                ServerResult::empty(())
            }
            Method::Subscribe => {
                let uri = frame.read_params::<SubscribeRequestParams>()?.uri;
                if !session(by)?.watched.add(&uri) {
                    let words = "this session watches as many resources as it may";
                    return Err(ErrorData::invalid_params(words, None));
                }
                self.subscription("resources/subscribe", &uri, by).await?;
                ServerResult::empty(())
            }
            Method::Unsubscribe => {
                let uri = frame.read_params::<UnsubscribeRequestParams>()?.uri;
                session(by)?.watched.remove(&uri);
                self.subscription("resources/unsubscribe", &uri, by).await?;
                ServerResult::empty(())
            }
            Method::GetTask => {
                needs_tasks(by)?;
                let params = frame.read_params::<GetTaskParams>()?;
                let task = self.desk.read_task(&params.task_id, &by.actor).await?;
                ServerResult::GetTaskResult(task)
            }
            Method::UpdateTask => {
                needs_tasks(by)?;
                flaws::refuse(by.flaw.clone())?;
                let params = frame.read_params::<UpdateTaskParams>()?;
                let answers = params.input_responses;
                self.desk.update_task(&params.task_id, answers, &by.actor).await?;
                ServerResult::task_ack(())
            }
            Method::CancelTask => {
                needs_tasks(by)?;
                let params = frame.read_params::<CancelTaskParams>()?;
                self.desk.cancel_task(&params.task_id, &by.actor).await?;
                ServerResult::task_ack(())
            }
        })
    }

    fn list_tools(&self, frame: &RequestFrame, by: &Requester) -> Result<ServerResult, ErrorData> {
        let cursor = frame.read_params::<PaginatedRequestParams>()?.cursor;
        let scope = by.scope();
        let listing = self.desk.listing(&Viewer { actor: &by.actor, within: scope.as_slice() });
        listing.page(cursor).map(ServerResult::ListToolsResult)
    }
}

/// The session of a client of 2025.
fn session(by: &Requester) -> Result<&super::client_session::ClientSession, ErrorData> {
    match &by.lifecycle {
        Lifecycle::Session(session) => Ok(session),
        Lifecycle::SelfContained(_) => Err(ErrorData::invalid_request("there is no session", None)),
    }
}

/// Refuses a client without the task extension.
fn needs_tasks(by: &Requester) -> Result<(), ErrorData> {
    if by.lifecycle.has_tasks() {
        return Ok(());
    }
    let mut required = ClientCapabilities::default();
    required.extensions = Some(protocol::task_extension());
    Err(ErrorData::missing_required_client_capability(required))
}

/// The result as the client's version has it.
fn in_version(mut result: ServerResult, by: &Lifecycle) -> Result<ServerResult, ErrorData> {
    if !by.is_modern() {
        return for_session(result);
    }
    result.fill_missing_cache_hints();
    Ok(result)
}

/// The result for a client of at most 2025-11-25: its structured content is an object or absent, or
/// the client loses the whole result.
fn for_session(mut result: ServerResult) -> Result<ServerResult, ErrorData> {
    match &mut result {
        // Only a result that requires input is one that the library does not type.
        ServerResult::CustomResult(_) => {
            let words = "a result that requires input needs protocol version 2026-07-28";
            return Err(ErrorData::invalid_request(words, None));
        }
        ServerResult::CallToolResult(called) => {
            called.structured_content = called.structured_content.take().filter(Value::is_object);
        }
        ServerResult::GetTaskResult(got) => {
            if let TaskPayload::Completed { result } = &mut got.task.payload {
                result.retain(|name, value| name != "structuredContent" || value.is_object());
            }
        }
        _ => {}
    }
    result.strip_result_type_for_legacy_peer();
    Ok(result)
}

/// The error as the client's version has it.
fn error_in_version(mut error: ErrorData, by: &Lifecycle) -> ErrorData {
    if by.is_modern() && error.code == ErrorCode::RESOURCE_NOT_FOUND {
        error.code = ErrorCode::INVALID_PARAMS;
    }
    error
}

#[cfg(test)]
mod tests {
    use rmcp::model::CallToolResult;
    use serde_json::json;

    use super::*;

    #[test]
    fn session_gets_structured_content_that_is_an_object() {
        let mut dice = haft_testkit::SeededRandom::new(18);
        for _ in 0..200 {
            let value = match dice.below(6) {
                0 => Value::Null,
                1 => json!(dice.below(100)),
                2 => json!([dice.below(100)]),
                3 => json!("text"),
                4 => json!(true),
                _ => json!({ "n": dice.below(100) }),
            };
            let mut called = CallToolResult::success(Vec::new());
            called.structured_content = Some(value.clone());
            let left = for_session(ServerResult::CallToolResult(called)).unwrap();
            let left = serde_json::to_value(left).unwrap();
            let object = Some(&value).filter(|value| value.is_object());
            assert_eq!(left.get("structuredContent"), object);
            assert_eq!(left.get("resultType"), None);
        }
    }

    #[test]
    fn every_method_is_listed_once() {
        let mut names: Vec<&str> = METHODS.iter().map(|(name, ..)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METHODS.len());
    }
}
