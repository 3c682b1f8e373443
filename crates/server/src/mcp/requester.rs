//! Requester: the sender of a request as handlers see it, whatever its transport and version.
#![expect(deprecated, reason = "clients of 2025 still use levels")]

use std::sync::{Arc, OnceLock};

use haft_catalog::Viewer;
use haft_driver::{Abilities, Cancel, Remark};
use haft_model::{Actor, Call, ClientClock, JsonFlaw, Reported, TRACEPARENT, TRACESTATE, Trace};
use haft_runtime::Background;
use rmcp::model::{
    LoggingLevel, LoggingMessageNotification, ProgressNotification, RequestId, RequestMetaObject,
};
use serde_json::{Value, json};

use super::client_session::ClientSession;
use super::listing::Listing;
use super::message::RequestFrame;
use super::outbox::Outbox;
use super::protocol::{self, SelfContained};
use super::{asking, remarks};
use crate::AppState;

/// `_meta` field of the idempotency key.
const KEY: &str = "dev.haft/idempotency-key";

/// `_meta` field of the session, for a transport without one.
const SESSION: &str = "dev.haft/session";

/// How a request tells what its client supports.
pub(super) enum Lifecycle {
    /// 2026-07-28: each request is self-contained.
    SelfContained(Box<SelfContained>),
    /// Older versions: in a session that `initialize` opened.
    Session(Arc<ClientSession>),
}

impl Lifecycle {
    /// Whether the client reads results of 2026-07-28.
    pub(super) fn is_modern(&self) -> bool {
        match self {
            Lifecycle::SelfContained(request) => protocol::is_modern(request.version.as_str()),
            Lifecycle::Session(_) => false,
        }
    }

    /// Whether the client has the task extension.
    pub(super) fn has_tasks(&self) -> bool {
        match self {
            Lifecycle::SelfContained(request) => request.capabilities.supports_tasks(),
            Lifecycle::Session(session) => session.has_tasks(),
        }
    }
}

/// What a transport knows about the origin of a request.
#[derive(Default)]
pub(super) struct RequestOrigin {
    /// Scope of the transport's session.
    pub(super) scope: Option<String>,
    pub(super) trace: Option<Trace>,
}

/// The sender of a request, and the way back to it.
pub(super) struct Requester {
    pub(super) id: RequestId,
    pub(super) actor: Arc<Actor>,
    pub(super) lifecycle: Lifecycle,
    /// JSON flaw of the request's inputs.
    pub(super) flaw: Option<JsonFlaw>,
    pub(super) outbox: Arc<Outbox>,
    meta: RequestMetaObject,
    origin: RequestOrigin,
    /// The listing of the called tool, once it is known.
    listing: OnceLock<Arc<Listing>>,
    /// Fires when the client cancels the request; `None` where it cancels by leaving.
    cancel: Option<Cancel>,
}

impl Requester {
    /// The sender of a request, whose metadata it takes.
    pub(super) fn new(
        frame: &mut RequestFrame,
        actor: Arc<Actor>,
        lifecycle: Lifecycle,
        origin: RequestOrigin,
    ) -> Requester {
        Requester {
            id: frame.id.clone(),
            actor,
            lifecycle,
            flaw: frame.flaw.take(),
            outbox: Arc::default(),
            meta: std::mem::take(&mut frame.meta),
            origin,
            listing: OnceLock::new(),
            cancel: None,
        }
    }

    /// The same, for a transport on which clients cancel requests by their ids.
    pub(super) fn with_cancel(self, cancel: Cancel) -> Requester {
        Requester { cancel: Some(cancel), ..self }
    }

    /// Waits until the client cancels the request.
    pub(super) async fn cancelled(&self) {
        match &self.cancel {
            Some(cancel) => cancel.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// How long the client waits for the response.
    pub(super) fn clock(&self) -> ClientClock {
        match &self.lifecycle {
            Lifecycle::SelfContained(_) => {
                let info = self.meta.client_info();
                info.map(|info| ClientClock::of_client(&info.name)).unwrap_or_default()
            }
            Lifecycle::Session(session) => session.clock(),
        }
    }

    /// The session scope of the request: the one that it names, or that of its transport.
    pub(super) fn scope(&self) -> Option<String> {
        let said = self.said(SESSION).filter(|said| !said.is_empty());
        said.map(crate::session::scope).or_else(|| self.origin.scope.clone())
    }

    /// The listing that has the called tool, as its caller sees it.
    pub(super) fn listing(&self, desk: &AppState, tool: &str) -> &Arc<Listing> {
        self.listing.get_or_init(|| {
            let scope = self.scope();
            desk.listing_with(&Viewer { actor: &self.actor, within: scope.as_slice() }, tool)
        })
    }

    /// The call of the request.
    pub(super) fn call(&self, tool: String, input: Value) -> Call {
        let mut native = vec![json!({
            "source": "mcp",
            "jsonrpc_request_id": self.id,
            "id": self.id.to_string(),
        })];
        native.extend(self.trace().map(|trace| trace.reference()));
        Call {
            channel: "mcp",
            key: self.said(KEY).map(str::to_owned),
            native,
            ..Call::by(self.actor.clone(), tool, input)
        }
    }

    /// The trace context of the request: from its message, or from its transport.
    fn trace(&self) -> Option<Trace> {
        let trace = self.said(TRACEPARENT).and_then(Trace::parse);
        let trace = trace.map(|trace| trace.with_state(self.said(TRACESTATE)));
        trace.or_else(|| self.origin.trace.clone())
    }

    fn said(&self, name: &str) -> Option<&str> {
        self.meta.get(name).and_then(Value::as_str)
    }

    /// The client's capabilities as drivers see them.
    pub(super) fn abilities(&self) -> Abilities {
        let abilities = match &self.lifecycle {
            Lifecycle::SelfContained(request) => asking::abilities(&request.capabilities),
            Lifecycle::Session(session) => session.abilities(),
        };
        Abilities { remarks: self.level().and_then(remarks::name), ..abilities }
    }

    /// Whether a long call continues as a task. Before 2026-07-28 no result could be a task, and a
    /// client that claims tasks in `initialize` takes one for a broken result all the same.
    pub(super) fn background(&self) -> Background {
        match self.lifecycle.is_modern() && self.lifecycle.has_tasks() {
            true => Background::Leave,
            false => Background::Unknown,
        }
    }

    /// Whether the request asks for progress.
    pub(super) fn wants_progress(&self) -> bool {
        self.meta.get_progress_token().is_some()
    }

    /// Sends progress, where the client asked for it; returns whether it did.
    pub(super) async fn progress(&self, reported: &Reported) -> bool {
        let Some(token) = self.meta.get_progress_token() else { return false };
        let params = asking::progressed(token, reported);
        self.outbox.notify(ProgressNotification::new(params).into()).await;
        true
    }

    /// Sends a backend's remark, where the client wants its level.
    pub(super) async fn remark(&self, remark: Remark) {
        let wanted = self.level().and_then(remarks::name);
        if let Some(params) = remarks::told(remark, wanted.as_deref()) {
            self.outbox.notify(LoggingMessageNotification::new(params).into()).await;
        }
    }

    /// Lowest level of remarks that the client wants: up to 2025-11-25 its session sets it, from
    /// 2026-07-28 on each request does.
    fn level(&self) -> Option<LoggingLevel> {
        self.meta.log_level().or_else(|| match &self.lifecycle {
            Lifecycle::SelfContained(_) => None,
            Lifecycle::Session(session) => Some(session.level().unwrap_or(LoggingLevel::Debug)),
        })
    }
}
