//! Streamable HTTP transport: sends each message to a remote server with our guarded HTTP client.
//!
//! Responses are size-limited before they are read, redirects are not followed, and a connection
//! that could not be made is distinguished from one that broke.

use std::collections::HashMap;
use std::sync::Arc;

use haft_model::{Cause, CauseDetail, Code, EffectState, LoginFailure, Stop, Timestamp};
use haft_sandbox::Forbidden;
use reqwest::header::{
    ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::service::ClientInitializeError;
use rmcp::transport::auth::WWWAuthenticateParams;
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse,
};

use super::digits;
use super::stream::events;
use super::unreadable;
use super::wire::Going;
use crate::http::egress_allowlist;
use crate::http::retry_after::wished;
use crate::web::{
    self, HttpResponse, MOST_BYTES, RequestFailure, Sending, checked_body, forbidden,
};

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";

/// Limits of a `WWW-Authenticate` challenge: bytes, and scopes.
const LONGEST_CHALLENGE: usize = 4096;
const MOST_SCOPES: usize = 64;

/// The HTTP client of one remote server.
#[derive(Clone)]
pub(super) struct Remote {
    /// For requests that are safe to resend: reuses connections.
    pub(super) client: Client,
    /// For writes: each gets a fresh connection.
    pub(super) writes: Client,
    pub(super) host: Arc<str>,
    /// Headers of every request; some values are secret.
    pub(super) headers: HeaderMap,
}

#[derive(Debug)]
pub(super) enum RemoteFault {
    /// The connection could not be made, so nothing was sent.
    Unreachable(Arc<str>),
    /// The address guard refused the address.
    Forbidden(Forbidden),
    /// The connection broke; the server may have received the request.
    Broken(Arc<str>),
    /// The response exceeds the size limit.
    TooLarge(Arc<str>),
    /// The server refused with this HTTP status.
    Status(Arc<str>, u16),
}

impl std::fmt::Display for RemoteFault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RemoteFault::Unreachable(host) => write!(formatter, "`{host}` cannot be reached"),
            RemoteFault::Forbidden(forbidden) => forbidden.fmt(formatter),
            RemoteFault::Broken(host) => {
                write!(formatter, "the connection to `{host}` broke before it answered")
            }
            RemoteFault::TooLarge(host) => {
                write!(formatter, "`{host}` answered with more than {MOST_BYTES} bytes")
            }
            RemoteFault::Status(host, status) => write!(formatter, "`{host}` answered {status}"),
        }
    }
}

impl std::error::Error for RemoteFault {}

type RemoteResult = StreamableHttpError<RemoteFault>;

impl Remote {
    fn dressed(
        &self,
        request: RequestBuilder,
        session: Option<&str>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> RequestBuilder {
        let request = request.header(ACCEPT, format!("{JSON}, {EVENTS}"));
        let request = custom.into_iter().fold(request, |request, (name, value)| {
            // A header that the server asks the client to mirror never replaces a credential.
            if self.headers.contains_key(&name) { request } else { request.header(name, value) }
        });
        let request = request.headers(self.headers.clone());
        match session {
            Some(session) => request.header(SESSION, session),
            None => request,
        }
    }

    async fn sent(&self, request: RequestBuilder) -> Result<Response, RemoteResult> {
        let answer = request.send().await.map_err(|fault| {
            StreamableHttpError::Client(match forbidden(&fault) {
                Some(forbidden) => RemoteFault::Forbidden(forbidden),
                None if fault.is_connect() => RemoteFault::Unreachable(self.host.clone()),
                None => RemoteFault::Broken(self.host.clone()),
            })
        })?;
        let challenge = challenge(answer.headers());
        match (answer.status(), challenge) {
            (StatusCode::UNAUTHORIZED, challenge) => {
                let wanted = AuthRequiredError::new(challenge.unwrap_or_default());
                Err(StreamableHttpError::AuthRequired(wanted))
            }
            (StatusCode::FORBIDDEN, Some(challenge)) => {
                let read = WWWAuthenticateParams::parse(&challenge, answer.url());
                let wanted = InsufficientScopeError::new(challenge, read.scope);
                Err(StreamableHttpError::InsufficientScope(wanted))
            }
            _ => Ok(answer),
        }
    }

    async fn body(&self, answer: Response) -> Result<Vec<u8>, RemoteResult> {
        let read = HttpResponse::from(answer).body(MOST_BYTES).await;
        let fault = match read {
            Ok(body) if !body.cut => return Ok(body.bytes),
            Ok(_) => RemoteFault::TooLarge(self.host.clone()),
            Err(_) => RemoteFault::Broken(self.host.clone()),
        };
        Err(StreamableHttpError::Client(fault))
    }

    /// Maps the HTTP response of a message: accepted, JSON or an event stream.
    async fn answered(
        &self,
        message: &ClientJsonRpcMessage,
        answer: Response,
        had_session: bool,
    ) -> Result<StreamableHttpPostResponse, RemoteResult> {
        let status = answer.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && had_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let session = text(&answer, SESSION);
        let kind = web::media_type(&answer);
        if status.is_success() && kind.as_deref() == Some(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(events(answer), session));
        }
        let retry_after = text(&answer, RETRY_AFTER.as_str());
        let body = self.body(answer).await?;
        let said = serde_json::from_slice::<ServerJsonRpcMessage>(&digits::marked(&body)).ok();
        if status.is_success() {
            return match said {
                Some(said) => Ok(StreamableHttpPostResponse::Json(said, session)),
                None if !matches!(message, ClientJsonRpcMessage::Request(_)) => {
                    Ok(StreamableHttpPostResponse::Accepted)
                }
                None => match message {
                    ClientJsonRpcMessage::Request(request) if is_json(kind.as_deref()) => {
                        let error = unreadable::error();
                        let said = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
                        Ok(StreamableHttpPostResponse::Json(said, session))
                    }
                    _ => Err(StreamableHttpError::UnexpectedContentType(kind)),
                },
            };
        }
        self.refused(message, status, said, retry_after).map(|said| {
            let session = if had_session { session } else { None };
            StreamableHttpPostResponse::Json(said, session)
        })
    }

