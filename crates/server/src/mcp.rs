//! MCP server: one endpoint, every version from 2025-06-18 on, over HTTP and stdio.
//!
//! rmcp knows the frames, the versions and the sessions; this module turns its requests into calls
//! and envelopes into its results.

mod answer;
mod asking;
mod calling;
mod change_feed;
mod conversation;
mod deferred;
mod fast_path;
mod flaws;
mod handler;
mod inquiries;
mod listing;
mod misread;
mod priming;
mod remarks;
mod request_meta;
mod resources;
mod sessions;
mod suspended;
mod tasks;
mod upstream;

use std::sync::Arc;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use haft_driver::Cancel;
use haft_model::Actor;
use haft_runtime::SharedTimer;
use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServiceExt as _};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{AppState, ClientLimits};
pub(crate) use fast_path::FastPath;
#[doc(hidden)]
pub use fast_path::tool_call;
use flaws::{FlawedMessage, Flaws, Lines};
#[doc(hidden)]
pub use flaws::{checked_lines, input_flaw};
use handler::McpHandler;
pub(crate) use inquiries::Inquiries;
pub(crate) use listing::Listings;
use sessions::{Records, Sessions};
pub(crate) use sessions::{SessionCounts, SharedLives};
pub(crate) use suspended::SuspendedCalls;

/// Largest request, in bytes.
pub(crate) const LARGEST_REQUEST: usize = 4 * 1024 * 1024;

/// Whether a request comes without a session: from 2026-07-28 on.
fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// The router of `/mcp`, and the fast path that answers calls before it.
pub(crate) fn service(
    desk: Arc<AppState>,
    limits: &ClientLimits,
    stop: &Cancel,
) -> (Router, FastPath) {
    let mut config = StreamableHttpServerConfig::default();
    config.session_store = Some(Arc::new(Records(desk.sessions.clone())));
    let config = config
        // The auth layer checks hosts and origins, for every wire alike.
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_json_response(true)
        .with_max_request_body_bytes(LARGEST_REQUEST)
        .with_cancellation_token(stop.child_token());
    let sessions = Sessions::new(desk.sessions.clone(), limits.sessions, stop);
    let (soon, pulse) = (limits.document, SharedTimer::new(limits.document));
    let straight = FastPath { desk: desk.clone(), sessions: sessions.clone(), soon, pulse };
    let manager = sessions.clone();
    let service =
        StreamableHttpService::new(move || Ok(McpHandler::new(desk.clone())), manager, config);
    let router = Router::new().fallback_service(service);
    (router.layer(from_fn_with_state(sessions, read_whole)), straight)
}

/// Buffers a request before any handler sees it: a truncated one is its sender's fault, and the
/// library would blame the server.
async fn read_whole(
    State(sessions): State<Arc<Sessions>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut head, body) = request.into_parts();
    match to_bytes(body, LARGEST_REQUEST).await {
        Ok(mut bytes) => {
            if let Some(flaw) = flaws::of_inputs(&bytes) {
                match FlawedMessage::read(&bytes, &flaw) {
                    FlawedMessage::Request(_) | FlawedMessage::Notification => {
                        head.extensions.insert(flaw);
                    }
                    FlawedMessage::Answer(error) => {
                        head.headers.insert(CONTENT_LENGTH, HeaderValue::from(error.len()));
                        bytes = error.into();
                    }
                    FlawedMessage::Unclear => return misread::answer(&bytes),
                }
            }
            let knows_priming = priming::is_known_to(&head, &bytes);
            let is_json = misread::is_json(&head);
            let entered = match sessions.entered(&head, &bytes).await {
                Ok(entered) => entered,
                Err(refusal) => return *refusal,
            };
            let answer = entered.go_on(&sessions, head, bytes.clone(), next).await;
            match answer.status() {
                // The library answers so for every body that it cannot parse.
                StatusCode::UNSUPPORTED_MEDIA_TYPE if is_json => misread::answer(&bytes),
                _ if knows_priming => answer,
                _ => priming::left_out(answer),
            }
        }
        Err(fault) => unreadable(&fault),
    }
}

/// The answer to a truncated request.
pub(crate) fn unreadable(fault: &axum::Error) -> Response {
    let words = format!("the request cannot be read: {fault}");
    (StatusCode::BAD_REQUEST, words).into_response()
}

/// Serves stdio until the client closes it.
pub async fn stdio(desk: Arc<AppState>, actor: Actor) -> Result<(), String> {
    lines(desk, actor, tokio::io::stdin(), tokio::io::stdout()).await
}

/// Serves newline-delimited JSON for an authenticated actor, until the client closes it.
pub async fn lines(
    desk: Arc<AppState>,
    actor: Actor,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), String> {
    let flaws = Flaws::default();
    let wire = McpHandler::of(desk, Arc::new(actor), flaws.clone());
    let running =
        wire.serve((Lines::new(input, flaws), output)).await.map_err(|fault| fault.to_string())?;
    running.waiting().await.map(|_| ()).map_err(|fault| fault.to_string())
}
