//! Backend requests: prompts, resources, completions and resource subscriptions of a server, each
//! made as a call of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use haft_driver::{
    Attempt, Backend, BackendNews, BackendRequest, BoxFuture, Failure, Inquiry, InquiryKind, Output,
};
use haft_model::{Cause, CauseDetail, Code, EffectState, JsonRpcError, Stop};
use rmcp::model::{
    ClientRequest, ErrorData, InputRequiredResult, RequestMetaObject, ServerResult,
    SubscriptionFilter,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;

use super::connection::Connection;
use super::era::Era;
use super::tools::one_line;
use super::wire::Going;
use super::{Mcp, stopped};
use crate::failure::{called_off, late, running};

/// Elicitation rounds per request, after which the request fails.
pub(super) const MOST_ROUNDS: usize = 10;

/// Concurrent resource subscriptions per driver; a further one is not opened.
const MOST_SUBSCRIPTIONS: usize = 256;

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
        let attended = connection.ear().attend(&Going::read(attempt.link.clone()));
        let mut params = match &request.params {
            Value::Null => json!({}),
            params => params.clone(),
        };
        for _ in 0..MOST_ROUNDS {
            let message = json!({ "method": request.method, "params": params });
            let message: ClientRequest = serde_json::from_value(message).map_err(|fault| {
                let words = format!("`{}` cannot be asked like this: {fault}", request.method);
                stopped(Stop::new(Code::InputValue, words))
            })?;
            let told = attempt.trace_fields().map(|(name, value)| (name.to_owned(), json!(value)));
            let told = RequestMetaObject::from(told.collect::<Map<_, _>>());
            let options = PeerRequestOptions::no_options().with_meta(told);
            let sent = connection.peer().send_request_with_option(message, options).await;
            let answered = match sent {
                Ok(handle) => handle.await_response().await,
                Err(fault) => Err(fault),
            };
            if connection.is_broken() {
                self.kept.broke(&key, &connection).await;
            }
            match answered.map_err(|fault| refused(&fault))? {
                ServerResult::InputRequiredResult(asks) => {
                    let answers = answers(attempt, &asks).await?;
                    let brought = [
                        ("inputResponses", json!(answers)),
                        ("requestState", json!(asks.request_state)),
                    ];
                    let brought = brought.into_iter().filter(|(_, value)| !value.is_null());
                    if let Some(fields) = params.as_object_mut() {
                        fields.extend(brought.map(|(name, value)| (name.to_owned(), value)));
                    }
                }
                result => {
                    drop(attended);
                    let value = serde_json::to_value(result).unwrap_or_default();
                    return Ok(Output::read(value));
                }
            }
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

/// Forwards the update notifications of one resource until the subscription ends.
async fn listen(connection: Arc<Connection>, uri: String) {
    let mut wish = SubscriptionFilter::default();
    wish.resource_subscriptions = Some(vec![uri.clone()]);
    let Ok(mut subscription) = connection.peer().listen(wish).await else { return };
    while let Ok(Some(_)) = subscription.next().await {
        connection.ear().tell(BackendNews::Resource(uri.clone()));
    }
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
    asks: &InputRequiredResult,
) -> Result<BTreeMap<String, Value>, Failure> {
    let requests = serde_json::to_value(&asks.input_requests).unwrap_or_default();
    let Value::Object(requests) = requests else { return Ok(BTreeMap::new()) };
    let inquiries = requests.into_iter().map(|(name, mut request)| {
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

fn refused(fault: &ServiceError) -> Failure {
    let stop = match fault {
        ServiceError::McpError(error) => refusal(error),
        other => {
            running(Code::DependencyUnavailable, format!("the server did not answer: {other}"))
        }
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
