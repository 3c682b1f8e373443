//! Protected resource metadata (RFC 9728): tells clients where to get a token.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};

use super::oauth::{Issuer, is_scope};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Our resource identifier, and the URL of its metadata.
pub(super) struct Resource {
    name: String,
    pub(super) described_at: String,
}

impl Resource {
    /// The token audience, where that is a URL as RFC 8707 has it; else the requested address.
    pub(super) fn of(issuer: &Issuer, headers: &HeaderMap) -> Resource {
        let audience = issuer.settings.audience.as_str();
        let asked = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let name = match audience.starts_with("https://") || audience.starts_with("http://") {
            true => audience.to_owned(),
            false => format!("http://{}/mcp", asked.unwrap_or("localhost")),
        };
        let host = name.find("://").map_or(0, |at| at + 3);
        let path = name.get(host..).and_then(|rest| rest.find('/')).map(|at| at + host);
        let (origin, path) = name.split_at(path.unwrap_or(name.len()));
        let described_at = format!("{origin}{WELL_KNOWN}{}", path.trim_end_matches('/'));
        Resource { name, described_at }
    }
}

/// Answers at the well-known URL, and at the one of each path.
pub(crate) fn router(issuer: Arc<Issuer>) -> Router {
    Router::new()
        .route(WELL_KNOWN, get(show))
        .route(&format!("{WELL_KNOWN}/{{*path}}"), get(show))
        .with_state(issuer)
}

async fn show(State(issuer): State<Arc<Issuer>>, headers: HeaderMap) -> Json<Value> {
    let scopes = issuer.settings.roles.keys().filter(|name| is_scope(name));
    Json(json!({
        "resource": Resource::of(&issuer, &headers).name,
        "authorization_servers": [issuer.settings.issuer],
        "scopes_supported": scopes.collect::<Vec<_>>(),
        "bearer_methods_supported": ["header"],
        "resource_name": "Haft",
    }))
}
