//! OAuth HTTP client: sends the requests of a login through the address guard.

use std::sync::Arc;

use haft_model::host::is_own;
use haft_sandbox::AddressGuard;
use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use rmcp::model::ProtocolVersion;
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest,
};
use serde_json::json;

use crate::mcp::http_transport::challenge;
use crate::web::form::is_this_machine;
use crate::web::{
    ConnectRoute, DnsLookup, HttpResponse, Outgoing, Sending, SubmissionPoint, look_up,
};

/// Size limit of a response of the authorization server, in bytes.
const MOST_BYTES: usize = 1 << 20;

/// An HTTP client for the login to one server.
pub(super) struct AllowlistedClient {
    guard: AddressGuard,
    lookup: DnsLookup,
    /// Whether the server is on this machine; then the authorization server may be as well.
    here: bool,
}

impl AllowlistedClient {
    pub(super) fn of(server: &str, guard: AddressGuard) -> AllowlistedClient {
        let here = guard.check_url(server).is_ok_and(|url| is_this_machine(url.host()));
        AllowlistedClient { guard, lookup: look_up, here }
    }

    /// Sends `server/discover` without credentials, and returns the challenge of the response.
    pub(super) async fn knock(&self, server: &str) -> Option<String> {
        let version = ProtocolVersion::LATEST;
        let own = json!({ "name": "haft", "version": env!("CARGO_PKG_VERSION") });
        let message = json!({
            "jsonrpc": "2.0", "id": 0, "method": "server/discover",
            "params": { "_meta": {
                "io.modelcontextprotocol/protocolVersion": version.as_str(),
                "io.modelcontextprotocol/clientInfo": own,
                "io.modelcontextprotocol/clientCapabilities": {},
            }},
        });
        let mut headers = HeaderMap::new();
        for (name, value) in [
            (ACCEPT.as_str(), "application/json, text/event-stream"),
            (CONTENT_TYPE.as_str(), "application/json"),
            ("mcp-protocol-version", version.as_str()),
            ("mcp-method", "server/discover"),
        ] {
            headers.insert(
                reqwest::header::HeaderName::from_bytes(name.as_bytes()).ok()?,
                HeaderValue::from_str(value).ok()?,
            );
        }
        let body = Some(message.to_string().into_bytes());
        let answer = self.sent(Method::POST, server, headers, body).await.ok()?;
        challenge(answer.head.headers())
    }

    async fn sent(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Option<Vec<u8>>,
    ) -> Result<HttpResponse<'static>, OAuthHttpClientError> {
        let guard = match AddressGuard::named(url) {
            Ok(named) if self.here && is_this_machine(named.host()) => {
                self.guard.clone().allowing(named.host(), named.port())
            }
            Ok(_) | Err(_) => self.guard.clone(),
        };
        let url = guard.check_url(url)?;
        if url.is_plain() && !is_own(url.host()) {
            return Err(format!("`{}` is not encrypted", url.host()).into());
        }
        let request = Outgoing { method, url, headers, body };
        let sending = Arc::new(Sending::silent());
        let (lookup, submitted) = (self.lookup, SubmissionPoint::OnWrite);
        let way = ConnectRoute { guard: &guard, lookup, sending: &sending, submitted };
        way.send(&request).await.map_err(|_| unanswered())
    }
}

impl OAuthHttpClient for AllowlistedClient {
    fn execute(&self, asked: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let (parts, body) = asked.request.into_parts();
            let body = (!body.is_empty()).then_some(body);
            let url = parts.uri.to_string();
            let mut answer = self.sent(parts.method, &url, parts.headers, body).await?;
            let mut response = http::Response::new(read(&mut answer).await?);
            *response.status_mut() = answer.status();
            *response.headers_mut() = answer.head.headers().clone();
            Ok(response)
        })
    }
}

/// Reads the body; an event stream, which does not end, reads as empty.
async fn read(answer: &mut HttpResponse<'_>) -> Result<Vec<u8>, OAuthHttpClientError> {
    if answer.media_type().as_deref() == Some("text/event-stream") {
        return Ok(Vec::new());
    }
    let read = answer.body(MOST_BYTES).await.map_err(|_| unanswered())?;
    match read.cut {
        true => Err("the answer of the authorization server is too large".into()),
        false => Ok(read.bytes),
    }
}

fn unanswered() -> OAuthHttpClientError {
    "the authorization server cannot be reached".into()
}
