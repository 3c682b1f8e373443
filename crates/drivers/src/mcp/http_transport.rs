//! Streamable HTTP transport: posts each message to a remote server with our guarded HTTP client.
//!
//! Responses are size-limited before they are read, redirects are not followed, and a connection
//! that could not be made is distinguished from one that broke.

use std::sync::{Arc, OnceLock};

use reqwest::header::{
    ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use reqwest::{Body, Client, Method, Request, Response, StatusCode, Url};
use rmcp::model::{ErrorData, ProtocolVersion};
use rmcp::transport::auth::WWWAuthenticateParams;

use super::fault::{HttpFault, RequestFault};
use super::message::Incoming;
use super::request_headers::version_header;
use super::sse::SseStream;
use crate::web::{self, HttpResponse, MOST_BYTES, Sending, checked_body, forbidden};

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Size limits of a `WWW-Authenticate` challenge and of a `Retry-After` header, in bytes.
const LONGEST_CHALLENGE: usize = 4096;
const LONGEST_RETRY_AFTER: usize = 128;

/// The HTTP side of a connection to one remote server.
pub(super) struct HttpTransport {
    /// For requests that are safe to resend: reuses connections.
    client: Client,
    /// For writes: each gets a fresh connection.
    writes: Client,
    url: Url,
    host: Arc<str>,
    /// Headers of every request; some values are secret.
    headers: HeaderMap,
    /// The session that the server opened with the handshake, if it did.
    session: OnceLock<HeaderValue>,
    /// The headers of every request after the handshake.
    agreed: OnceLock<HeaderMap>,
}

/// A message to post.
pub(super) struct Post<'a> {
    pub(super) kind: PostKind,
    pub(super) body: Vec<u8>,
    /// The headers of this message.
    pub(super) headers: HeaderMap,
    /// The submission of the call that the message makes.
    pub(super) sending: Option<&'a Arc<Sending>>,
}

/// What a message is, as far as its response depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PostKind {
    /// `server/discover`: any client error means that the server does not know it.
    Discover,
    /// `initialize`: its response may open a session.
    Initialize,
    Request,
    /// A notification, or an answer to the server: it has no response.
    OneWay,
}

/// The response to a posted message.
pub(super) enum PostReply {
    /// A body of this media type.
    Body(Vec<u8>, Option<String>),
    Events(SseStream),
    /// The server accepted the message, and sends no response.
    Accepted,
}

impl HttpTransport {
    pub(super) fn new(
        client: Client,
        writes: Client,
        url: Url,
        given: &HeaderMap,
    ) -> HttpTransport {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.extend(given.clone());
        let host = Arc::from(url.host_str().unwrap_or_default());
        let (session, agreed) = (OnceLock::new(), OnceLock::new());
        HttpTransport { client, writes, url, host, headers, session, agreed }
    }

    /// Sets the protocol version of all later requests.
    pub(super) fn agree(&self, version: &ProtocolVersion) {
        let mut headers = self.headers.clone();
        let session = self.session.get().map(|session| (SESSION, session.clone()));
        for (name, value) in session.into_iter().chain(version_header(version)) {
            // A header of the manifest is never replaced.
            headers.entry(name).or_insert(value);
        }
        let _ = self.agreed.set(headers);
    }

    pub(super) fn has_session(&self) -> bool {
        self.session.get().is_some()
    }

    /// Posts a message, and returns the response as far as its head decides it.
    pub(super) async fn post(&self, post: Post<'_>) -> Result<PostReply, RequestFault> {
        let Post { kind, body, headers, sending } = post;
        let (client, body) = match sending.filter(|sending| sending.is_announced()) {
            Some(sending) => (&self.writes, checked_body(body, sending.clone())),
            None => (&self.client, Body::from(body)),
        };
        let mut request = self.request(Method::POST, headers);
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        *request.body_mut() = Some(body);
        let response = self.send(client, request).await?;
        self.reply(kind, response).await
    }

    /// Opens the stream of the session, or resumes a stream after an event.
    pub(super) async fn stream(&self, after: Option<&str>) -> Result<SseStream, RequestFault> {
        let after = after.and_then(|id| HeaderValue::from_str(id).ok());
        let headers = after.map(|id| (LAST_EVENT, id)).into_iter().collect();
        let response = self.send(&self.client, self.request(Method::GET, headers)).await?;
        let (status, kind) = (response.status(), web::media_type(&response));
        match status.is_success() && kind.as_deref() == Some(EVENTS) {
            true => Ok(SseStream::new(response)),
            false => Err(self.fault(HttpFault::Status(status.as_u16()))),
        }
    }

