//! HTTP client: sends one request to a checked address, for all drivers.
//!
//! INVARIANT: a write has its connection to itself, so a failure to connect means that nothing was
//! sent, and the client never retries. On a reused connection the submission is recorded before the
//! request is handed over.

mod checked_body;
mod client;
mod connection_reuse;
mod download;
pub(crate) mod form;
mod sending;

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use haft_model::Stop;
use haft_sandbox::{AddressGuard, CheckedUrl, Forbidden};
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Client, Method, Request, Response, StatusCode};

pub(crate) use checked_body::checked_body;
pub(crate) use client::{Pool, keeping, reconnecting};
pub(crate) use connection_reuse::{Lines, ReusedConnection};
pub(crate) use download::download;
pub(crate) use sending::{SendStage, Sending};

use crate::failure::blocking;
use client::Trust;

/// Redirect limit of a read.
pub(crate) const MOST_REDIRECTS: usize = 5;

/// Size limit of a decompressed body, in bytes.
pub(crate) const MOST_BYTES: usize = 5 * 1024 * 1024;

/// Resolves a host name and a port to socket addresses.
pub(crate) type DnsLookup = fn(&str, u16) -> io::Result<Vec<SocketAddr>>;

/// The system's DNS resolver.
pub(crate) fn look_up(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok((name, port).to_socket_addrs()?.collect())
}

/// An outgoing request. Any part may hold secrets, so it implements no `Debug`.
#[derive(Clone)]
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    pub(crate) url: CheckedUrl,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Vec<u8>>,
}

impl Outgoing {
    /// A GET request without headers.
    pub(crate) fn get(url: CheckedUrl) -> Outgoing {
        Outgoing { method: Method::GET, url, headers: HeaderMap::new(), body: None }
    }
}

/// Why a request got no response.
#[derive(Debug)]
pub(crate) enum RequestFailure {
    /// The DNS lookup failed.
    Unknown,
    /// The address guard refused the address.
    Forbidden(Forbidden),
    /// The connection could not be established.
    Unreachable,
    /// The connection broke, or the response is no HTTP.
    Broken,
    /// The reused connection was closed, and nothing was sent over it.
    Gone,
    /// The submission was not recorded, so nothing was sent.
    Unrecorded,
    /// The HTTP client could not be built.
    Unready,
    /// A blocking task of ours failed.
    Stopped(Stop),
}

impl RequestFailure {
    /// The failure as a message.
    pub(crate) fn told(&self, host: &str) -> String {
        match self {
            RequestFailure::Unknown => format!("`{host}` cannot be looked up"),
            RequestFailure::Forbidden(forbidden) => forbidden.to_string(),
            RequestFailure::Unreachable => format!("`{host}` cannot be reached"),
            RequestFailure::Broken | RequestFailure::Gone => {
                format!("the connection to `{host}` broke before there was an answer")
            }
            RequestFailure::Unrecorded | RequestFailure::Unready => {
                "no request could be made".to_owned()
            }
            RequestFailure::Stopped(stop) => stop.message.clone(),
        }
    }
}

/// When a request counts as submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubmissionPoint {
    /// Before the connection is opened.
    OnConnect,
    /// Once the connection is established, before the first byte.
    OnWrite,
}

/// The route of a request over a connection of its own.
#[derive(Clone, Copy)]
pub(crate) struct ConnectRoute<'a> {
    pub(crate) guard: &'a AddressGuard,
    pub(crate) lookup: DnsLookup,
    pub(crate) sending: &'a Arc<Sending>,
    pub(crate) submitted: SubmissionPoint,
}

impl ConnectRoute<'_> {
    /// Sends one request and returns its response head.
    pub(crate) async fn send(
        self,
        request: &Outgoing,
    ) -> Result<HttpResponse<'static>, RequestFailure> {
        let addresses = addresses(self.guard, self.lookup, &request.url).await?;
        let (sending, trust) = (Arc::clone(self.sending), Trust::of(&request.url));
        // Loading certificates reads files, so it runs on a blocking thread.
        let client = blocking(move || client::once(addresses, sending, trust)).await;
        let client =
            client.map_err(RequestFailure::Stopped)?.map_err(|_| RequestFailure::Unready)?;
        if self.submitted == SubmissionPoint::OnConnect {
            self.sending.begin().await.map_err(|_| RequestFailure::Unrecorded)?;
        }
        Ok(self.answered(exchange(&client, request.clone()).await?).into())
    }

    /// Marks the request as answered.
    fn answered(self, answer: Response) -> Response {
        self.sending.answered(answer.status().as_u16());
        answer
    }
}

