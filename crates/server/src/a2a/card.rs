//! Agent card: the document by which other agents discover this server.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use haft_catalog::Viewer;
use serde_json::{Value, json};

use crate::AppState;
use crate::deferred::Own;
use crate::functions::offers;
use crate::rest::By;

/// `GET /.well-known/agent-card.json`: the tools that the caller may see, as skills.
pub(super) async fn show(
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    headers: HeaderMap,
) -> Json<Value> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    let vista = desk.runtime.see(&Viewer { actor: &actor, within: &[] });
    let offers = offers(&vista);
    let skills = offers.iter().map(|offer| {
        let (contract, tool) = (offer.contract, &offer.contract.tool);
        let action = contract.action.iter().map(|action| action.id.to_string());
        let tags = tool.tags.iter().map(ToString::to_string).chain(action);
        // A skill has no place for the contract's id but its tags.
        let tags: Vec<String> = tags.chain([contract.key().to_string()]).collect();
        json!({
            "id": &*vista.snapshot.wire_name(contract.key()),
            "name": contract.title(),
            "description": tool.description,
            "tags": tags,
            "inputModes": ["application/json"],
            "outputModes": ["text/plain", "application/json"],
        })
    });
    let own = [Own::Search, Own::Load].into_iter().filter(|_| vista.view.defers()).map(|own| {
        json!({
            "id": own.name(),
            "name": own.name(),
            "description": own.described().0,
            "tags": ["haft"],
            "inputModes": ["application/json"],
            "outputModes": ["application/json"],
        })
    });
    Json(json!({
        "protocolVersion": "0.3.0",
        "name": "Haft",
        "description": "Tools for agents, each call judged, recorded and answered.",
        "url": format!("http://{host}/a2a"),
        "preferredTransport": "JSONRPC",
        "version": env!("CARGO_PKG_VERSION"),
        "capabilities": {
            "streaming": false, "pushNotifications": false, "stateTransitionHistory": false,
        },
        "defaultInputModes": ["application/json"],
        "defaultOutputModes": ["text/plain", "application/json"],
        "skills": own.chain(skills).collect::<Vec<_>>(),
    }))
}
