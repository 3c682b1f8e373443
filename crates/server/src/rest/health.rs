//! Health checks: liveness and readiness.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::AppState;

/// `GET /v1/health`: the process answers.
pub(super) async fn health() -> Json<Value> {
    Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

/// Timeout for the ledger's health check.
const PATIENCE: Duration = Duration::from_secs(1);

/// Message for a store that exceeds it.
const HANGS: &str = "the store does not answer";

/// `GET /v1/ready`: whether calls are accepted, and how many problems the workspace has. A store
/// that cannot record accepts none, and neither does one that hangs.
pub(super) async fn ready(State(desk): State<Arc<AppState>>) -> Response {
    let world = desk.world();
    let of =
        |severity: &str| world.notices.iter().filter(|notice| notice.severity == severity).count();
    let reader = desk.runtime.reader();
    // It checks whether the store still exists; no call may have checked for a while.
    let looked = tokio::time::timeout(PATIENCE, async {
        reader.caught_up().await?;
        reader.wait_past(None, Duration::ZERO).await
    });
    let (looked, health) = (looked.await, reader.health());
    let (status, word) = match (health.outage(), looked) {
        (Some(outage), _) => (StatusCode::SERVICE_UNAVAILABLE, outage.cause),
        (None, Ok(Err(stop))) => (StatusCode::SERVICE_UNAVAILABLE, stop.message),
        // A hanging write reports no failure, and yet nothing is recorded.
        (None, Err(_)) => (StatusCode::SERVICE_UNAVAILABLE, HANGS.to_owned()),
        (None, Ok(Ok(_))) => (StatusCode::OK, "ready".to_owned()),
    };
    let body = json!({
        "status": word,
        "since": health.outage().map(|outage| outage.since),
        "unrecorded": { "pending": health.pending(), "lost": health.lost() },
        "tools": world.snapshot.entries().count(),
        "notices": { "errors": of("error"), "warnings": of("warning") },
    });
    (status, Json(body)).into_response()
}
