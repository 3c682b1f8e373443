//! Baseline servers: they do nothing but answer, written with the library that Haft uses.

use std::process::Stdio;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RunningService};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleClient, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Map, Value, json};

/// Tells the time, as the builtin tool does.
#[derive(Clone)]
pub(crate) struct Clock;

fn offer() -> ServerConfig {
    ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
}

impl ServerHandler for Clock {
    fn get_info(&self) -> ServerConfig {
        offer()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let Value::Object(schema) = json!({"type": "object", "properties": {}}) else {
            return Ok(ListToolsResult::default());
        };
        let tool = Tool::new("time_now", "The current date and time in UTC.", Arc::new(schema))
            .with_annotations(ToolAnnotations::new().read_only(true));
        Ok(ListToolsResult { tools: vec![tool], ..ListToolsResult::default() })
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let millis = now.map_or(0, |since| since.as_millis() as u64);
        let time = json!({"utc": "2026-01-01T00:00:00.000Z", "unix_ms": millis});
        Ok(CallToolResult::structured(time).into())
    }
}

/// Hands every request to one backend and its answer back.
#[derive(Clone)]
pub(crate) struct Gateway {
    backend: Arc<RunningService<RoleClient, ()>>,
}

impl Gateway {
    /// One before a program.
    pub(crate) async fn start(program: &[String]) -> Gateway {
        let mut child = tokio::process::Command::new(&program[0])
            .args(&program[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let ends = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let backend = Arc::new(().serve(ends).await.unwrap());
        // It ends when its input does.
        std::mem::forget(child);
        Gateway { backend }
    }
}

fn fault(error: rmcp::ServiceError) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

impl ServerHandler for Gateway {
    fn get_info(&self) -> ServerConfig {
        offer()
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.backend.list_tools(page).await.map_err(fault)
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // What a client says of itself is not the gateway's to repeat.
        request.meta = None;
        request.arguments.get_or_insert_with(Map::new);
        self.backend.call_tool(request).await.map(Into::into).map_err(fault)
    }
}

/// Serves over streamable HTTP at a port of its own, and prints where.
pub(crate) async fn serve(handler: impl ServerHandler + Clone) {
    let config = StreamableHttpServerConfig::default().with_json_response(true);
    let sessions = Arc::<LocalSessionManager>::default();
    let service = StreamableHttpService::new(move || Ok(handler.clone()), sessions, config);
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router).await.unwrap();
}

/// Serves on standard input and output.
pub(crate) async fn speak() {
    let running = Clock.serve((tokio::io::stdin(), tokio::io::stdout())).await.unwrap();
    running.waiting().await.unwrap();
}
