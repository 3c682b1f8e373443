//! Backend requests: prompts, resources, completions and resource subscriptions of a server, each
//! made as a call of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use haft_driver::{
    Attempt, Backend, BackendNews, BackendRequest, BoxFuture, Failure, Inquiry, InquiryKind, Output,
};
use haft_model::{Cause, CauseDetail, Code, EffectState, JsonRpcError, Stop};
use rmcp::model::{ErrorData, JsonObject, SubscriptionFilter};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use super::Mcp;
use super::client::{ClientRequest, decode};
use super::connection::Connection;
use super::era::Era;
use super::fault::RequestFault;
use super::in_flight::CallContext;
use super::request_headers::RepeatedParts;
use super::tools::one_line;
use crate::failure::{called_off, late, running, while_running};

/// Elicitation rounds per request, after which the request fails.
pub(super) const MOST_ROUNDS: usize = 10;

/// Concurrent resource subscriptions per driver; a further one is not opened.
const MOST_SUBSCRIPTIONS: usize = 256;

/// A result that requires input. Its requests stay as the server made them: the library refuses
/// pages without an id, which 2026-07-28 gives none, and schemas that it does not know.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InputRequired {
    #[serde(default)]
    pub(super) input_requests: JsonObject,
    pub(super) request_state: Option<String>,
}

impl Backend for Mcp {
    fn request<'a>(
        &'a self,
        attempt: Attempt<'a>,
        request: BackendRequest,
    ) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            tokio::select! {
                ended = self.requested(&attempt, &request) => ended,
                () = attempt.cancel.cancelled() => Err(Failure::new(called_off(), EffectState::None)),
                () = attempt.time.over() => {
                    Err(Failure::new(late(), EffectState::None))
                }
            }
        })
    }

    fn news(&self) -> Option<broadcast::Receiver<BackendNews>> {
        Some(self.news.subscribe())
    }
}

impl Mcp {
    async fn requested(
        &self,
        attempt: &Attempt<'_>,
        request: &BackendRequest,
    ) -> Result<Output, Failure> {
        let (key, connection) = self.connection(attempt).await?;
        if let Some(subscribed) = self.subscribed(&connection, request) {
            return Ok(subscribed);
        }
        let mut params = match &request.params {
            Value::Object(params) => params.clone(),
            _ => JsonObject::new(),
        };
        for _ in 0..MOST_ROUNDS {
            let answered = ask(&connection, attempt, &request.method, &params).await;
            if connection.is_broken() {
                self.kept.broke(&key, &connection).await;
            }
            let result = answered.map_err(|fault| refused(&fault))?;
            if result.get("resultType").and_then(Value::as_str) != Some("input_required") {
                return Ok(Output::read(result));
            }
            let asks: InputRequired =
                serde_json::from_value(result).map_err(|_| refused(&RequestFault::Undecodable))?;
            let answers = answers(attempt, &asks).await?;
            let brought =
                [("inputResponses", json!(answers)), ("requestState", json!(asks.request_state))];
            let brought = brought.into_iter().filter(|(_, value)| !value.is_null());
            params.extend(brought.map(|(name, value)| (name.to_owned(), value)));
        }
        Err(Failure::new(asks_too_often(), EffectState::None))
    }
}

impl Mcp {
    /// Maps `resources/subscribe` and `resources/unsubscribe` to `subscriptions/listen`, which
    /// replaces them from protocol version 2026-07-28 on.
    fn subscribed(&self, connection: &Arc<Connection>, request: &BackendRequest) -> Option<Output> {
        if Era::of(&connection.about().protocol_version) == Era::Legacy {
            return None;
        }
        let uri = request.params.get("uri").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut listening = self.listening.lock().unwrap_or_else(PoisonError::into_inner);
        match request.method.as_str() {
            "resources/subscribe" => {
                listening.retain(|_, task| !task.is_finished());
                if listening.len() < MOST_SUBSCRIPTIONS && !listening.contains_key(&uri) {
                    let task = tokio::spawn(listen(connection.clone(), uri.clone()));
                    listening.insert(uri, task.abort_handle());
                }
            }
            "resources/unsubscribe" => {
                if let Some(task) = listening.remove(&uri) {
                    task.abort();
                }
            }
            _ => return None,
        }
        Some(Output::read(json!({})))
    }
}

