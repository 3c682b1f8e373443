//! Request dispatch: MCP messages go straight to their transport, all others through the router.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::Method;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use tokio::time::timeout;

use super::body_timeout::too_late;
use crate::auth::Doorkeeper;
use crate::mcp::{HttpTransport, LARGEST_REQUEST, unreadable};

/// The first handler of every request. Most are tool calls, and the way through all routes and
/// layers costs them as much as their answers do.
pub(super) struct Front {
    pub(super) router: Router,
    pub(super) keeper: Arc<Doorkeeper>,
    pub(super) mcp: Arc<HttpTransport>,
    /// Timeout for a request body.
    pub(super) body: Duration,
}

impl Front {
    pub(super) async fn answer(&self, request: hyper::Request<Incoming>) -> Response {
        let request = request.map(Body::new);
        if !is_mcp_message(&request) {
            return self.by_route(request).await;
        }
        let (mut head, body) = request.into_parts();
        // The routes answer an unauthenticated request with the reason.
        let Some(shown) = self.keeper.admitted(&head.uri, &head.headers).await else {
            return self.by_route(Request::from_parts(head, body)).await;
        };
        let body = match timeout(self.body, to_bytes(body, LARGEST_REQUEST)).await {
            Ok(Ok(body)) => body,
            Ok(Err(fault)) => return unreadable(&fault),
            Err(_) => return too_late(self.body),
        };
        head.extensions.insert(shown.actor.clone());
        let answer = self.mcp.answer(&head, &body).await;
        shown.seen_out(answer, &self.keeper)
    }

    /// The route of all other requests, boxed because its future is larger than a message's.
    async fn by_route(&self, request: Request) -> Response {
        let routes = TowerToHyperService::new(self.router.clone());
        let Ok(answer) = Box::pin(routes.call(request)).await;
        answer
    }
}

/// Whether a request is an MCP message within the size limit.
fn is_mcp_message(request: &Request) -> bool {
    let size = request.body().size_hint().upper();
    request.method() == Method::POST
        && request.uri().path() == "/mcp"
        && size.is_some_and(|size| size <= LARGEST_REQUEST as u64)
}
