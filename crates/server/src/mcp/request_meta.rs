//! What a request says beside what it asks for, whoever read it.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::request::Parts;
use haft_model::{Actor, Call, TRACEPARENT, TRACESTATE, Trace};
use rmcp::RoleServer;
use rmcp::model::{JsonObject, RequestId};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::SessionId;
use serde_json::{Value, json};

use crate::rest;

/// What a client of ours is known by at the backend.
const KEY: &str = "dev.haft/idempotency-key";

/// What names the session of a request that has none in its transport.
const SESSION: &str = "dev.haft/session";

/// What stands above a request.
#[derive(Clone, Copy)]
pub(super) struct Heading<'r> {
    pub(super) id: &'r RequestId,
    pub(super) meta: &'r JsonObject,
    /// None where the transport has none.
    pub(super) headers: Option<&'r HeaderMap>,
}

impl<'r> Heading<'r> {
    pub(super) fn of(context: &'r RequestContext<RoleServer>) -> Heading<'r> {
        let headers = context.extensions.get::<Parts>().map(|parts| &parts.headers);
        Heading { id: &context.id, meta: &context.meta.0.0, headers }
    }

    /// The session of a request, as a scope: the one that it names, or that of its transport.
    pub(super) fn session(&self) -> Option<String> {
        let said = self.said(SESSION).filter(|said| !said.is_empty());
        said.map(crate::session::scope).or_else(|| transport_session(self.headers?))
    }

    /// The call that a request means.
    pub(super) fn call(&self, actor: &Arc<Actor>, tool: String, input: Value) -> Call {
        let mut native = vec![json!({
            "source": "mcp",
            "jsonrpc_request_id": self.id,
            "id": self.id.to_string(),
        })];
        native.extend(self.traced().map(|trace| trace.reference()));
        Call {
            channel: "mcp",
            key: self.said(KEY).map(str::to_owned),
            native,
            ..Call::by(actor.clone(), tool, input)
        }
    }

    /// The trace that a request is a part of: the one that its message names, or that of its transport.
    fn traced(&self) -> Option<Trace> {
        let trace = self.said(TRACEPARENT).and_then(Trace::parse);
        let trace = trace.map(|trace| trace.with_state(self.said(TRACESTATE)));
        trace.or_else(|| rest::traced(self.headers?))
    }

    fn said(&self, name: &str) -> Option<&'r str> {
        self.meta.get(name).and_then(Value::as_str)
    }
}

/// The session that a request of a transport names.
pub(super) fn session_id(headers: &HeaderMap) -> Option<SessionId> {
    headers.get("mcp-session-id")?.to_str().ok().map(SessionId::from)
}

/// The session of a transport, as a scope.
pub(super) fn transport_session(headers: &HeaderMap) -> Option<String> {
    headers.get("mcp-session-id")?.to_str().ok().map(crate::session::transport_scope)
}