    /// Maps an error status. A JSON-RPC error in the body is kept; any client error to
    /// `server/discover` becomes one, so that the handshake falls back.
    fn refused(
        &self,
        message: &ClientJsonRpcMessage,
        status: StatusCode,
        said: Option<ServerJsonRpcMessage>,
        retry_after: Option<String>,
    ) -> Result<ServerJsonRpcMessage, RemoteResult> {
        let error = match said {
            Some(ServerJsonRpcMessage::Error(error)) => Some(error),
            Some(_) | None => None,
        };
        if let (ClientJsonRpcMessage::Request(request), true) = (message, status.is_client_error())
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
            && status != StatusCode::FORBIDDEN
        {
            let words = format!("it was answered with {status}");
            let data = error.map(|error| error.error);
            let data = data.unwrap_or_else(|| ErrorData::invalid_request(words, None));
            return Ok(ServerJsonRpcMessage::error(data, Some(request.id.clone())));
        }
        match (status, error) {
            (StatusCode::TOO_MANY_REQUESTS, _) => {
                Err(HttpStatusError::new(status.as_u16(), retry_after).into())
            }
            (_, Some(error)) => Ok(ServerJsonRpcMessage::Error(error)),
            (status, None) if status.is_server_error() => {
                Err(HttpStatusError::new(status.as_u16(), retry_after).into())
            }
            (status, None) => {
                let fault = RemoteFault::Status(self.host.clone(), status.as_u16());
                Err(StreamableHttpError::Client(fault))
            }
        }
    }
}

impl StreamableHttpClient for Remote {
    type Error = RemoteFault;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, RemoteResult> {
        let body = serde_json::to_vec(&message)?;
        let (client, body) = match write_of(&message) {
            Some(sending) => (&self.writes, checked_body(body, sending)),
            None => (&self.client, body.into()),
        };
        let request = client.post(uri.as_ref()).header(CONTENT_TYPE, JSON).body(body);
        let answer = self.sent(self.dressed(request, session.as_deref(), custom)).await?;
        self.answered(&message, answer, session.is_some()).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), RemoteResult> {
        let request = self.client.delete(uri.as_ref());
        self.sent(self.dressed(request, Some(&session), custom)).await.map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        _: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxedSseResponse, RemoteResult> {
        let request = self.client.get(uri.as_ref());
        let request = match last {
            Some(last) => request.header(LAST_EVENT, last),
            None => request,
        };
        let answer = self.sent(self.dressed(request, session.as_deref(), custom)).await?;
        match web::media_type(&answer) {
            _ if answer.status() == StatusCode::METHOD_NOT_ALLOWED => {
                Err(StreamableHttpError::ServerDoesNotSupportSse)
            }
            Some(kind) if kind == EVENTS && answer.status().is_success() => Ok(events(answer)),
            kind => Err(StreamableHttpError::UnexpectedContentType(kind)),
        }
    }
}

/// The submission of the call in a message, where it is a write.
fn write_of(message: &ClientJsonRpcMessage) -> Option<Arc<Sending>> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    let ClientRequest::CallToolRequest(call) = &request.request else { return None };
    let going = call.extensions.get::<Going>()?;
    going.sending.is_announced().then(|| going.sending.clone())
}

/// The bearer challenge of a `WWW-Authenticate` header, within the size limit.
pub(super) fn challenge(headers: &HeaderMap) -> Option<String> {
    let said = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let bearer =
        |said: &&str| said.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("bearer"));
    said.filter(|said| said.len() <= LONGEST_CHALLENGE).find(bearer).map(str::to_owned)
}

