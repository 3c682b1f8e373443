//! POST: one message of a client, in its version, and the answer to it.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use haft_model::Actor;
use rmcp::ErrorData;
use rmcp::model::{
    ErrorCode, InitializeRequestParams, ProtocolVersion, ServerJsonRpcMessage, ServerResult,
};
use tokio::time::Instant;

use super::{
    HttpTransport, Refusal, SESSION, VERSION, document, event_stream, standard_headers, text,
};
use crate::mcp::client_session::ClientSession;
use crate::mcp::exchange::{Exchange, ExchangeStep};
use crate::mcp::in_flight::InFlightRequest;
use crate::mcp::message::{
    CALL_TOOL, ClientMessage, NotificationFrame, RequestFrame, ResponseFrame,
};
use crate::mcp::protocol::{self, SelfContained};
use crate::mcp::requester::{Lifecycle, RequestOrigin, Requester};
use crate::mcp::sessions::SessionVisit;
use crate::rest;

impl HttpTransport {
    pub(super) async fn post(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        actor: &Arc<Actor>,
    ) -> Result<Response, Refusal> {
        accepts_both(headers)?;
        match ClientMessage::read(body).map_err(Refusal::Malformed)? {
            ClientMessage::Request(frame) if frame.is_handshake() => {
                self.initialize(headers, &frame, actor)
            }
            ClientMessage::Request(frame) if is_self_contained(headers, &frame)? => {
                self.self_contained(headers, frame, actor).await
            }
            ClientMessage::Request(frame) => self.in_session(headers, frame, actor).await,
            ClientMessage::Notification(told) => self.notification(headers, &told, actor),
            ClientMessage::Response(answer) => self.response(headers, answer, actor),
        }
    }

