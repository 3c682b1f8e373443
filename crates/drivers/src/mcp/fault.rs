//! Request faults: why a request to a server has no result, as a refusal and an effect state.

use std::sync::Arc;

use haft_model::{Cause, CauseDetail, Code, EffectState, LoginFailure, Stop, Timestamp};
use haft_sandbox::Forbidden;
use rmcp::model::ErrorData;

use crate::http::egress_allowlist;
use crate::http::retry_after::wished;
use crate::web::{MOST_BYTES, RequestFailure};

/// Limit of the scopes that a refusal repeats.
const MOST_SCOPES: usize = 64;

/// Why a request has no result.
#[derive(Clone, Debug)]
pub(super) enum RequestFault {
    /// The server answered with a JSON-RPC error.
    Refused(ErrorData),
    /// The server answered, and its response cannot be decoded.
    Undecodable,
    /// The HTTP exchange with this host failed.
    Http(Arc<str>, HttpFault),
    /// The connection is closed.
    Closed,
    /// The request was withheld: its call was cancelled, or its submission is not on record.
    Unsent,
}

/// Why an HTTP exchange failed.
#[derive(Clone, Debug)]
pub(super) enum HttpFault {
    /// The connection could not be made, so nothing was sent.
    Unreachable,
    /// The address guard refused the address.
    Forbidden(Forbidden),
    /// The connection broke; the server may have received the request.
    Broken,
    /// The response exceeds the size limit.
    TooLarge,
    /// The server refused with this HTTP status.
    Status(u16),
    /// The server failed with this HTTP status.
    Failed(u16),
    /// The server limits the rate of requests; with the text of its `Retry-After` header.
    RateLimited(Option<String>),
    /// The server wants a login.
    LoginRequired,
    /// The login lacks scopes; with the challenge and the scopes that it names.
    InsufficientScope(String, Option<String>),
    /// The server does not know the session any more.
    SessionExpired,
    /// The response is of this media type, which is no message.
    MediaType(Option<String>),
}

impl RequestFault {
    /// The refusal and the effect state of a write, where the HTTP exchange decides them.
    pub(super) fn meaning(&self) -> Option<(Stop, EffectState)> {
        match self {
            RequestFault::Http(host, fault) => Some(fault.meaning(host)),
            RequestFault::Refused(_)
            | RequestFault::Undecodable
            | RequestFault::Closed
            | RequestFault::Unsent => None,
        }
    }
}

impl HttpFault {
    fn meaning(&self, host: &str) -> (Stop, EffectState) {
        use EffectState::{NotCommitted, Unknown};
        let unavailable = |words: String| Stop::new(Code::DependencyUnavailable, words);
        match self {
            HttpFault::Forbidden(forbidden) => (egress_allowlist::refused(forbidden), NotCommitted),
            HttpFault::Unreachable => {
                (unavailable(format!("`{host}` cannot be reached")), NotCommitted)
            }
            HttpFault::Broken => {
                let words = format!("the connection to `{host}` broke before it answered");
                (unavailable(words), Unknown)
            }
            HttpFault::TooLarge => {
                let words = format!("`{host}` answered with more than {MOST_BYTES} bytes");
                (Stop::new(Code::ResultTooLarge, words), Unknown)
            }
            HttpFault::Status(status) => (refused(host, *status), NotCommitted),
            HttpFault::Failed(status) => {
                (unavailable(format!("the server answered {status}")), Unknown)
            }
            HttpFault::RateLimited(wait) => (rate_limited(wait.as_deref()), NotCommitted),
            HttpFault::LoginRequired => (login_required(), NotCommitted),
            HttpFault::InsufficientScope(challenge, scopes) => {
                (insufficient_scope(challenge, scopes.as_deref()), NotCommitted)
            }
            HttpFault::SessionExpired => {
                (unavailable("the server has forgotten the session".to_owned()), NotCommitted)
            }
            HttpFault::MediaType(kind) => {
                let kind = kind.as_deref().unwrap_or("nothing at all");
                let words = format!("the server answered with `{kind}`, which is no message");
                (Stop::new(Code::OutputInvalid, words), Unknown)
            }
        }
    }
}

fn refused(host: &str, status: u16) -> Stop {
    let words = format!("`{host}` answered {status}");
    match status {
        403 => Stop::new(Code::PermissionDenied, words),
        300..=399 => {
            let words = format!("{words}, which points elsewhere and is not followed");
            Stop::new(Code::SetupRequired, words)
        }
        _ => Stop::new(Code::DependencyUnavailable, words),
    }
}

fn rate_limited(wait: Option<&str>) -> Stop {
    let wait = wait.and_then(|text| wished(text, Timestamp::now()));
    let mut cause = Cause::running();
    cause.extend(wait.map(CauseDetail::RetryAfterMs).into_iter().collect());
    Stop::new(Code::RateLimited, "the server is asked too often").because(cause)
}

fn login_required() -> Stop {
    let stop = Stop::new(Code::CredentialMissing, "the server wants a login");
    stop.because(CauseDetail::Login(LoginFailure::Expired)).help(
        "`haft login` with the driver's name logs in, or name a login under \
         `server.auth.bearer` or `server.headers`",
    )
}

fn insufficient_scope(challenge: &str, scopes: Option<&str>) -> Stop {
    let scopes = scopes.unwrap_or_default().split_whitespace();
    let scopes = scopes.take(MOST_SCOPES).map(str::to_owned).collect();
    let cause = [
        CauseDetail::Login(LoginFailure::Insufficient),
        CauseDetail::Scopes(scopes),
        CauseDetail::Challenge(challenge.to_owned()),
    ];
    Stop::new(Code::PermissionDenied, "the login does not reach that far")
        .because(cause)
        .help("`haft login` with the driver's name asks for what it lacks")
}

/// The refusal of a server whose HTTP client could not be built.
pub(super) fn unready(fault: RequestFailure) -> Stop {
    match fault {
        RequestFailure::Stopped(stop) => stop,
        _ => Stop::new(Code::Internal, "the http client could not be set up"),
    }
}
