//! Client handler: serves a server's notifications, log messages, elicitation, sampling and roots.
//!
//! INVARIANT: the declared capabilities are the caller's, plus form elicitation where approvers
//! fill in forms; never our own. A request of the server goes to the caller of a call in flight,
//! and is declined where the caller cannot answer it.
#![expect(deprecated, reason = "servers of 2025 still sample, ask for roots and log")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_driver::{Abilities, BackendNews, Inquiry, InquiryKind, Remark};
use rmcp::ClientHandler;
use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ErrorData, Implementation,
    ListRootsResult, LoggingMessageNotificationParam, ProtocolVersion,
    ResourceUpdatedNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::{Notify, broadcast};

use super::tools::one_line;
use super::wire::Going;

/// How long a form waits for other calls to end, where the server does not name its call.
const ALONE: Duration = Duration::from_secs(30);

/// The client side of a connection, for requests and notifications of the server.
#[derive(Debug)]
pub(super) struct Ear {
    changed: AtomicBool,
    /// The last elicitation that was declined, as text.
    asked: Mutex<Option<String>>,
    /// The capabilities that the handshake declares on behalf of the callers.
    declared: ClientCapabilities,
    able: Abilities,
    /// The calls in flight, newest last; a request of the server goes to the newest.
    calls: Mutex<Vec<(u64, Going)>>,
    count: AtomicU64,
    /// Notified whenever a call ends.
    left: Notify,
    news: broadcast::Sender<BackendNews>,
}

/// Registers a call whose caller answers the server's requests; unregisters on drop.
pub(super) struct AttendedCall {
    ear: Arc<Ear>,
    number: u64,
}

impl Drop for AttendedCall {
    fn drop(&mut self) {
        self.ear.calls().retain(|(number, _)| *number != self.number);
        self.ear.left.notify_waiters();
    }
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

impl Ear {
    pub(super) fn new(able: &Abilities, news: broadcast::Sender<BackendNews>) -> Ear {
        Ear {
            changed: AtomicBool::new(false),
            asked: Mutex::default(),
            declared: declared(able),
            able: able.clone(),
            calls: Mutex::default(),
            count: AtomicU64::new(0),
            left: Notify::new(),
            news,
        }
    }

    /// Routes the server's requests to the caller of this call from now on.
    pub(super) fn attend(self: &Arc<Ear>, call: &Going) -> AttendedCall {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        self.calls().push((number, call.clone()));
        AttendedCall { ear: self.clone(), number }
    }

    fn calls(&self) -> MutexGuard<'_, Vec<(u64, Going)>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn caller(&self) -> Option<Going> {
        self.calls().last().map(|(_, call)| call.clone())
    }

    /// The call that a request of the server belongs to. The 2025 protocol does not name it;
    /// approvers must know which call a form is about, so a form waits until one call is left.
    async fn asking(&self, kind: InquiryKind) -> Option<Going> {
        if !(self.able.people && kind == InquiryKind::Form) {
            return self.caller();
        }
        let alone = async {
            loop {
                let left = self.left.notified();
                if self.calls().len() <= 1 {
                    return self.caller();
                }
                left.await;
            }
        };
        tokio::time::timeout(ALONE, alone).await.ok().flatten()
    }

    /// Marks the tool list as changed and notifies subscribers.
    pub(super) fn tools_changed(&self) {
        self.changed.store(true, Ordering::Release);
        let _ = self.news.send(BackendNews::Tools);
    }

    /// Publishes a change on the change feed.
    pub(super) fn tell(&self, news: BackendNews) {
        let _ = self.news.send(news);
    }

    /// Whether the tool list changed since the last check; resets the flag.
    pub(super) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::AcqRel)
    }

    /// Takes the last declined elicitation.
    pub(super) fn take_asked(&self) -> Option<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The client's identity and capabilities for the handshake.
    pub(super) fn client(&self) -> ClientConfig {
        let own = Implementation::new("haft", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(self.declared.clone(), own)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    /// Passes one request of the server to the caller; `None` where it cannot answer.
    async fn answer<T: DeserializeOwned>(
        &self,
        kind: InquiryKind,
        params: &impl Serialize,
    ) -> Option<T> {
        if !self.able.kinds.contains(&kind) {
            return None;
        }
        let Going { sending, link } = self.asking(kind).await?;
        let params = serde_json::to_value(params).ok()?;
        let inquiry = Inquiry { kind, params };
        let mut answers = link.ask([("asked".to_owned(), inquiry)].into()).await.ok()?;
        // The answer may have taken minutes and the server acts on it, so submit again.
        sending.renew().await.ok()?;
        serde_json::from_value(answers.remove("asked")?).ok()
    }
}

/// The message and the URL of an elicitation, on one line.
pub(super) fn question(asked: &ElicitRequestParams) -> String {
    let value = serde_json::to_value(asked).unwrap_or_default();
    let said = |name: &str| value.get(name).and_then(serde_json::Value::as_str);
    one_line(&[said("message"), said("url")].into_iter().flatten().collect::<Vec<_>>().join(" "))
}

fn kind_of(asked: &ElicitRequestParams) -> InquiryKind {
    match asked {
        ElicitRequestParams::UrlElicitationParams { .. } => InquiryKind::Page,
        _ => InquiryKind::Form,
    }
}

impl ClientHandler for Ear {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        if let Some(answer) = self.answer(kind_of(&request), &request).await {
            return Ok(answer);
        }
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(question(&request));
        Ok(ElicitResult::new(ElicitationAction::Decline))
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let answer = self.answer(InquiryKind::Sample, &request).await;
        answer.ok_or_else(|| {
            ErrorData::invalid_request("the caller cannot answer with a model", None)
        })
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let nothing = Value::Object(Map::new());
        Ok(self.answer(InquiryKind::Roots, &nothing).await.unwrap_or_default())
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let level = serde_json::to_value(params.level).ok();
        let level = level.and_then(|level| level.as_str().map(str::to_owned));
        if let (Some(Going { link, .. }), Some(level)) = (self.caller(), level) {
            link.remark(Remark { level, logger: params.logger, data: params.data }).await;
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tools_changed();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tell(BackendNews::Prompts);
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tell(BackendNews::Resources);
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.tell(BackendNews::Resource(params.uri));
    }

    fn get_info(&self) -> ClientConfig {
        self.client()
    }
}
