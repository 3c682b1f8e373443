//! MCP request handler: answers the requests of one client.
#![expect(deprecated, reason = "clients of 2025 still use levels and subscriptions")]

use std::borrow::Cow;
use std::sync::Arc;

use axum::http::request::Parts;
use haft_catalog::Viewer;
use haft_driver::BackendNews;
use haft_model::{Actor, JsonFlaw};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult,
    Implementation, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::calling::{CallStart, CallingClient, RunningCall};
use super::change_feed::WatchedResources;
use super::conversation::ConversationEnd;
use super::flaws::Flaws;
use super::listing::{FRESH_MS, LastSeenList};
use super::remarks::Level;
use super::request_meta::{Heading, session_id, transport_session};
use super::upstream::{UpstreamInputs, UpstreamReply, unique};
use super::{asking, flaws, resources, tasks};
use crate::AppState;

/// Supported protocol versions, oldest first.
const SPOKEN: &[ProtocolVersion] =
    &[ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

/// Answers the requests of one client.
#[derive(Clone)]
pub(crate) struct McpHandler {
    pub(super) desk: Arc<AppState>,
    /// The client's actor, where requests do not carry one (stdio).
    actor: Option<Arc<Actor>>,
    pub(super) level: Level,
    pub(super) watched: WatchedResources,
    /// JSON flaws of stdio requests.
    flaws: Flaws,
}

impl McpHandler {
    pub(super) fn new(desk: Arc<AppState>) -> McpHandler {
        let (level, watched) = (Level::default(), WatchedResources::default());
        McpHandler { desk, actor: None, level, watched, flaws: Flaws::default() }
    }

    pub(super) fn of(desk: Arc<AppState>, actor: Arc<Actor>, flaws: Flaws) -> McpHandler {
        McpHandler { actor: Some(actor), flaws, ..McpHandler::new(desk) }
    }

    /// Forwards a resource subscription to the backend that has it.
    async fn subscription(
        &self,
        method: &str,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let told =
            self.first::<Value>(method, json!({ "uri": uri }), UpstreamInputs::default(), context);
        told.await.map(|_| ())
    }

    /// The actor of a request.
    pub(super) fn who(&self, context: &RequestContext<RoleServer>) -> Arc<Actor> {
        let parts = context.extensions.get::<Parts>();
        self.actor(parts.and_then(|parts| parts.extensions.get::<Arc<Actor>>()))
    }

    /// The client of a request, and its capabilities.
    fn client<'r>(&self, context: &'r RequestContext<RoleServer>) -> CallingClient<'r> {
        CallingClient {
            heading: Heading::of(context),
            actor: self.who(context),
            abilities: asking::abilities(
                context.client_capabilities(),
                self.wants_remarks(context),
            ),
            background: tasks::background_of(context),
            flaw: self.flaw(context),
        }
    }

    /// The JSON flaw of a request, found while its bytes were at hand.
    pub(super) fn flaw(&self, context: &RequestContext<RoleServer>) -> Option<JsonFlaw> {
        let parts = context.extensions.get::<Parts>();
        let seen = parts.and_then(|parts| parts.extensions.get::<JsonFlaw>());
        seen.cloned().or_else(|| self.flaws.take(&context.id))
    }

    /// The actor of a request, or of the connection.
    fn actor(&self, shown: Option<&Arc<Actor>>) -> Arc<Actor> {
        let known = shown.or(self.actor.as_ref()).cloned();
        known.unwrap_or_else(|| Arc::new(self.desk.world().people.stranger()))
    }
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_completions()
            .enable_logging()
            .enable_tasks()
            .build();
        let us = Implementation::new("haft", env!("CARGO_PKG_VERSION")).with_title("Haft");
        ServerConfig::new(capabilities).with_server_info(us)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(SPOKEN)
    }

    /// The handshake versions have no extensions, so none is offered there.
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut agreed = self.negotiate_initialize(&request)?;
        agreed.capabilities.extensions = None;
        Ok(agreed)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let (actor, session) = (self.who(&context), Heading::of(&context).session());
        let listing = self.desk.listing(&Viewer { actor: &actor, within: session.as_slice() });
        listing.page(request.and_then(|request| request.cursor))
    }

    /// For the check of headers that repeat arguments, which runs before the actor is known.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let stranger = self.desk.world().people.stranger();
        self.desk.listing(&Viewer { actor: &stranger, within: &[] }).find(name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // A call continues after its client lost the stream, and keeps its session.
        let _presence = self.presence(&context);
        let client = self.client(&context);
        let session = client.heading.session();
        let viewer = Viewer { actor: &client.actor, within: session.as_slice() };
        let listing = self.desk.listing_with(&viewer, &request.name);
        match self.desk.begin_call(request, client, &listing).await? {
            CallStart::Answered(answer) => Ok(*answer),
            CallStart::Called(RunningCall { conversation, closing }) => {
                match self.converse(conversation, closing.bound.as_ref(), &context).await? {
                    ConversationEnd::Asks(asks) => Ok(CallToolResponse::InputRequired(*asks)),
                    ConversationEnd::Done(envelope) => closing.answer(&self.desk, &envelope).await,
                    ConversationEnd::Left(left) => {
                        let (envelope, conversation) = *left;
                        closing.left(&self.desk, &envelope, conversation).await
                    }
                }
            }
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let params = json!({
            "ref": request.r#ref, "argument": request.argument, "context": request.context,
        });
        let told = self
            .first("completion/complete", lean(params), UpstreamInputs::default(), &context)
            .await?;
        Ok(match told {
            Some(UpstreamReply::Complete(result)) => result,
            Some(UpstreamReply::Asks(_)) | None => CompleteResult::default(),
        })
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let found = self.gather("resources/list", "resources", &context).await;
        let found = found.into_iter().map(|(_, item)| item).collect();
        let mut result = ListResourcesResult::with_all_items(read(found));
        (result.ttl_ms, result.cache_scope) = (Some(FRESH_MS), Some(CacheScope::Private));
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let found = self.gather("resources/templates/list", "resourceTemplates", &context).await;
        let found = found.into_iter().map(|(_, item)| item).collect();
        let mut result = ListResourceTemplatesResult::with_all_items(read(found));
        (result.ttl_ms, result.cache_scope) = (Some(FRESH_MS), Some(CacheScope::Private));
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri.starts_with(resources::OURS) {
            return self.read(&request.uri, &self.who(&context)).await;
        }
        let missing = || {
            let words = format!("there is no resource `{}`", request.uri);
            ErrorData::resource_not_found(words, Some(json!({ "uri": request.uri })))
        };
        let params = json!({ "uri": request.uri });
        let brought = UpstreamInputs {
            answers: request.input_responses,
            state: request.request_state.clone(),
        };
        match self.first("resources/read", params, brought, &context).await? {
            Some(UpstreamReply::Complete(result)) => Ok(ReadResourceResponse::Complete(result)),
            Some(UpstreamReply::Asks(asks)) => Ok(asks.into()),
            None => Err(missing()),
        }
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let found = self.gather("prompts/list", "prompts", &context).await;
        let mut result = ListPromptsResult::with_all_items(read(unique(found, "name")));
        (result.ttl_ms, result.cache_scope) = (Some(FRESH_MS), Some(CacheScope::Private));
        Ok(result)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let params = lean(json!({ "name": request.name, "arguments": request.arguments }));
        let brought =
            UpstreamInputs { answers: request.input_responses, state: request.request_state };
        match self.first("prompts/get", params, brought, &context).await? {
            Some(UpstreamReply::Complete(result)) => Ok(GetPromptResponse::Complete(result)),
            Some(UpstreamReply::Asks(asks)) => Ok(asks.into()),
            None => {
                let words = format!("there is no prompt `{}`", request.name);
                Err(ErrorData::invalid_params(words, None))
            }
        }
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.level.set(request.level);
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !self.watched.add(&request.uri) {
            let words = "this session watches as many resources as it may";
            return Err(ErrorData::invalid_params(words, None));
        }
        self.subscription("resources/subscribe", &request.uri, &context).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.watched.remove(&request.uri);
        self.subscription("resources/unsubscribe", &request.uri, &context).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.desk.read_task(&request.task_id, &self.who(&context)).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        flaws::refuse(self.flaw(&context))?;
        let actor = self.who(&context);
        self.desk.update_task(&request.task_id, request.input_responses, &actor).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.desk.cancel_task(&request.task_id, &self.who(&context)).await
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let parts = context.extensions.get::<Parts>();
        let headers = parts.map(|parts| &parts.headers);
        let shown = parts.and_then(|parts| parts.extensions.get::<Arc<Actor>>());
        let within = headers.and_then(transport_session);
        let seen = LastSeenList::new(&self.desk, self.actor(shown), within);
        self.tell_news(headers.and_then(session_id), seen, context.peer);
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let request = context.request_context();
        let within = Heading::of(request).session();
        let mut news = self.news(LastSeenList::new(&self.desk, self.who(request), within));
        loop {
            let changed = tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = news.next() => changed,
            };
            let sink = context.sink();
            // The library filters notifications that the client did not subscribe to.
            let _ = match changed {
                None => return Ok(()),
                Some(BackendNews::Tools) => sink.notify_tool_list_changed().await,
                Some(BackendNews::Prompts) => sink.notify_prompt_list_changed().await,
                Some(BackendNews::Resources) => sink.notify_resource_list_changed().await,
                Some(BackendNews::Resource(uri)) => sink.notify_resource_updated(uri).await,
            };
        }
    }
}

/// The valid items of a backend's list.
fn read<T: DeserializeOwned>(found: Vec<Value>) -> Vec<T> {
    found.into_iter().filter_map(|item| serde_json::from_value(item).ok()).collect()
}

/// The parameters without nulls.
fn lean(mut params: Value) -> Value {
    if let Value::Object(fields) = &mut params {
        fields.retain(|_, value| !value.is_null());
    }
    params
}
