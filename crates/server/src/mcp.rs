//! MCP: one endpoint, every version from 2025-06-18 on, over HTTP and over standard input and output.
//!
//! rmcp knows the frames, the versions and the sessions; what stands here turns its requests into calls
//! and envelopes into its results.

mod answer;
mod asking;
mod conversation;
mod handler;
mod listing;
mod news;
mod remarks;
mod resources;
mod suspended;
mod tasks;
mod upstream;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use haft_driver::Cancel;
use haft_model::Actor;
use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServiceExt as _};

use crate::Desk;
use handler::Wire;
pub(crate) use listing::Listings;
pub(crate) use suspended::Suspended;

/// The most that one request says.
const LARGEST_REQUEST: usize = 4 * 1024 * 1024;

/// Whether a request comes without a session: from 2026-07-28 on.
fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// What answers at `/mcp`.
pub(crate) fn service(desk: Arc<Desk>, address: SocketAddr, stop: &Cancel) -> Router {
    let ours = ["localhost", "127.0.0.1", "[::1]"];
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(ours.into_iter().map(str::to_owned).chain([address.to_string()]))
        // A page in a browser that was talked into calling us says where it is from.
        .with_allowed_origins(ours.map(|host| format!("http://{host}:*")))
        .with_json_response(true)
        .with_max_request_body_bytes(LARGEST_REQUEST)
        .with_cancellation_token(stop.child_token());
    let sessions: Arc<LocalSessionManager> = Arc::default();
    let service = StreamableHttpService::new(move || Ok(Wire::new(desk.clone())), sessions, config);
    Router::new().fallback_service(service).layer(from_fn(end_plainly))
}

/// Says of a session that it is over, where the library says that it will be: clients in Python take
/// that for a failure and complain.
async fn end_plainly(request: Request, next: Next) -> Response {
    let ends = request.method() == Method::DELETE;
    let mut answer = next.run(request).await;
    if ends && answer.status() == StatusCode::ACCEPTED {
        *answer.status_mut() = StatusCode::NO_CONTENT;
    }
    answer
}

/// Answers on standard input and output until the other side closes.
pub async fn stdio(desk: Arc<Desk>, actor: Actor) -> Result<(), String> {
    let streams = (tokio::io::stdin(), tokio::io::stdout());
    let wire = Wire::of(desk, Arc::new(actor));
    let running = wire.serve(streams).await.map_err(|fault| fault.to_string())?;
    running.waiting().await.map(|_| ()).map_err(|fault| fault.to_string())
}
