//! OAuth token requests: sends a form or a GET to an authorization server, and reads a JSON
//! response.

use std::net::IpAddr;
use std::sync::Arc;

use haft_model::{Code, Stop};
use haft_sandbox::{AddressGuard, CheckedUrl};
use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::Value;

use super::{ConnectRoute, Outgoing, RequestFailure, Sending, SubmissionPoint, look_up};
use crate::http::encoded;

/// Size limit of a response, in bytes.
const MOST: usize = 256 * 1024;

/// The response of an authorization server.
pub(crate) struct TokenResponse {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl TokenResponse {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The OAuth error code.
    pub(crate) fn error(&self) -> Option<&str> {
        self.body.get("error").and_then(Value::as_str)
    }

    /// The status and the error code, without anything that could be secret.
    pub(crate) fn in_words(&self) -> String {
        let plain = |name: &&str| {
            name.len() < 60 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        match self.error().filter(plain) {
            Some(error) => format!("{} ({error})", self.status),
            None => self.status.to_string(),
        }
    }
}

/// Posts a form.
pub(crate) async fn post(
    guard: &AddressGuard,
    url: &str,
    fields: &[(&str, &str)],
) -> Result<TokenResponse, Stop> {
    let pairs = fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
    let text = pairs.collect::<Vec<_>>().join("&");
    let mut headers = accepting();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    let url = checked(guard, url)?;
    sent(guard, Outgoing { method: Method::POST, url, headers, body: Some(text.into_bytes()) })
        .await
}

/// Gets a document.
pub(crate) async fn get(guard: &AddressGuard, url: &str) -> Result<TokenResponse, Stop> {
    let url = checked(guard, url)?;
    sent(guard, Outgoing { headers: accepting(), ..Outgoing::get(url) }).await
}

fn accepting() -> HeaderMap {
    HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))])
}

/// Refuses plain HTTP, except to this machine, because tokens are sent.
fn checked(guard: &AddressGuard, url: &str) -> Result<CheckedUrl, Stop> {
    let refused = |words: String| Stop::new(Code::SandboxViolation, words);
    let checked = guard.check_url(url).map_err(|forbidden| refused(forbidden.to_string()))?;
    match checked.is_plain() && !is_this_machine(checked.host()) {
        true => Err(refused(format!(
            "`{}` is not encrypted, so no login is sent there",
            checked.host()
        ))),
        false => Ok(checked),
    }
}

pub(crate) fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Sends without following redirects, so that a response cannot send a token elsewhere.
async fn sent(guard: &AddressGuard, request: Outgoing) -> Result<TokenResponse, Stop> {
    let host = request.url.host().to_owned();
    let sending = Arc::new(Sending::silent());
    let way = ConnectRoute {
        guard,
        lookup: look_up,
        sending: &sending,
        submitted: SubmissionPoint::OnWrite,
    };
    let mut answer = way.send(&request).await.map_err(|fault| unanswered(&host, fault))?;
    let status = answer.status().as_u16();
    let read = answer.body(MOST).await.map_err(|fault| unanswered(&host, fault))?;
    Ok(TokenResponse { status, body: serde_json::from_slice(&read.bytes).unwrap_or_default() })
}

fn unanswered(host: &str, fault: RequestFailure) -> Stop {
    let words = fault.told(host);
    match fault {
        RequestFailure::Stopped(stop) => stop,
        RequestFailure::Forbidden(_) => Stop::new(Code::SandboxViolation, words),
        RequestFailure::Unknown
        | RequestFailure::Unreachable
        | RequestFailure::Broken
        | RequestFailure::Gone
        | RequestFailure::Unrecorded
        | RequestFailure::Unready => Stop::new(Code::DependencyUnavailable, words),
    }
}
