//! Client handler: serves a server's elicitation, sampling and roots requests, and its change
//! notifications.
//!
//! INVARIANT: the declared capabilities are the caller's, plus form elicitation where approvers
//! fill in forms; never our own. A request of the server goes to the caller of a call in flight,
//! and is declined where the caller cannot answer it.
#![expect(deprecated, reason = "servers of 2025 still sample, ask for roots and log")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use haft_driver::{Abilities, BackendNews, Inquiry, InquiryKind, Remark};
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageResult, ElicitResult, ErrorCode, ErrorData,
    Implementation, ListRootsResult, LoggingMessageNotificationParam, ProtocolVersion,
    ResourceUpdatedNotificationParam,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;

use super::in_flight::{CallContext, InFlight};
use super::message::ServerMessage;
use super::tools::one_line;

/// The client side of a connection, for requests and notifications of the server.
#[derive(Debug)]
pub(super) struct ClientHandler {
    changed: AtomicBool,
    /// The last elicitation that was declined, as text.
    declined: Mutex<Option<String>>,
    /// The capabilities that the handshake declares on behalf of the callers.
    declared: ClientCapabilities,
    able: Abilities,
    news: broadcast::Sender<BackendNews>,
}

/// The declared capabilities: only the caller's elicitation, sampling and roots.
fn declared(able: &Abilities) -> ClientCapabilities {
    let told = able.told.as_object().into_iter().flatten();
    let known = told.filter(|(name, _)| ["elicitation", "sampling", "roots"].contains(&&***name));
    let mut known: Map<_, _> = known.map(|(name, value)| (name.clone(), value.clone())).collect();
    if able.people {
        let asked = known.entry("elicitation").or_insert_with(|| Value::Object(Map::new()));
        if let Some(modes) = asked.as_object_mut() {
            modes.insert("form".to_owned(), Value::Object(Map::new()));
        }
    }
    serde_json::from_value(Value::Object(known)).unwrap_or_default()
}

impl ClientHandler {
    pub(super) fn new(able: &Abilities, news: broadcast::Sender<BackendNews>) -> ClientHandler {
        ClientHandler {
            changed: AtomicBool::new(false),
            declined: Mutex::default(),
            declared: declared(able),
            able: able.clone(),
            news,
        }
    }

    /// Marks the tool list as changed and notifies subscribers.
    pub(super) fn tools_changed(&self) {
        self.changed.store(true, Ordering::Release);
        self.tell(BackendNews::Tools);
    }

    /// Publishes a change on the change feed.
    fn tell(&self, news: BackendNews) {
        let _ = self.news.send(news);
    }

    /// Whether the tool list changed since the last check; resets the flag.
    pub(super) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::AcqRel)
    }

    /// Takes the last declined elicitation.
    pub(super) fn take_declined(&self) -> Option<String> {
        self.declined.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The client's identity and capabilities for the handshake.
    pub(super) fn client(&self) -> ClientConfig {
        let own = Implementation::new("haft", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(self.declared.clone(), own)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    /// Handles a notification that belongs to no request.
    pub(super) fn notified(&self, message: &ServerMessage<'_>) {
        match &*message.method {
            "notifications/tools/list_changed" => self.tools_changed(),
            "notifications/prompts/list_changed" => self.tell(BackendNews::Prompts),
            "notifications/resources/list_changed" => self.tell(BackendNews::Resources),
            "notifications/resources/updated" => {
                if let Some(updated) = message.params::<ResourceUpdatedNotificationParam>() {
                    self.tell(BackendNews::Resource(updated.uri));
                }
            }
            _ => {}
        }
    }

    /// Answers a request of the server. `call` is the call on whose stream it came, where the
    /// transport tells.
    pub(super) async fn serve(
        &self,
        method: &str,
        params: Value,
        call: Option<CallContext>,
        in_flight: &InFlight,
    ) -> Result<Value, ErrorData> {
        match method {
            "ping" => Ok(json!({})),
            "elicitation/create" => Ok(self.elicit(params, call, in_flight).await),
            "sampling/createMessage" => {
                let kind = InquiryKind::Sample;
                let answer = self.ask::<CreateMessageResult>(kind, params, call, in_flight).await;
                answer.ok_or_else(|| {
                    ErrorData::invalid_request("the caller cannot answer with a model", None)
                })
            }
            "roots/list" => {
                let kind = InquiryKind::Roots;
                let answer = self.ask::<ListRootsResult>(kind, json!({}), call, in_flight).await;
                Ok(answer.unwrap_or_else(|| json!({ "roots": [] })))
            }
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None)),
        }
    }

    async fn elicit(
        &self,
        params: Value,
        call: Option<CallContext>,
        in_flight: &InFlight,
    ) -> Value {
        let page = params.get("mode").and_then(Value::as_str) == Some("url");
        let kind = if page { InquiryKind::Page } else { InquiryKind::Form };
        let asked = question(&params);
        if let Some(answer) = self.ask::<ElicitResult>(kind, params, call, in_flight).await {
            return answer;
        }
        *self.declined.lock().unwrap_or_else(PoisonError::into_inner) = Some(asked);
        json!({ "action": "decline" })
    }

    /// Passes one request of the server to the caller; `None` where it does not answer as `T`.
    async fn ask<T: DeserializeOwned>(
        &self,
        kind: InquiryKind,
        params: Value,
        call: Option<CallContext>,
        in_flight: &InFlight,
    ) -> Option<Value> {
        if !self.able.kinds.contains(&kind) {
            return None;
        }
        let asking;
        let call = match call {
            Some(call) => call,
            // Approvers must know which call a form is about, so it waits until one call is left.
            None if self.able.people && kind == InquiryKind::Form => {
                asking = in_flight.only().await?;
                asking.call.clone()
            }
            None => in_flight.newest()?,
        };
        let inquiry = Inquiry { kind, params };
        let mut answers = call.link.ask([("asked".to_owned(), inquiry)].into()).await.ok()?;
        // The answer may have taken minutes and the server acts on it, so submit again.
        call.sending.renew().await.ok()?;
        let answer = answers.remove("asked")?;
        T::deserialize(&answer).is_ok().then_some(answer)
    }
}

/// The message and the URL of an elicitation, on one line.
pub(super) fn question(asked: &Value) -> String {
    let said = |name: &str| asked.get(name).and_then(Value::as_str);
    one_line(&[said("message"), said("url")].into_iter().flatten().collect::<Vec<_>>().join(" "))
}

/// The log message of a notification.
pub(super) fn remark(told: &ServerMessage<'_>) -> Option<Remark> {
    let said = told.params::<LoggingMessageNotificationParam>()?;
    let level = serde_json::to_value(said.level).ok()?;
    Some(Remark { level: level.as_str()?.to_owned(), logger: said.logger, data: said.data })
}