    /// Opens the session of a client of 2025.
    fn initialize(
        &self,
        headers: &HeaderMap,
        frame: &RequestFrame,
        actor: &Arc<Actor>,
    ) -> Result<Response, Refusal> {
        let invalid = |error| Refusal::Invalid(Some(frame.id.clone()), error);
        let opening: InitializeRequestParams = frame.read_params().map_err(invalid)?;
        let proposed = opening.protocol_version.as_str();
        if let Some(said) = headers.get(VERSION)
            && said.as_bytes() != proposed.as_bytes()
        {
            let words = format!(
                "MCP-Protocol-Version header does not match initialize params.protocolVersion \
                 ({proposed})"
            );
            return Err(invalid(ErrorData::invalid_request(words, None)));
        }
        if protocol::is_modern(proposed) {
            standard_headers::check_initialize(headers)
                .map_err(|words| invalid(ErrorData::header_mismatch(words, None)))?;
        }
        let result = protocol::initialize(&opening);
        let session = ClientSession::new(opening, result.protocol_version.clone());
        let id = self.sessions.open(actor, session).map_err(Refusal::NoSession)?;
        let result = ServerResult::InitializeResult(result);
        let answer = ServerJsonRpcMessage::response(result, frame.id.clone());
        let mut response = document(StatusCode::OK, &answer);
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(SESSION, id);
        }
        Ok(response)
    }

    /// Answers a request of 2026-07-28.
    async fn self_contained(
        &self,
        headers: &HeaderMap,
        mut frame: RequestFrame,
        actor: &Arc<Actor>,
    ) -> Result<Response, Refusal> {
        let id = frame.id.clone();
        let mismatch =
            |words| Refusal::Invalid(Some(id.clone()), ErrorData::header_mismatch(words, None));
        check_version(headers, &frame)?;
        let repeats = text(headers, &VERSION).is_some_and(protocol::is_modern);
        if repeats {
            standard_headers::check_method(headers, &frame.method).map_err(mismatch)?;
            standard_headers::check_name(headers, &frame).map_err(mismatch)?;
        }
        let request = SelfContained::read(&frame.meta)
            .map_err(|error| Refusal::Invalid(Some(id.clone()), error))?;
        // A self-contained request has no transport session, whatever a header says.
        let origin = RequestOrigin { scope: None, trace: rest::traced(headers) };
        let lifecycle = Lifecycle::SelfContained(request);
        let by = Requester::new(&mut frame, actor.clone(), lifecycle, origin);
        if let Some(call) = frame.tool_call().filter(|_| repeats) {
            let listing = by.listing(&self.dispatcher.desk, &call.name);
            if listing.repeats_arguments(&call.name)
                && let Some(tool) = listing.find(&call.name)
            {
                standard_headers::check_arguments(headers, call, &tool.input_schema)
                    .map_err(mismatch)?;
            }
        }
        Ok(self.reply(self.dispatcher.begin(frame, by), None).await)
    }

    /// Answers a request in a session of 2025.
    async fn in_session(
        &self,
        headers: &HeaderMap,
        mut frame: RequestFrame,
        actor: &Arc<Actor>,
    ) -> Result<Response, Refusal> {
        let visit = self.visit(headers, actor)?;
        let scope = text(headers, &SESSION).map(crate::session::transport_scope);
        let origin = RequestOrigin { scope, trace: rest::traced(headers) };
        let lifecycle = Lifecycle::Session(visit.session.clone());
        let request = visit.session.in_flight.add(&frame.id);
        let by = Requester::new(&mut frame, actor.clone(), lifecycle, origin)
            .with_cancel(request.cancel.clone());
        let resumable = self.is_resumable(&frame, &by, &visit.session);
        let exchange = self.dispatcher.begin(frame, by);
        Ok(match resumable {
            true => event_stream::resumable(exchange, request, visit, &self.stop),
            false => self.reply(exchange, Some((visit, request))).await,
        })
    }

    /// Whether a client that loses the stream of a request finds its rest again: where it writes,
    /// reports progress, or asks its client. A read does not need that.
    fn is_resumable(&self, frame: &RequestFrame, by: &Requester, session: &ClientSession) -> bool {
        let speaks = session.can_be_asked() || by.wants_progress();
        match frame.tool_call() {
            Some(call) => {
                let listing = by.listing(&self.dispatcher.desk, &call.name);
                speaks || !listing.only_reads(&call.name)
            }
            None => {
                speaks && matches!(&*frame.method, CALL_TOOL | "prompts/get" | "resources/read")
            }
        }
    }

    /// One document if the exchange ends soon and says nothing before, else a stream.
    async fn reply(
        &self,
        mut exchange: Exchange,
        within: Option<(SessionVisit, InFlightRequest)>,
    ) -> Response {
        let is_modern = within.is_none();
        let first = tokio::select! {
            biased;
            step = exchange.next() => Some(step),
            () = self.pulse.past(Instant::now() + self.soon) => None,
        };
        match first {
            Some(ExchangeStep::Response(response)) => {
                document(status(&response, is_modern), &response)
            }
            Some(ExchangeStep::Message(first)) => {
                event_stream::request_scoped(exchange, Some(first), within)
            }
            None => event_stream::request_scoped(exchange, None, within),
        }
    }

    fn notification(
        &self,
        headers: &HeaderMap,
        told: &NotificationFrame,
        actor: &Arc<Actor>,
    ) -> Result<Response, Refusal> {
        if is_modern(headers)? {
            standard_headers::check_method(headers, &told.method)
                .map_err(|words| Refusal::Invalid(None, ErrorData::header_mismatch(words, None)))?;
            // A self-contained request is cancelled by closing its connection.
            return Ok(StatusCode::ACCEPTED.into_response());
        }
        let visit = self.visit(headers, actor)?;
        if let Some(request) = told.cancelled_request() {
            visit.session.in_flight.cancel(&request);
        }
        if told.method == "notifications/initialized" {
            visit.session.set_ready();
            self.sessions.feed(&visit, actor);
        }
        Ok(StatusCode::ACCEPTED.into_response())
    }

    fn response(
        &self,
        headers: &HeaderMap,
        answer: ResponseFrame,
        actor: &Arc<Actor>,
    ) -> Result<Response, Refusal> {
        if is_modern(headers)? {
            let words = "clients of 2026-07-28 send no responses";
            return Err(Refusal::Invalid(None, ErrorData::invalid_request(words, None)));
        }
        self.visit(headers, actor)?.session.take_answer(answer);
        Ok(StatusCode::ACCEPTED.into_response())
    }

    /// Enters the session that a request names.
    pub(super) fn visit(
        &self,
        headers: &HeaderMap,
        actor: &Arc<Actor>,
    ) -> Result<SessionVisit, Refusal> {
        let id = text(headers, &SESSION).ok_or(Refusal::SessionRequired)?;
        self.sessions.enter(id, actor).ok_or(Refusal::SessionUnknown)
    }
}

