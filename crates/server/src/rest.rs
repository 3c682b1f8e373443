//! REST API: `/v1`, everything that the command line shows, as the same values.

mod approvals;
mod background_calls;
mod batch;
mod call;
mod catalog;
mod document;
mod event_cursor;
mod event_fanout;
mod events;
mod extract;
mod health;
mod invocations;
mod native;
mod payload;
mod problem;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, OriginalUri};
use axum::http::{Method, StatusCode};
use axum::routing::{MethodRouter, get, post};

use crate::{AppState, functions};
pub(crate) use background_calls::{Errand, Errands};
pub(crate) use batch::run as run_batch;
pub(crate) use event_fanout::Bulletin;
pub(crate) use events::{ALIVE, STILL_THERE, event_stream};
pub(crate) use extract::{AnyBody, By, LARGEST_BODY, PathParams, is_json};
pub(crate) use invocations::own;
pub(crate) use native::{refs, traced};
pub(crate) use problem::Problem;

/// Every route below `/v1`. `document` describes each, and a test compares the two.
fn routes() -> Vec<(&'static str, MethodRouter<Arc<AppState>>)> {
    vec![
        ("/approvals", get(approvals::list)),
        ("/approvals/{id}", post(approvals::answer)),
        ("/batch", post(batch::make)),
        ("/call", post(call::make)),
        ("/catalog", get(catalog::list)),
        ("/catalog/{tool}", get(catalog::show)),
        ("/events", get(events::follow)),
        ("/functions/{provider}", get(functions::list).post(functions::call)),
        ("/health", get(health::health)),
        ("/invocations", get(invocations::list)),
        ("/invocations/{id}", get(invocations::show)),
        ("/invocations/{id}/cancel", post(invocations::cancel)),
        ("/invocations/{id}/compensate", post(call::compensate)),
        ("/invocations/{id}/payloads/{digest}", get(payload::show)),
        ("/invocations/{id}/trace", get(invocations::trace)),
        ("/openapi.json", get(document::show)),
        ("/ready", get(health::ready)),
        ("/search", get(catalog::search)),
        ("/surfaces", get(catalog::surfaces)),
        ("/surfaces/load", post(catalog::load)),
        ("/why", post(catalog::why)),
    ]
}

/// The router of `/v1`.
pub(crate) fn router() -> Router<Arc<AppState>> {
    let router = routes()
        .into_iter()
        .fold(Router::new(), |router, (path, methods)| router.route(path, methods));
    let router = router.method_not_allowed_fallback(not_by_this_method).fallback(nothing_there);
    router.layer(DefaultBodyLimit::max(LARGEST_BODY))
}

/// The answer for an unknown path.
pub(crate) async fn nothing_there(OriginalUri(address): OriginalUri) -> Problem {
    let words = format!("there is nothing at `{}`", address.path());
    let help = "MCP is at `/mcp`, REST at `/v1` with its document at `/v1/openapi.json`";
    Problem::of_wire(StatusCode::NOT_FOUND, words).help(help)
}

async fn not_by_this_method(method: Method, OriginalUri(address): OriginalUri) -> Problem {
    let words = format!("`{}` does not take {method}", address.path());
    Problem::of_wire(StatusCode::METHOD_NOT_ALLOWED, words)
}