fn text(answer: &Response, name: &str) -> Option<String> {
    let value = answer.headers().get(name)?.to_str().ok()?;
    Some(value.to_owned())
}

/// The refusal of a failed handshake, where an HTTP fault caused it.
pub(super) fn refusal(fault: &ClientInitializeError) -> Option<Stop> {
    match fault {
        // The library does not expose it as `source()`.
        ClientInitializeError::TransportError { error, .. } => {
            lost(error).or_else(|| lost(&*error.error)).map(|(stop, _)| stop)
        }
        ClientInitializeError::LegacyFallbackFailed { discover, fallback } => {
            refusal(discover).or_else(|| refusal(fallback))
        }
        other => lost(other).map(|(stop, _)| stop),
    }
}

/// Maps an HTTP fault in the error chain to a refusal and to the effect state of a write.
pub(super) fn lost(fault: &(dyn std::error::Error + 'static)) -> Option<(Stop, EffectState)> {
    let mut cause = Some(fault);
    while let Some(found) = cause {
        if let Some(failed) = found.downcast_ref::<RemoteResult>() {
            return Some(meaning(failed));
        }
        cause = found.source();
    }
    None
}

fn meaning(failed: &RemoteResult) -> (Stop, EffectState) {
    use EffectState::{NotCommitted, Unknown};
    let unavailable = |words: String| Stop::new(Code::DependencyUnavailable, words);
    match failed {
        StreamableHttpError::Client(fault) => match fault {
            RemoteFault::Forbidden(forbidden) => {
                (egress_allowlist::refused(forbidden), NotCommitted)
            }
            RemoteFault::Unreachable(_) => (unavailable(fault.to_string()), NotCommitted),
            RemoteFault::Broken(_) => (unavailable(fault.to_string()), Unknown),
            RemoteFault::TooLarge(_) => {
                (Stop::new(Code::ResultTooLarge, fault.to_string()), Unknown)
            }
            RemoteFault::Status(_, 403) => {
                (Stop::new(Code::PermissionDenied, fault.to_string()), NotCommitted)
            }
            RemoteFault::Status(_, 300..=399) => {
                let words = format!("{fault}, which points elsewhere and is not followed");
                (Stop::new(Code::SetupRequired, words), NotCommitted)
            }
            RemoteFault::Status(_, 400..=499) => (unavailable(fault.to_string()), NotCommitted),
            RemoteFault::Status(..) => (unavailable(fault.to_string()), Unknown),
        },
        StreamableHttpError::AuthRequired(_) => {
            let stop = Stop::new(Code::CredentialMissing, "the server wants a login");
            let stop = stop.because(CauseDetail::Login(LoginFailure::Expired));
            let help = "`haft login` with the driver's name logs in, or name a login under \
                        `server.auth.bearer` or `server.headers`";
            (stop.help(help), NotCommitted)
        }
        StreamableHttpError::InsufficientScope(wanted) => {
            let scopes = wanted.required_scope.as_deref().unwrap_or_default();
            let scopes = scopes.split_whitespace().take(MOST_SCOPES).map(str::to_owned);
            let stop = Stop::new(Code::PermissionDenied, "the login does not reach that far");
            let cause = [
                CauseDetail::Login(LoginFailure::Insufficient),
                CauseDetail::Scopes(scopes.collect()),
                CauseDetail::Challenge(wanted.www_authenticate_header.clone()),
            ];
            let help = "`haft login` with the driver's name asks for what it lacks";
            (stop.because(cause).help(help), NotCommitted)
        }
        StreamableHttpError::HttpStatus(answer) if answer.status == 429 => {
            let wait = answer.retry_after.as_deref();
            let wait = wait.and_then(|text| wished(text, Timestamp::now()));
            let mut cause = Cause::running();
            cause.extend(wait.map(CauseDetail::RetryAfterMs).into_iter().collect());
            let stop = Stop::new(Code::RateLimited, "the server is asked too often");
            (stop.because(cause), NotCommitted)
        }
        StreamableHttpError::HttpStatus(answer) => {
            (unavailable(format!("the server answered {}", answer.status)), Unknown)
        }
        StreamableHttpError::SessionExpired => {
            (unavailable("the server has forgotten the session".to_owned()), NotCommitted)
        }
        StreamableHttpError::UnexpectedContentType(kind) => {
            let kind = kind.as_deref().unwrap_or("nothing at all");
            let words = format!("the server answered with `{kind}`, which is no message");
            (Stop::new(Code::OutputInvalid, words), Unknown)
        }
        _ => (unavailable("the connection to the server broke".to_owned()), Unknown),
    }
}

pub(super) fn unready(fault: RequestFailure) -> Stop {
    match fault {
        RequestFailure::Stopped(stop) => stop,
        _ => Stop::new(Code::Internal, "the http client could not be set up"),
    }
}

fn is_json(kind: Option<&str>) -> bool {
    kind.is_some_and(|kind| kind == "application/json")
}