    /// Ends the session.
    pub(super) async fn delete(&self) {
        let request = self.request(Method::DELETE, HeaderMap::new());
        // The server forgets an unused session by itself.
        let _ = self.send(&self.client, request).await;
    }

    pub(super) fn fault(&self, fault: HttpFault) -> RequestFault {
        RequestFault::Http(self.host.clone(), fault)
    }

    fn request(&self, method: Method, further: HeaderMap) -> Request {
        let mut request = Request::new(method, self.url.clone());
        let mut headers = self.agreed.get().unwrap_or(&self.headers).clone();
        for (name, value) in further {
            // A header that the server asks the client to mirror never replaces a credential.
            if let Some(name) = name.filter(|name| !self.headers.contains_key(name)) {
                headers.insert(name, value);
            }
        }
        *request.headers_mut() = headers;
        request
    }

    async fn send(&self, client: &Client, request: Request) -> Result<Response, RequestFault> {
        let response = client.execute(request).await.map_err(|fault| {
            self.fault(match forbidden(&fault) {
                Some(forbidden) => HttpFault::Forbidden(forbidden),
                None if fault.is_connect() => HttpFault::Unreachable,
                None => HttpFault::Broken,
            })
        })?;
        match (response.status(), challenge(response.headers())) {
            (StatusCode::UNAUTHORIZED, _) => Err(self.fault(HttpFault::LoginRequired)),
            (StatusCode::FORBIDDEN, Some(challenge)) => {
                let scope = WWWAuthenticateParams::parse(&challenge, response.url()).scope;
                Err(self.fault(HttpFault::InsufficientScope(challenge, scope)))
            }
            _ => Ok(response),
        }
    }

    async fn reply(&self, kind: PostKind, response: Response) -> Result<PostReply, RequestFault> {
        let status = response.status();
        if kind == PostKind::OneWay && status.is_success()
            || matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT)
        {
            return Ok(PostReply::Accepted);
        }
        if status == StatusCode::NOT_FOUND && self.has_session() {
            return Err(self.fault(HttpFault::SessionExpired));
        }
        let media_type = web::media_type(&response);
        if status.is_success() {
            if let (PostKind::Initialize, Some(id)) = (kind, response.headers().get(SESSION)) {
                let _ = self.session.set(id.clone());
            }
            if media_type.as_deref() == Some(EVENTS) {
                return Ok(PostReply::Events(SseStream::new(response)));
            }
            return Ok(PostReply::Body(self.body(response).await?, media_type));
        }
        let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = retry_after.filter(|text| text.len() <= LONGEST_RETRY_AFTER);
        let retry_after = retry_after.map(str::to_owned);
        let body = self.body(response).await?;
        Err(self.refusal(kind, status, &body, retry_after))
    }

    async fn body(&self, response: Response) -> Result<Vec<u8>, RequestFault> {
        match HttpResponse::from(response).body(MOST_BYTES).await {
            Ok(body) if !body.cut => Ok(body.bytes),
            Ok(_) => Err(self.fault(HttpFault::TooLarge)),
            Err(_) => Err(self.fault(HttpFault::Broken)),
        }
    }

    /// Maps an error status. A JSON-RPC error in the body is kept; any client error to
    /// `server/discover` becomes one, so that the handshake falls back.
    fn refusal(
        &self,
        kind: PostKind,
        status: StatusCode,
        body: &[u8],
        retry_after: Option<String>,
    ) -> RequestFault {
        let error = match Incoming::decode(body) {
            Some(Incoming::Response(_, Err(RequestFault::Refused(error)))) => Some(error),
            _ => None,
        };
        let is_unknown = kind == PostKind::Discover
            && status.is_client_error()
            && status != StatusCode::FORBIDDEN;
        match (status, error) {
            (_, error) if is_unknown => {
                let words = format!("it was answered with {status}");
                RequestFault::Refused(
                    error.unwrap_or_else(|| ErrorData::invalid_request(words, None)),
                )
            }
            (StatusCode::TOO_MANY_REQUESTS, _) => self.fault(HttpFault::RateLimited(retry_after)),
            (_, Some(error)) => RequestFault::Refused(error),
            (status, None) if status.is_server_error() => {
                self.fault(HttpFault::Failed(status.as_u16()))
            }
            (status, None) => self.fault(HttpFault::Status(status.as_u16())),
        }
    }
}

/// The bearer challenge of a `WWW-Authenticate` header, within the size limit.
pub(super) fn challenge(headers: &HeaderMap) -> Option<String> {
    let said = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let bearer =
        |said: &&str| said.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("bearer"));
    said.filter(|said| said.len() <= LONGEST_CHALLENGE).find(bearer).map(str::to_owned)
}
