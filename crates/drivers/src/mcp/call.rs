//! Tool call: sends `tools/call`, waits for the response, handles cancellation and timeout, and
//! derives the effect state from how far the request got.

use std::sync::Arc;

use haft_driver::{Attempt, Failure, Output};
use haft_model::{Cause, CauseDetail, Code, EffectState, JsonRpcError, Stop};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{
    CallToolRequestParams, ErrorCode, ErrorData, InputResponses, JsonObject, NumberOrString,
    ProgressToken, RequestMetaObject,
};
use serde_json::{Map, Value, json};

use super::Mcp;
use super::answer::{self, ToolResponse};
use super::backend::{InputRequired, MOST_ROUNDS, answers, asks_too_often};
use super::client::ClientRequest;
use super::connection::Connection;
use super::fault::RequestFault;
use super::in_flight::CallContext;
use super::manifest::McpEntry;
use super::pool_key::ConnectionPoolKey;
use super::request_headers::RepeatedParts;
use super::tools::one_line;
use crate::failure::{
    called_off, intruded, late, late_after_sending, running, unsent, while_running,
};
use crate::web::{SendStage, Sending};

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

    async fn made_over(
        &self,
        key: &ConnectionPoolKey,
        connection: &Arc<Connection>,
    ) -> Result<Output, Failure> {
        let (plan, witness) = (self.attempt.plan, &self.mcp.witness);
        let mut arguments = self.entry.arguments(plan);
        let checked = connection.check(&self.entry.tool, &arguments, plan, witness).await;
        let headers = checked.map_err(while_running).map_err(unsent)?;
        let mut brought = AnswerRound::default();
        let (native, answered) = loop {
            let id = connection.client().next_id();
            let answered = self.ask(connection, id, arguments, headers.clone(), &brought).await;
            if connection.is_broken() {
                self.mcp.kept.broke(key, connection).await;
            }
            let native = match connection.is_program() {
                true => self.mcp.place.told(connection.native(id)),
                false => connection.native(id),
            };
            match answered {
                Ok(ToolResponse::InputRequired(asks)) if self.can_be_asked() => {
                    self.sending.input_required();
                    brought = self.inquire(asks, &brought).await?;
                    arguments = self.entry.arguments(plan);
                }
                Ok(ToolResponse::Task(created)) => {
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
        id: i64,
        arguments: Map<String, Value>,
        headers: Vec<(HeaderName, HeaderValue)>,
        brought: &AnswerRound,
    ) -> Result<ToolResponse, RequestFault> {
        let tool = &self.entry.tool;
        let mut params = CallToolRequestParams::new(tool.clone()).with_arguments(arguments);
        params.input_responses.clone_from(&brought.answers);
        params.request_state.clone_from(&brought.state);
        let (meta, call) = (self.meta(connection, id), Some(self.context()));
        let repeated = RepeatedParts { name: Some(tool.clone()), arguments: headers };
        let (method, params) = ("tools/call", &params);
        let request = ClientRequest { id, method, params, meta, repeated, call };
        ToolResponse::decode(&connection.client().request(request).await?)
    }

    pub(super) fn context(&self) -> CallContext {
        CallContext { sending: self.sending.clone(), link: self.attempt.link.clone() }
    }

    /// Records the submission again before an answer goes to a server that works on the call.
    pub(super) async fn renew(&self) -> Result<(), Failure> {
        self.sending.renew().await
    }

    /// Whether the caller can answer an elicitation, a sampling request or a roots request.
    pub(super) fn can_be_asked(&self) -> bool {
        !self.attempt.abilities.kinds.is_empty()
    }

    /// Asks the caller the inputs that the server requires; until then the server has done nothing.
    async fn inquire(
        &self,
        asks: InputRequired,
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

    /// The `_meta` of the request: progress token, idempotency key, log level, trace context and
    /// task capability.
    fn meta(&self, connection: &Connection, id: i64) -> JsonObject {
        let mut meta = RequestMetaObject::default();
        meta.set_progress_token(ProgressToken(NumberOrString::Number(id)));
        if let Some(key) = self.attempt.key.as_ref().filter(|_| self.entry.enforces_key) {
            meta.insert(KEY.to_owned(), json!(key));
        }
        if let Some(level) = &self.attempt.abilities.remarks {
            meta.insert(LOG_LEVEL.to_owned(), json!(level));
        }
        for (name, value) in self.attempt.trace_fields() {
            meta.insert(name.to_owned(), json!(value));
        }
        if let Some(able) = connection.with_tasks().filter(|_| self.attempt.abilities.patient) {
            meta.set_client_capabilities(able.clone());
        }
        meta.0.0
    }

    pub(super) fn taken(
        &self,
        answered: Result<ToolResponse, RequestFault>,
        connection: &Connection,
    ) -> Result<Output, Failure> {
        let asked = connection.handler().take_declined();
        let done = self.effect(EffectState::Committed);
        match answered {
            Ok(ToolResponse::Complete(result)) if result.is_error() => {
                // A tool that failed may have committed part of its effect.
                let failure =
                    answer::failed(result, &self.entry, self.effect(EffectState::Unknown));
                Err(match asked {
                    Some(asked) => {
                        let stop = while_running(answer::unanswerable(&self.entry.tool, &asked));
                        let (partial, report) = (failure.report, None);
                        Failure { stop, partial, report, ..failure }
                    }
                    None => failure,
                })
            }
            Ok(ToolResponse::Complete(result)) => answer::taken(result, &self.entry, done),
            Ok(ToolResponse::InputRequired(result)) => {
                let stop = answer::asks(&result, &self.entry);
                Err(Failure::new(stop, self.effect(EffectState::NotCommitted)))
            }
            // A task inside of a task.
            Ok(ToolResponse::Task(_)) => Err(self.undecodable()),
            Err(fault) => Err(self.failed(&fault, connection)),
        }
    }

    /// Maps a request without a result.
    pub(super) fn failed(&self, fault: &RequestFault, connection: &Connection) -> Failure {
        match (fault, fault.meaning()) {
            (RequestFault::Refused(error), _) => {
                if error.code == ErrorCode::HEADER_MISMATCH {
                    // The headers follow the tool list, which may have changed.
                    connection.handler().tools_changed();
                }
                self.refused(error)
            }
            (RequestFault::Undecodable, _) => self.undecodable(),
            // An unsent request has no effect, whatever the fault says.
            (_, Some((stop, effect))) if self.sending.stage() == SendStage::Sent => {
                Failure::new(while_running(stop), self.effect(effect))
            }
            (_, Some((stop, _))) => self.cut_short(while_running(stop)),
            (RequestFault::Http(..) | RequestFault::Closed | RequestFault::Unsent, None) => {
                self.broken(connection)
            }
        }
    }

    /// Maps a JSON-RPC error: the server rejected the request, or the effect is unknown.
    pub(super) fn refused(&self, error: &ErrorData) -> Failure {
        let (code, effect) = match error.code {
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
        let (tool, said) = (&self.entry.tool, one_line(&error.message));
        let stop = Stop::new(code, format!("`{tool}` was refused by its server: {said}"));
        Failure::new(stop.because(cause), self.effect(effect))
    }

    /// The server did respond, so the effect may have been committed.
    fn undecodable(&self) -> Failure {
        let words = format!("`{}` was answered, and its answer cannot be decoded", self.entry.tool);
        let stop = running(Code::OutputInvalid, words);
        Failure::new(stop, self.effect(EffectState::Unknown))
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