/// Makes one request of a caller.
async fn ask(
    connection: &Connection,
    attempt: &Attempt<'_>,
    method: &str,
    params: &JsonObject,
) -> Result<Value, RequestFault> {
    let client = connection.client();
    let meta = attempt.trace_fields().map(|(name, value)| (name.to_owned(), json!(value)));
    let (id, meta) = (client.next_id(), meta.collect());
    let (repeated, call) =
        (RepeatedParts::of(method, params), Some(CallContext::read(attempt.link.clone())));
    let request = ClientRequest { id, method, params, meta, repeated, call };
    decode(&client.request(request).await?)
}

/// Subscribes to the updates of one resource, which the client handler publishes.
async fn listen(connection: Arc<Connection>, uri: String) {
    let mut wish = SubscriptionFilter::default();
    wish.resource_subscriptions = Some(vec![uri]);
    connection.client().listen(wish).await;
}

/// The failure of a server that exceeds the limit of elicitation rounds.
pub(super) fn asks_too_often() -> Stop {
    running(
        Code::ExecutionFailed,
        format!("the server asked {MOST_ROUNDS} times and never answered"),
    )
}

/// Asks the caller the inputs that a server requires before it continues.
pub(super) async fn answers(
    attempt: &Attempt<'_>,
    asks: &InputRequired,
) -> Result<BTreeMap<String, Value>, Failure> {
    let inquiries = asks.input_requests.clone().into_iter().map(|(name, mut request)| {
        let params = request.get_mut("params").map(Value::take).unwrap_or_default();
        let page = params.get("mode").and_then(Value::as_str) == Some("url");
        let kind = match request.get("method").and_then(Value::as_str) {
            Some("sampling/createMessage") => InquiryKind::Sample,
            Some("roots/list") => InquiryKind::Roots,
            _ if page => InquiryKind::Page,
            _ => InquiryKind::Form,
        };
        let params = if params.is_null() { json!({}) } else { params };
        (name, Inquiry { kind, params })
    });
    let inquiries: BTreeMap<_, _> = inquiries.collect();
    if inquiries.is_empty() {
        return Ok(BTreeMap::new());
    }
    let answered = attempt.link.ask(inquiries).await;
    answered.map_err(|stop| Failure::new(stop, EffectState::NotCommitted))
}

fn refused(fault: &RequestFault) -> Failure {
    let unavailable = |words: &str| running(Code::DependencyUnavailable, words);
    let stop = match fault {
        RequestFault::Refused(error) => refusal(error),
        RequestFault::Undecodable => {
            running(Code::OutputInvalid, "the server's answer cannot be decoded")
        }
        RequestFault::Closed | RequestFault::Unsent => unavailable("the server did not answer"),
        RequestFault::Http(..) => match fault.meaning() {
            Some((stop, _)) => while_running(stop),
            None => unavailable("the server did not answer"),
        },
    };
    Failure::new(stop, EffectState::None)
}

/// Maps a JSON-RPC error, and keeps its code and data so that the caller can see them.
fn refusal(error: &ErrorData) -> Stop {
    let said = one_line(&error.message);
    let words = format!("the server refused: {said}");
    let (code, data) = (error.code.0.into(), Some(error.data.clone().unwrap_or_default()));
    let native = JsonRpcError { code, message: Some(said), data };
    Stop::new(Code::ResourceNotFound, words)
        .because(Cause::running().with(CauseDetail::JsonRpc(native)))
}
