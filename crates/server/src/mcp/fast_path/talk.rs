//! Response stream: progress, remarks and the result of a call, as JSON or server-sent events.
#![expect(deprecated, reason = "clients of 2025 still hear remarks")]

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use haft_driver::Cancel;
use haft_model::{Code, Stop};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, ErrorCode, InputRequiredResult, LoggingMessageNotification,
    ProgressNotification, ProgressToken, RequestId, ServerJsonRpcMessage, ServerNotification,
    ServerResult,
};
use tokio::sync::mpsc;

use super::document;
use crate::AppState;
use crate::mcp::calling::Closing;
use crate::mcp::conversation::{CallEvent, Conversation};
use crate::mcp::sessions::Visit;
use crate::mcp::{asking, remarks};
use crate::rest::{ALIVE, Events};

/// Most messages buffered for a slow client.
const MOST_WAITING: usize = 16;

/// A call and the client that waits for its result.
pub(super) struct Talk {
    pub(super) desk: Arc<AppState>,
    /// `None` once the call is finished or suspended.
    pub(super) conversation: Option<Conversation>,
    pub(super) closing: Closing,
    pub(super) id: RequestId,
    /// The client's progress token, where it wants progress.
    pub(super) token: Option<ProgressToken>,
    /// Lowest level of remarks that it wants.
    pub(super) remarks: Option<String>,
    /// Its session, in the older versions.
    pub(super) visit: Option<Visit>,
}

/// A message to the client.
pub(super) enum StreamMessage {
    /// A notification or request before the result.
    Between(Box<ServerJsonRpcMessage>),
    /// The result.
    Last(Last),
}

/// The response to a request.
pub(super) struct Last {
    status: StatusCode,
    message: Box<ServerJsonRpcMessage>,
}

impl IntoResponse for Last {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.message) {
            Ok(bytes) => document(self.status, bytes),
            Err(fault) => (StatusCode::INTERNAL_SERVER_ERROR, fault.to_string()).into_response(),
        }
    }
}

/// The JSON-RPC message that answers a request.
pub(super) fn message(
    result: Result<CallToolResponse, ErrorData>,
    id: RequestId,
    modern: bool,
) -> Last {
    match result {
        Ok(answer) => {
            let mut result = ServerResult::from(answer);
            if !modern {
                result.strip_result_type_for_legacy_peer();
            }
            let message = Box::new(ServerJsonRpcMessage::response(result, id));
            Last { status: StatusCode::OK, message }
        }
        Err(error) => {
            let is_of_the_client = error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
            let status = match modern && is_of_the_client {
                true => StatusCode::BAD_REQUEST,
                false => StatusCode::OK,
            };
            Last { status, message: Box::new(ServerJsonRpcMessage::error(error, Some(id))) }
        }
    }
}

impl Talk {
    /// The next message to the client.
    pub(super) async fn next(&mut self) -> StreamMessage {
        loop {
            if let Some(asks) = self.suspended() {
                return self.last(Ok(CallToolResponse::InputRequired(asks)));
            }
            let news = match &mut self.conversation {
                None => None,
                Some(conversation) => match self.visit.as_ref().map(|visit| &visit.cancel) {
                    Some(cancel) => called_off(conversation, cancel).await,
                    None => conversation.next().await,
                },
            };
            match news {
                None => return self.last(Err(self.lost())),
                Some(CallEvent::Done { envelope, .. }) => {
                    let answer = self.closing.answer(&self.desk, &envelope).await;
                    return self.last(answer);
                }
                Some(CallEvent::Left(envelope)) => {
                    let Some(conversation) = self.conversation.take() else { continue };
                    let left = self.closing.left(&self.desk, &envelope, conversation);
                    let left = Box::pin(left).await;
                    return self.last(left);
                }
                Some(CallEvent::Progress(reported)) => {
                    if let Some(token) = self.token.clone() {
                        let params = asking::progressed(token, &reported);
                        return between(ProgressNotification::new(params).into());
                    }
                }
                Some(CallEvent::Remark(remark)) => {
                    if let Some(params) = remarks::told(remark, self.remarks.as_deref()) {
                        return between(LoggingMessageNotification::new(params).into());
                    }
                }
                Some(CallEvent::Asked { asked, reply }) => match &mut self.conversation {
                    Some(conversation) if self.closing.bound.is_some() => {
                        conversation.wait_for(asking::requests(asked), reply);
                    }
                    _ => {
                        let words = "the caller cannot be asked";
                        let _ = reply.send(Err(Stop::new(Code::ApprovalRequired, words)));
                    }
                },
            }
        }
    }

    /// The result for a client that has to resume with answers.
    fn suspended(&mut self) -> Option<InputRequiredResult> {
        let waiting = self.conversation.take_if(|call| call.unanswered().is_some())?;
        let bound = self.closing.bound.as_ref()?;
        Some(self.desk.suspended.keep(waiting, bound))
    }

    fn lost(&self) -> ErrorData {
        let is_called_off = self.visit.as_ref().is_some_and(|visit| visit.cancel.is_cancelled());
        let words = if is_called_off { "the call was called off" } else { "the call was lost" };
        ErrorData::internal_error(words, None)
    }

    fn last(&self, result: Result<CallToolResponse, ErrorData>) -> StreamMessage {
        StreamMessage::Last(message(result, self.id.clone(), self.visit.is_none()))
    }

    /// The rest of the messages, as an event stream.
    pub(super) fn stream(mut self, first: Option<Box<ServerJsonRpcMessage>>) -> Response {
        let (sender, receiver) = mpsc::channel(MOST_WAITING);
        tokio::spawn(async move {
            if let Some(first) = first
                && sender.send(event(&first)).await.is_err()
            {
                return;
            }
            loop {
                let said = tokio::select! {
                    said = self.next() => said,
                    // Dropping the talk cancels the call.
                    () = sender.closed() => return,
                };
                let (message, over) = match said {
                    StreamMessage::Between(message) => (message, false),
                    StreamMessage::Last(last) => (last.message, true),
                };
                if sender.send(event(&message)).await.is_err() || over {
                    return;
                }
            }
        });
        Sse::new(Events::new(receiver)).keep_alive(KeepAlive::new().interval(ALIVE)).into_response()
    }
}

/// The next event of a call, unless its client cancels it.
async fn called_off(conversation: &mut Conversation, cancel: &Cancel) -> Option<CallEvent> {
    tokio::select! {
        biased;
        news = conversation.next() => news,
        () = cancel.cancelled() => None,
    }
}

fn between(notification: ServerNotification) -> StreamMessage {
    StreamMessage::Between(Box::new(ServerJsonRpcMessage::notification(notification)))
}

fn event(message: &ServerJsonRpcMessage) -> Event {
    Event::default().data(serde_json::to_string(message).unwrap_or_default())
}
