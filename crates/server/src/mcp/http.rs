//! Streamable HTTP transport: POST for messages; GET and DELETE for the sessions of 2025.
//!
//! A request is parsed, made and answered on the task of its connection. An answer within
//! `ClientLimits::document` is one JSON document; one that takes longer, or has something to say
//! before, is an event stream.

mod event_stream;
mod post;
mod refusal;
mod session_methods;
mod standard_headers;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use haft_driver::Cancel;
use haft_model::Actor;
use haft_runtime::SharedTimer;
use rmcp::model::ServerJsonRpcMessage;

use super::dispatch::Dispatcher;
use super::sessions::Sessions;
use crate::{AppState, ClientLimits};
use refusal::Refusal;
pub(crate) use refusal::unreadable;

/// Largest request, in bytes.
pub(crate) const LARGEST_REQUEST: usize = 4 * 1024 * 1024;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Answers the requests to `/mcp`.
pub(crate) struct HttpTransport {
    dispatcher: Dispatcher,
    sessions: Arc<Sessions>,
    /// How long a call may take and still be answered as one document.
    soon: Duration,
    /// Timer for that limit.
    pulse: SharedTimer,
    /// Fires when the server stops: streams end.
    stop: Cancel,
}

impl HttpTransport {
    pub(crate) fn new(
        desk: Arc<AppState>,
        limits: &ClientLimits,
        stop: &Cancel,
    ) -> Arc<HttpTransport> {
        let sessions = Sessions::new(desk.clone(), limits.sessions, stop);
        let dispatcher = Dispatcher { desk, closing: stop.clone() };
        let (soon, pulse) = (limits.document, SharedTimer::new(limits.document));
        Arc::new(HttpTransport { dispatcher, sessions, soon, pulse, stop: stop.clone() })
    }

    /// The router of `/mcp`, for requests that do not come by the front.
    pub(crate) fn router(self: &Arc<HttpTransport>) -> Router {
        Router::new().fallback(buffered).with_state(self.clone())
    }

    /// The answer to a request of an authenticated actor.
    pub(crate) async fn answer(&self, head: &Parts, body: &[u8]) -> Response {
        let Some(actor) = head.extensions.get::<Arc<Actor>>() else {
            return Refusal::Anonymous.into();
        };
        let answer = match head.method {
            Method::POST => self.post(&head.headers, body, actor).await,
            Method::GET => self.get(&head.headers, actor),
            Method::DELETE => self.delete(&head.headers, actor),
            _ => Err(Refusal::Method("GET, POST, DELETE")),
        };
        answer.unwrap_or_else(Response::from)
    }
}

/// Buffers a request before it is parsed: a truncated one is its sender's fault.
async fn buffered(State(transport): State<Arc<HttpTransport>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    match to_bytes(body, LARGEST_REQUEST).await {
        Ok(body) => transport.answer(&head, &body).await,
        Err(fault) => unreadable(&fault),
    }
}

/// The text of a header.
fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// A JSON response with a message.
fn document(status: StatusCode, message: &ServerJsonRpcMessage) -> Response {
    let bytes = serde_json::to_vec(message).unwrap_or_default();
    let mut response = Response::new(Body::from(Bytes::from(bytes)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
