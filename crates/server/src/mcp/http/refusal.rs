//! HTTP refusals: the status and body of requests that no handler sees.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use rmcp::ErrorData;
use rmcp::model::{RequestId, ServerJsonRpcMessage};

use super::document;
use crate::mcp::message::MalformedMessage;
use crate::mcp::sessions::{SessionRefusal, SessionsFull};
use crate::rest::Problem;

/// `Retry-After` of a client that found no room, in seconds.
const RETRY_AFTER: &str = "30";

/// Why a request is refused before it is dispatched.
pub(super) enum Refusal {
    /// No actor is known.
    Anonymous,
    /// The method has no meaning here; the allowed ones are named.
    Method(&'static str),
    /// The client does not accept what the answer may be.
    NotAcceptable(&'static str),
    /// The body is not JSON by its content type.
    MediaType,
    /// The body is no message.
    Malformed(MalformedMessage),
    /// The message contradicts its headers or its version.
    Invalid(Option<RequestId>, ErrorData),
    /// The request needs a session and names none.
    SessionRequired,
    /// The session is unknown, or of another actor.
    SessionUnknown,
    /// There is no room for another session.
    NoSession(SessionRefusal),
}

impl From<Refusal> for Response {
    fn from(refusal: Refusal) -> Response {
        let plain = |status: StatusCode, words: &'static str| (status, words).into_response();
        match refusal {
            Refusal::Anonymous => {
                Problem::of_wire(StatusCode::UNAUTHORIZED, "no actor is known to call")
                    .into_response()
            }
            Refusal::Method(allowed) => {
                let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
                response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
                response
            }
            Refusal::NotAcceptable(words) => plain(StatusCode::NOT_ACCEPTABLE, words),
            Refusal::MediaType => plain(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "Unsupported Media Type: Content-Type must be application/json",
            ),
            Refusal::Malformed(malformed) => document(StatusCode::BAD_REQUEST, &malformed.answer()),
            Refusal::Invalid(id, error) => {
                document(StatusCode::BAD_REQUEST, &ServerJsonRpcMessage::error(error, id))
            }
            Refusal::SessionRequired => {
                plain(StatusCode::BAD_REQUEST, "Bad Request: Session ID is required")
            }
            Refusal::SessionUnknown => plain(StatusCode::NOT_FOUND, "Not Found: Session not found"),
            Refusal::NoSession(refusal) => no_session(&refusal),
        }
    }
}

fn no_session(refusal: &SessionRefusal) -> Response {
    let (status, words) = match refusal {
        SessionRefusal::Full(SessionsFull::Actor(most)) => (
            StatusCode::TOO_MANY_REQUESTS,
            format!("{most} sessions of yours are in use; end one, or come back later"),
        ),
        SessionRefusal::Full(SessionsFull::All(most)) => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!("{most} sessions are in use; come back later"),
        ),
        SessionRefusal::NoRandomness => (
            StatusCode::SERVICE_UNAVAILABLE,
            "the system gives no random bytes; come back later".to_owned(),
        ),
    };
    let mut response = Problem::of_wire(status, words).into_response();
    let after = HeaderValue::from_static(RETRY_AFTER);
    response.headers_mut().insert(header::RETRY_AFTER, after);
    response
}

/// The answer to a truncated request.
pub(crate) fn unreadable(fault: &axum::Error) -> Response {
    let words = format!("the request cannot be read: {fault}");
    (StatusCode::BAD_REQUEST, words).into_response()
}