/// Content negotiation: a request is JSON, and its sender accepts both JSON and event streams.
fn accepts_both(headers: &HeaderMap) -> Result<(), Refusal> {
    let accepts = text(headers, &header::ACCEPT).is_some_and(|accepts| {
        accepts.contains("application/json") && accepts.contains("text/event-stream")
    });
    if !accepts {
        return Err(Refusal::NotAcceptable(
            "Not Acceptable: Client must accept both application/json and text/event-stream",
        ));
    }
    let kind = text(headers, &header::CONTENT_TYPE);
    match kind.is_some_and(|kind| kind.trim_start().starts_with("application/json")) {
        true => Ok(()),
        false => Err(Refusal::MediaType),
    }
}

/// Whether the version header is that of self-contained requests; an unknown one is refused.
pub(super) fn is_modern(headers: &HeaderMap) -> Result<bool, Refusal> {
    let Some(version) = headers.get(VERSION) else { return Ok(false) };
    let version = String::from_utf8_lossy(version.as_bytes());
    match ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.as_str() == version) {
        true => Ok(protocol::is_modern(&version)),
        false => Err(Refusal::Invalid(None, protocol::unsupported(&version))),
    }
}

/// Whether a request is self-contained: by its metadata, its method or its version header.
fn is_self_contained(headers: &HeaderMap, frame: &RequestFrame) -> Result<bool, Refusal> {
    if protocol::named_version(&frame.meta).is_some() || frame.method == "server/discover" {
        return Ok(true);
    }
    is_modern(headers).map_err(|refusal| match refusal {
        Refusal::Invalid(_, error) => Refusal::Invalid(Some(frame.id.clone()), error),
        other => other,
    })
}

/// Compares the version header with the version in the metadata.
fn check_version(headers: &HeaderMap, frame: &RequestFrame) -> Result<(), Refusal> {
    let invalid = |error| Err(Refusal::Invalid(Some(frame.id.clone()), error));
    let Some(version) = protocol::named_version(&frame.meta) else {
        return invalid(protocol::missing_metadata(&frame.meta));
    };
    match text(headers, &VERSION) {
        Some(said) if said == version => Ok(()),
        Some(said) => {
            let words = format!(
                "MCP-Protocol-Version header ({said}) does not match request _meta protocolVersion \
                 ({version})"
            );
            invalid(ErrorData::header_mismatch(words, None))
        }
        None => {
            let words = "request _meta protocolVersion requires MCP-Protocol-Version header";
            invalid(ErrorData::header_mismatch(words, None))
        }
    }
}

/// The HTTP status of a response. In sessions of 2025 errors are answers like any other.
fn status(response: &ServerJsonRpcMessage, is_modern: bool) -> StatusCode {
    match response {
        ServerJsonRpcMessage::Error(error) if is_modern => match error.error.code {
            ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
            | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
            | ErrorCode::HEADER_MISMATCH => StatusCode::BAD_REQUEST,
            ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
            _ => StatusCode::OK,
        },
        _ => StatusCode::OK,
    }
}
