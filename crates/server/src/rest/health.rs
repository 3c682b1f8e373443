//! Whether we are there, and ready.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::Desk;

/// `GET /v1/health`: the process answers.
pub(super) async fn health() -> Json<Value> {
    Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

/// `GET /v1/ready`: the ledger can be read, and how much is wrong with the workspace.
pub(super) async fn ready(State(desk): State<Arc<Desk>>) -> Response {
    let world = desk.world();
    let of =
        |severity: &str| world.notices.iter().filter(|notice| notice.severity == severity).count();
    let last = desk.runtime.reader().wait_past(None, std::time::Duration::ZERO).await;
    let (status, word) = match last.is_ok() {
        true => (StatusCode::OK, "ready"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "the ledger cannot be read"),
    };
    let body = json!({
        "status": word,
        "tools": world.snapshot.entries().count(),
        "notices": { "errors": of("error"), "warnings": of("warning") },
    });
    (status, Json(body)).into_response()
}
