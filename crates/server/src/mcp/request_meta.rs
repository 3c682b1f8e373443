//! Request metadata: idempotency key, session and trace context of an MCP request.

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

/// `_meta` field of the idempotency key.
const KEY: &str = "dev.haft/idempotency-key";

/// `_meta` field of the session, for a transport without one.
const SESSION: &str = "dev.haft/session";

/// Metadata of a request.
#[derive(Clone, Copy)]
pub(super) struct Heading<'r> {
    pub(super) id: &'r RequestId,
    pub(super) meta: &'r JsonObject,
    /// HTTP headers; `None` for stdio.
    pub(super) headers: Option<&'r HeaderMap>,
}

impl<'r> Heading<'r> {
    pub(super) fn of(context: &'r RequestContext<RoleServer>) -> Heading<'r> {
        let headers = context.extensions.get::<Parts>().map(|parts| &parts.headers);
        Heading { id: &context.id, meta: &context.meta.0.0, headers }
    }

    /// The session scope of a request: the one that it names, or that of its transport.
    pub(super) fn session(&self) -> Option<String> {
        let said = self.said(SESSION).filter(|said| !said.is_empty());
        said.map(crate::session::scope).or_else(|| transport_session(self.headers?))
    }

    /// The call of a request.
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

    /// The trace context of a request: from its message, or from its transport.
    fn traced(&self) -> Option<Trace> {
        let trace = self.said(TRACEPARENT).and_then(Trace::parse);
        let trace = trace.map(|trace| trace.with_state(self.said(TRACESTATE)));
        trace.or_else(|| rest::traced(self.headers?))
    }

    fn said(&self, name: &str) -> Option<&'r str> {
        self.meta.get(name).and_then(Value::as_str)
    }
}

/// The session id in the headers of a request.
pub(super) fn session_id(headers: &HeaderMap) -> Option<SessionId> {
    headers.get("mcp-session-id")?.to_str().ok().map(SessionId::from)
}

/// The scope of a transport session.
pub(super) fn transport_session(headers: &HeaderMap) -> Option<String> {
    headers.get("mcp-session-id")?.to_str().ok().map(crate::session::transport_scope)
}
