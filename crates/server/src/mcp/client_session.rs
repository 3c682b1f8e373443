//! MCP session of 2025: what a client said in `initialize`, and what it set since.
#![expect(deprecated, reason = "clients of 2025 still use levels")]

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_driver::{Abilities, InquiryKind};
use haft_model::ClientClock;
use rmcp::ErrorData;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, CustomRequest, InitializeRequestParams,
    LoggingLevel, ProtocolVersion, RequestId, ServerJsonRpcMessage, ServerRequest,
};
use serde_json::Value;
use tokio::sync::oneshot;

use super::asking;
use super::change_feed::WatchedResources;
use super::in_flight::InFlightRequests;
use super::message::ResponseFrame;
use super::outbox::Outbox;

/// A session with a client of 2025: over HTTP one of many, over stdio that of the connection.
pub(super) struct ClientSession {
    pub(super) watched: WatchedResources,
    pub(super) in_flight: InFlightRequests,
    version: ProtocolVersion,
    /// How long the client waits for a response.
    clock: ClientClock,
    /// Kinds of question that the client answers.
    kinds: BTreeSet<InquiryKind>,
    /// The client's capabilities, as text: an idle session takes little.
    capabilities: Box<str>,
    has_tasks: bool,
    level: Mutex<Option<LoggingLevel>>,
    /// Whether the client sent `initialized`.
    ready: AtomicBool,
    questions: Mutex<HashMap<RequestId, oneshot::Sender<Result<Value, ErrorData>>>>,
    next_question: AtomicI64,
}

impl ClientSession {
    /// The session that an `initialize` request opens in an agreed version.
    pub(super) fn new(opening: InitializeRequestParams, version: ProtocolVersion) -> ClientSession {
        let InitializeRequestParams { capabilities, client_info, .. } = opening;
        ClientSession {
            watched: WatchedResources::default(),
            in_flight: InFlightRequests::default(),
            version,
            clock: ClientClock::of_client(&client_info.name),
            kinds: asking::kinds(&capabilities),
            capabilities: serde_json::to_string(&capabilities).unwrap_or_default().into(),
            has_tasks: capabilities.supports_tasks(),
            level: Mutex::default(),
            ready: AtomicBool::new(false),
            questions: Mutex::default(),
            next_question: AtomicI64::new(0),
        }
    }

    pub(super) fn version(&self) -> &ProtocolVersion {
        &self.version
    }

    /// How long the client waits for a response.
    pub(super) fn clock(&self) -> ClientClock {
        self.clock
    }

    /// Whether the client has elicitation, sampling or roots.
    pub(super) fn can_be_asked(&self) -> bool {
        !self.kinds.is_empty()
    }

    /// Whether the client has the task extension.
    pub(super) fn has_tasks(&self) -> bool {
        self.has_tasks
    }

    /// The client's capabilities as drivers see them.
    pub(super) fn abilities(&self) -> Abilities {
        let told = serde_json::from_str(&self.capabilities).unwrap_or_default();
        Abilities { kinds: self.kinds.clone(), told, in_session: true, ..Abilities::default() }
    }

    /// Size of what the client said and set, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.capabilities.len() + self.watched.bytes()
    }

    /// Lowest log level that the client set.
    pub(super) fn level(&self) -> Option<LoggingLevel> {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_level(&self, level: LoggingLevel) {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    /// Takes the client's `initialized`.
    pub(super) fn set_ready(&self) {
        self.ready.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    /// Sends a request to the client, and waits for its answer. Once `gone` resolves, the client is
    /// told that none is wanted any more.
    pub(super) async fn ask(
        &self,
        outbox: &Outbox,
        method: &'static str,
        params: Option<Value>,
        gone: impl Future<Output = ()>,
    ) -> Result<Value, String> {
        let id = RequestId::Number(self.next_question.fetch_add(1, Ordering::Relaxed));
        let (reply, answer) = oneshot::channel();
        self.questions().insert(id.clone(), reply);
        let _question = OpenQuestion { session: self, id: id.clone() };
        let request = ServerRequest::CustomRequest(CustomRequest::new(method, params));
        outbox.send(ServerJsonRpcMessage::request(request, id.clone())).await;
        let unwanted = "the backend does not wait for it any more";
        tokio::select! {
            biased;
            answer = answer => match answer {
                Ok(Ok(value)) => Ok(value),
                Ok(Err(error)) => Err(error.message.into_owned()),
                Err(_) => Err("the connection closed".to_owned()),
            },
            () = gone => {
                let params = CancelledNotificationParam::new(Some(id), Some(unwanted.to_owned()));
                outbox.notify(CancelledNotification::new(params).into()).await;
                Err(unwanted.to_owned())
            }
        }
    }

    /// Takes the client's answer to a request of ours. Some clients send a number as a text.
    pub(super) fn take_answer(&self, answer: ResponseFrame) {
        let ResponseFrame { id, result } = answer;
        let mut questions = self.questions();
        let reply = questions.remove(&id).or_else(|| match &id {
            RequestId::String(text) => questions.remove(&RequestId::Number(text.parse().ok()?)),
            RequestId::Number(_) => None,
        });
        if let Some(reply) = reply {
            let _ = reply.send(result);
        }
    }

    /// Fails every open question: no answer can come.
    pub(super) fn hang_up(&self) {
        self.questions().clear();
    }

    fn questions(
        &self,
    ) -> MutexGuard<'_, HashMap<RequestId, oneshot::Sender<Result<Value, ErrorData>>>> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open question; dropping it forgets the question.
struct OpenQuestion<'s> {
    session: &'s ClientSession,
    id: RequestId,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.session.questions().remove(&self.id);
    }
}
