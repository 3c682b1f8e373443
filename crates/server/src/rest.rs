//! REST: `/v1`.

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use crate::Desk;

/// Everything below `/v1`.
pub(crate) fn router() -> Router<Arc<Desk>> {
    Router::new().route("/health", get(|| async { "ok" }))
}