async fn exchange(client: &Client, request: Outgoing) -> Result<Response, RequestFailure> {
    let mut sent = Request::new(request.method, request.url.into_url());
    *sent.headers_mut() = request.headers;
    *sent.body_mut() = request.body.map(Into::into);
    let fault = match client.execute(sent).await {
        Ok(answer) => return Ok(answer),
        Err(fault) => fault,
    };
    Err(match (cause::<Forbidden>(&fault), cause::<connection_reuse::ConnectionClosed>(&fault)) {
        (Some(forbidden), _) => RequestFailure::Forbidden(forbidden.clone()),
        (None, Some(connection_reuse::ConnectionClosed)) => RequestFailure::Gone,
        (None, None) if fault.is_connect() => RequestFailure::Unreachable,
        (None, None) => RequestFailure::Broken,
    })
}

/// The refusal of the address guard, if it caused the fault.
pub(crate) fn forbidden(fault: &reqwest::Error) -> Option<Forbidden> {
    cause::<Forbidden>(fault).cloned()
}

/// The first error of type `T` in the chain of sources.
fn cause<T: std::error::Error + 'static>(fault: &reqwest::Error) -> Option<&T> {
    let mut cause = std::error::Error::source(fault);
    while let Some(found) = cause {
        if let Some(ours) = found.downcast_ref::<T>() {
            return Some(ours);
        }
        cause = found.source();
    }
    None
}

/// Resolves a URL's host and checks the addresses. An IP literal was checked with the URL.
async fn addresses(
    guard: &AddressGuard,
    lookup: DnsLookup,
    url: &CheckedUrl,
) -> Result<Vec<SocketAddr>, RequestFailure> {
    if !url.is_name() {
        return Ok(Vec::new());
    }
    let (host, port) = (url.host().to_owned(), url.port());
    let found = blocking(move || lookup(&host, port)).await.map_err(RequestFailure::Stopped)?;
    let found = found.map_err(|_| RequestFailure::Unknown)?;
    let plain: Vec<_> = found.iter().map(SocketAddr::ip).collect();
    guard.check_addresses(url, &plain).map_err(RequestFailure::Forbidden)?;
    Ok(found)
}

/// A response whose head has arrived.
pub(crate) struct HttpResponse<'a> {
    pub(crate) head: Response,
    /// The connection and its pool, where the connection can be reused after the body is read.
    line: Option<(ReusedConnection, &'a Lines)>,
}

/// A body, as far as it was read.
pub(crate) struct ReadBody {
    pub(crate) bytes: Vec<u8>,
    /// Whether the body exceeds the size limit.
    pub(crate) cut: bool,
}

impl From<Response> for HttpResponse<'_> {
    fn from(head: Response) -> Self {
        HttpResponse { head, line: None }
    }
}

impl<'a> HttpResponse<'a> {
    pub(crate) fn over(
        line: ReusedConnection,
        lines: &'a Lines,
        head: Response,
    ) -> HttpResponse<'a> {
        HttpResponse { head, line: Some((line, lines)) }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.head.status()
    }

    /// The next chunk of the body; `None` at its end, when the connection returns to the pool.
    pub(crate) async fn piece(&mut self) -> Result<Option<impl AsRef<[u8]>>, RequestFailure> {
        let piece = self.head.chunk().await.map_err(|_| RequestFailure::Broken)?;
        if let Some((line, lines)) = self.line.take_if(|_| piece.is_none()) {
            lines.done(line);
        }
        Ok(piece)
    }

    /// Reads the body up to a size limit.
    pub(crate) async fn body(&mut self, most: usize) -> Result<ReadBody, RequestFailure> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.piece().await? {
            bytes.extend_from_slice(piece.as_ref());
            if bytes.len() > most {
                bytes.truncate(most);
                return Ok(ReadBody { bytes, cut: true });
            }
        }
        Ok(ReadBody { bytes, cut: false })
    }

    /// The `Location` of a redirect.
    pub(crate) fn elsewhere(&self) -> Option<String> {
        if !matches!(self.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let place = self.head.headers().get(LOCATION)?;
        String::from_utf8(place.as_bytes().to_vec()).ok()
    }

    /// The media type without parameters; `None` where the response states none.
    pub(crate) fn media_type(&self) -> Option<String> {
        media_type(&self.head)
    }
}

/// The media type of a response without parameters; `None` where it states none.
pub(crate) fn media_type(head: &Response) -> Option<String> {
    let stated = head.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    let plain = stated.split(';').next()?.trim();
    (!plain.is_empty()).then(|| plain.to_ascii_lowercase())
}
