//! Tool call: sends `tools/call`, waits for the response, handles cancellation and timeout, and
//! derives the effect state from how far the request got.

use std::sync::Arc;
use std::time::Duration;

use haft_driver::{Attempt, Failure, Output};
use haft_model::{Cause, CauseDetail, Code, EffectState, JsonRpcError, Stop};
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ErrorCode, ErrorData,
    InputRequiredResult, InputResponses, RequestMetaObject, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, ServiceError};
use serde_json::{Map, Value, json};

use super::backend::{MOST_ROUNDS, answers, asks_too_often};
use super::connection::Connection;
use super::direct::ExpectedResponse;
use super::manifest::McpEntry;
use super::tools::one_line;
use super::unreadable::UNREADABLE;
use super::wire::Going;
use super::{Mcp, answer, remote};
use crate::failure::{
    called_off, intruded, late, late_after_sending, running, unsent, while_running,
};
use crate::web::{SendStage, Sending};

/// Timeout of the cancellation notice to the server, and its reason text.
pub(super) const FAREWELL: Duration = Duration::from_secs(2);
const UNWANTED: &str = "the caller does not wait for it any more";

/// Metadata field of the idempotency key, for servers that enforce it.
const KEY: &str = "dev.haft/idempotency-key";

/// Metadata field of the lowest log level that the caller wants to receive.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// A tool call in flight.
pub(super) struct McpCall<'a> {
    mcp: &'a Mcp,
    pub(super) attempt: &'a Attempt<'a>,
    pub(super) entry: Arc<McpEntry>,
    sending: Arc<Sending>,
}

