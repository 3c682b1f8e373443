//! What answers the requests of one client.

use std::borrow::Cow;
use std::sync::Arc;

use axum::http::request::Parts;
use haft_model::Actor;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, GetTaskParams, GetTaskResult, Implementation, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::conversation::Conversation;
use crate::Desk;

/// The versions that are spoken, oldest first.
const SPOKEN: &[ProtocolVersion] =
    &[ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

/// What answers the requests of one client.
#[derive(Clone)]
pub(crate) struct Wire {
    pub(super) desk: Arc<Desk>,
    /// Who is at the other end, where the requests do not say.
    actor: Option<Arc<Actor>>,
}

impl Wire {
    pub(super) fn new(desk: Arc<Desk>) -> Wire {
        Wire { desk, actor: None }
    }

    pub(super) fn of(desk: Arc<Desk>, actor: Arc<Actor>) -> Wire {
        Wire { desk, actor: Some(actor) }
    }

    /// Who sent a request.
    pub(super) fn who(&self, context: &RequestContext<RoleServer>) -> Arc<Actor> {
        let parts = context.extensions.get::<Parts>();
        let shown = parts.and_then(|parts| parts.extensions.get::<Arc<Actor>>());
        let known = shown.or(self.actor.as_ref()).cloned();
        known.unwrap_or_else(|| Arc::new(self.desk.world().people.stranger()))
    }
}

impl ServerHandler for Wire {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_tasks()
            .build();
        let us = Implementation::new("haft", env!("CARGO_PKG_VERSION")).with_title("Haft");
        ServerConfig::new(capabilities).with_server_info(us)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(SPOKEN)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let listing = self.desk.listing(&self.who(&context));
        listing.page(request.and_then(|request| request.cursor))
    }

    fn get_tool(&self, _name: &str) -> Option<Tool> {
        None
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let actor = self.who(&context);
        let conversation = match &request.request_state {
            Some(state) => {
                let mut conversation = self.desk.suspended.take(state, &actor, &request)?;
                conversation.answer(request.input_responses.clone().unwrap_or_default())?;
                conversation
            }
            None => Conversation::begin(self, &actor, &request, &context),
        };
        self.converse(conversation, actor, request, context).await
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Ok(CompleteResult::default())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::default())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.read(&request.uri, &self.who(&context)).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.task(&request.task_id, &self.who(&context)).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.call_off(&request.task_id, &self.who(&context)).await
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (mut changes, peer) = (self.desk.runtime.changes(), context.peer);
        tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                if peer.notify_tool_list_changed().await.is_err() {
                    break;
                }
            }
        });
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.desk.runtime.changes();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = changes.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    let _ = context.sink().notify_tool_list_changed().await;
                }
            }
        }
    }
}