impl<'a> McpCall<'a> {
    pub(super) fn new(mcp: &'a Mcp, entry: Arc<McpEntry>, attempt: &'a Attempt<'a>) -> McpCall<'a> {
        let sending = match attempt.plan.effects.may_mutate() {
            true => Sending::announced(attempt.link.clone()),
            false => Sending::silent(),
        };
        McpCall { mcp, attempt, entry, sending: Arc::new(sending) }
    }

    pub(super) async fn carry_out(&self) -> Result<Output, Failure> {
        let ended = tokio::select! {
            biased;
            ended = self.made() => ended,
            () = self.attempt.cancel.cancelled() => {
                self.sending.give_up();
                self.attempt.link.cancel_heard().await;
                Err(self.cut_short(called_off()))
            }
            () = self.attempt.time.over() => {
                self.sending.give_up();
                Err(self.out_of_time())
            }
        };
        ended.map_err(|failure| self.sending.unrecorded().unwrap_or(failure))
    }

    /// Calls over a pooled connection, and inspects the governing files afterwards.
    async fn made(&self) -> Result<Output, Failure> {
        let (key, connection) = self.mcp.connection(self.attempt).await?;
        let came = self.made_over(&key, &connection).await;
        let intrusions = connection.inspect().await;
        let Some(stop) = intruded(&intrusions, &self.mcp.place.root) else {
            if connection.is_stale() {
                self.mcp.kept.let_go(&key, &connection).await;
            }
            return came;
        };
        self.mcp.kept.broke(&key, &connection).await;
        let (effect, native) = match came {
            Ok(output) => (output.effect, output.native),
            Err(failure) => (failure.effect, failure.native),
        };
        Err(Failure { native, ..Failure::new(stop, effect) })
    }

    async fn made_over(&self, key: &str, connection: &Arc<Connection>) -> Result<Output, Failure> {
        let (plan, witness) = (self.attempt.plan, &self.mcp.witness);
        let mut arguments = self.entry.arguments(plan);
        let checked = connection.check(&self.entry.tool, &arguments, plan, witness).await;
        checked.map_err(while_running).map_err(unsent)?;
        let _attended = connection.ear().attend(&self.going());
        let mut brought = AnswerRound::default();
        let (native, answered) = loop {
            let mut asked = self.ask(connection, arguments, &brought).await?;
            let id = asked.id();
            let answered = asked.answer().await;
            if connection.is_broken() {
                self.mcp.kept.broke(key, connection).await;
            }
            let native = match connection.is_program() {
                true => self.mcp.place.told(connection.native(id)),
                false => connection.native(id),
            };
            match answered {
                Ok(ServerResult::InputRequiredResult(asks)) if self.can_be_asked() => {
                    self.sending.input_required();
                    brought = self.inquire(asks, &brought).await?;
                    arguments = self.entry.arguments(plan);
                }
                Ok(ServerResult::CreateTaskResult(created)) => {
                    // Boxed, because tasks are rare and would enlarge the future of each call.
                    return Box::pin(self.follow(connection, native, created.task)).await;
                }
                answered => break (native, answered),
            }
        };
        match self.taken(answered, connection) {
            Ok(output) => Ok(Output { native: vec![native], ..output }),
            Err(failure) => Err(Failure { native: vec![native], ..failure }),
        }
    }

    async fn ask(
        &self,
        connection: &Connection,
        arguments: Map<String, Value>,
        brought: &AnswerRound,
    ) -> Result<PendingRequest, Failure> {
        let mut params = CallToolRequestParams::new(self.entry.tool.clone());
        params.input_responses.clone_from(&brought.answers);
        params.request_state.clone_from(&brought.state);
        let params = params.with_arguments(arguments);
        let going = self.going();
        if let Some(direct) = connection.direct() {
            let expected = direct.expect().ok_or_else(|| self.broken(connection))?;
            let number = expected.number;
            // Registered before sending, so that dropping the future cancels the request.
            let asked = self.asked(Pending::Direct(expected));
            let mut meta = connection.own_meta();
            meta.extend(self.meta(connection).unwrap_or_default());
            let sent = direct.call(number, params, meta, going).await;
            return sent.map(|()| asked).map_err(|_| self.broken(connection));
        }
        let mut request = CallToolRequest::new(params);
        request.extensions.insert(going);
        let request = ClientRequest::CallToolRequest(request);
        let mut options = PeerRequestOptions::no_options();
        options.meta = self.meta(connection);
        let handle = connection.peer().send_request_with_option(request, options).await;
        let handle = handle.map_err(|_| self.broken(connection))?;
        Ok(self.asked(Pending::Library(Box::new(handle))))
    }

    fn going(&self) -> Going {
        Going { sending: self.sending.clone(), link: self.attempt.link.clone() }
    }

    /// Records the submission again before an answer goes to a server that works on the call.
    pub(super) async fn renew(&self) -> Result<(), Failure> {
        self.sending.renew().await
    }

    fn asked(&self, pending: Pending) -> PendingRequest {
        PendingRequest { pending: Some(pending), sending: self.sending.clone() }
    }

    /// Whether the caller can answer an elicitation, a sampling request or a roots request.
    pub(super) fn can_be_asked(&self) -> bool {
        !self.attempt.abilities.kinds.is_empty()
    }

    /// Asks the caller the inputs that the server requires; until then the server has done nothing.
    async fn inquire(
        &self,
        asks: InputRequiredResult,
        before: &AnswerRound,
    ) -> Result<AnswerRound, Failure> {
        if before.rounds >= MOST_ROUNDS {
            let effect = self.effect(EffectState::NotCommitted);
            return Err(Failure::new(asks_too_often(), effect));
        }
        let answers = answers(self.attempt, &asks).await.map_err(|failure| {
            let effect = self.effect(failure.effect);
            Failure { effect, ..failure }
        })?;
        let rounds = before.rounds + 1;
        Ok(AnswerRound { answers: Some(answers), state: asks.request_state, rounds })
    }

    /// The `_meta` of the request: idempotency key, log level, trace context and task capability.
    fn meta(&self, connection: &Connection) -> Option<RequestMetaObject> {
        let key = self.attempt.key.as_ref().filter(|_| self.entry.enforces_key);
        let mut meta = Map::new();
        if let Some(key) = key {
            meta.insert(KEY.to_owned(), json!(key));
        }
        if let Some(level) = &self.attempt.abilities.remarks {
            meta.insert(LOG_LEVEL.to_owned(), json!(level));
        }
        meta.extend(
            self.attempt.trace_fields().map(|(name, value)| (name.to_owned(), json!(value))),
        );
        let mut meta = RequestMetaObject::from(meta);
        if let Some(able) = connection.with_tasks().filter(|_| self.attempt.abilities.patient) {
            meta.set_client_capabilities(able.clone());
        }
        (!meta.is_empty()).then_some(meta)
    }

    pub(super) fn taken(
        &self,
        answered: Result<ServerResult, ServiceError>,
        connection: &Connection,
    ) -> Result<Output, Failure> {
        let asked = connection.ear().take_asked();
        let done = self.effect(EffectState::Committed);
        match answered {
            Ok(ServerResult::CallToolResult(result)) if result.is_error == Some(true) => {
                // A tool that failed may have committed part of its effect.
                let failure =
                    answer::failed(&result, &self.entry, self.effect(EffectState::Unknown));
                Err(match asked {
                    Some(asked) => {
                        let stop = while_running(answer::unanswerable(&self.entry.tool, &asked));
                        Failure { stop, ..failure }
                    }
                    None => failure,
                })
            }
            Ok(ServerResult::CallToolResult(result)) => answer::taken(result, &self.entry, done),
            Ok(ServerResult::InputRequiredResult(result)) => {
                let stop = answer::asks(&result, &self.entry);
                Err(Failure::new(stop, self.effect(EffectState::NotCommitted)))
            }
            Ok(_) => {
                let words =
                    format!("`{}` answered with something that is no result", self.entry.tool);
                let stop = running(Code::OutputInvalid, words);
                Err(Failure::new(stop, self.effect(EffectState::Unknown)))
            }
            Err(ServiceError::McpError(error)) => Err(self.refused(&error)),
            Err(fault) => Err(self.lost(&fault, connection)),
        }
    }

    /// Maps a JSON-RPC error: the server rejected the request, or the effect is unknown.
    pub(super) fn refused(&self, error: &ErrorData) -> Failure {
        let said = one_line(&error.message);
        let tool = &self.entry.tool;
        let (code, effect) = match error.code {
            // The server did respond, so the effect may have been committed.
            UNREADABLE => (Code::OutputInvalid, EffectState::Unknown),
            ErrorCode::INVALID_PARAMS => (Code::InputValue, EffectState::NotCommitted),
            ErrorCode::METHOD_NOT_FOUND
            | ErrorCode::INVALID_REQUEST
            | ErrorCode::PARSE_ERROR
            | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
            | ErrorCode::HEADER_MISMATCH
            | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION => {
                (Code::SetupRequired, EffectState::NotCommitted)
            }
            _ => (Code::ExecutionFailed, EffectState::Unknown),
        };
        let data = Some(error.data.clone().unwrap_or_default());
        let native = JsonRpcError { code: error.code.0.into(), message: None, data };
        let cause = Cause::running().with(CauseDetail::JsonRpc(native));
        let words = match error.code {
            UNREADABLE => format!("`{tool}` was answered, and {said}"),
            _ => format!("`{tool}` was refused by its server: {said}"),
        };
        let stop = Stop::new(code, words);
        Failure::new(stop.because(cause), self.effect(effect))
    }

    /// A request that got no response; the transport's fault decides what the effect is.
    pub(super) fn lost(&self, fault: &ServiceError, connection: &Connection) -> Failure {
        let known = match fault {
            ServiceError::TransportSend(fault) => remote::lost(fault),
            _ => None,
        };
        match known {
            // An unsent request has no effect, whatever the fault says.
            Some((stop, effect)) if self.sending.stage() == SendStage::Sent => {
                Failure::new(while_running(stop), self.effect(effect))
            }
            Some((stop, _)) => self.cut_short(while_running(stop)),
            None => self.broken(connection),
        }
    }

    fn broken(&self, connection: &Connection) -> Failure {
        let words = format!(
            "the connection to the server of `{}` broke before it answered{}",
            self.entry.tool,
            connection.last_words()
        );
        self.cut_short(running(Code::DependencyUnavailable, one_line(&words)))
    }

    /// The effect state of a write; `EffectState::None` for a call that cannot mutate.
    pub(super) fn effect(&self, known: EffectState) -> EffectState {
        if self.attempt.plan.effects.may_mutate() { known } else { EffectState::None }
    }

    fn cut_short(&self, stop: Stop) -> Failure {
        Failure::new(stop, self.effect(self.sending.effect()))
    }

    fn out_of_time(&self) -> Failure {
        self.cut_short(match self.sending.stage() {
            SendStage::Unsent | SendStage::Announced => late(),
            SendStage::Sent | SendStage::Answered(_) | SendStage::InputRequired => {
                late_after_sending("time ran out before the server answered")
            }
        })
    }
}

/// The caller's answers that the next elicitation round sends to the server.
#[derive(Default)]
struct AnswerRound {
    answers: Option<InputResponses>,
    state: Option<String>,
    rounds: usize,
}

/// A request that awaits its response; dropping it sends a cancellation notice to the server.
struct PendingRequest {
    pending: Option<Pending>,
    sending: Arc<Sending>,
}

/// The channel of the response: the direct path or the MCP library.
enum Pending {
    Direct(ExpectedResponse),
    Library(Box<RequestHandle<RoleClient>>),
}

impl PendingRequest {
    fn id(&self) -> String {
        match &self.pending {
            Some(Pending::Direct(expected)) => expected.number.to_string(),
            Some(Pending::Library(handle)) => handle.id.to_string(),
            None => String::new(),
        }
    }

    async fn answer(&mut self) -> Result<ServerResult, ServiceError> {
        let answered = match &mut self.pending {
            Some(Pending::Direct(expected)) => {
                (&mut expected.answer).await.map(|answer| answer.map_err(ServiceError::McpError))
            }
            Some(Pending::Library(handle)) => (&mut handle.rx).await,
            None => return Err(ServiceError::TransportClosed),
        };
        self.pending = None;
        answered.map_err(|_| ServiceError::TransportClosed)?
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        let Some(pending) = self.pending.take() else { return };
        let was_sent = self.sending.stage() == SendStage::Sent;
        match pending {
            _ if !was_sent => {}
            Pending::Direct(expected) => expected.call_off(UNWANTED),
            Pending::Library(handle) => {
                let farewell = handle.cancel(Some(UNWANTED.to_owned()));
                tokio::spawn(tokio::time::timeout(FAREWELL, farewell));
            }
        }
    }
}
