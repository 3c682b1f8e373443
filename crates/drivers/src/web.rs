//! One request to an address that was checked, for whichever driver sends it.
//!
//! A request that may have an effect goes over a connection of its own: nothing is kept between such
//! requests, no connection, no cookie, no answer of a name server. So what was checked is what is
//! used, a failure to connect means that nothing was sent, and nothing is ever sent twice.

mod client;
mod sending;

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use haft_model::Stop;
use haft_sandbox::{AddressGuard, CheckedUrl, Forbidden};
use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Client, Method, Response};

pub(crate) use client::{Pool, keeping, reconnecting};
pub(crate) use sending::{Sending, Stage};

use crate::ending::blocking;
use client::Trust;

/// How often an answer may point elsewhere.
pub(crate) const MOST_REDIRECTS: usize = 5;

/// How much of a body is taken, unpacked.
pub(crate) const MOST_BYTES: usize = 5 * 1024 * 1024;

/// How a name and a port become addresses.
pub(crate) type Lookup = fn(&str, u16) -> io::Result<Vec<SocketAddr>>;

/// The way of the system.
pub(crate) fn look_up(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok((name, port).to_socket_addrs()?.collect())
}

/// A request as it goes out.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    pub(crate) url: CheckedUrl,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Vec<u8>>,
}

impl Outgoing {
    /// Asks for what lies at an address, and says nothing else.
    pub(crate) fn get(url: CheckedUrl) -> Outgoing {
        Outgoing { method: Method::GET, url, headers: HeaderMap::new(), body: None }
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// The name cannot be looked up.
    Unknown,
    /// The address may not be reached.
    Forbidden(Forbidden),
    /// Nobody takes the connection.
    Unreachable,
    /// The connection broke, or what came over it is no answer.
    Broken,
    /// The submission was not recorded, so nothing was sent.
    Unrecorded,
    /// The client could not be set up.
    Unready,
    /// Work of ours broke off.
    Stopped(Stop),
}

/// When a request counts as submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Submitted {
    /// Before anybody is connected to.
    OnConnect,
    /// When the connection stands, before the first byte.
    OnWrite,
}

/// How a request gets to an address over a connection of its own.
#[derive(Clone, Copy)]
pub(crate) struct Way<'a> {
    pub(crate) guard: &'a AddressGuard,
    pub(crate) lookup: Lookup,
    pub(crate) sending: &'a Arc<Sending>,
    pub(crate) submitted: Submitted,
}

impl Way<'_> {
    /// Sends one request and gives back the head of its answer.
    pub(crate) async fn send(self, request: Outgoing) -> Result<Response, Unanswered> {
        let addresses = addresses(self.guard, self.lookup, &request.url).await?;
        let (sending, trust) = (Arc::clone(self.sending), Trust::of(&request.url));
        // The certificates are files.
        let client = blocking(move || client::fresh(addresses, sending, trust)).await;
        let client = client.map_err(Unanswered::Stopped)?.map_err(|_| Unanswered::Unready)?;
        if self.submitted == Submitted::OnConnect {
            self.sending.begin().await.map_err(|_| Unanswered::Unrecorded)?;
        }
        let answer = exchange(&client, request).await?;
        self.sending.answered(answer.status().as_u16());
        Ok(answer)
    }
}

async fn exchange(client: &Client, request: Outgoing) -> Result<Response, Unanswered> {
    let mut building =
        client.request(request.method, request.url.as_str()).headers(request.headers);
    if let Some(body) = request.body {
        building = building.body(body);
    }
    let fault = match building.send().await {
        Ok(answer) => return Ok(answer),
        Err(fault) => fault,
    };
    Err(match forbidden(&fault) {
        Some(forbidden) => Unanswered::Forbidden(forbidden),
        None if fault.is_connect() => Unanswered::Unreachable,
        None => Unanswered::Broken,
    })
}

/// What the guard said of an address, if that is why nobody was connected to.
pub(crate) fn forbidden(fault: &reqwest::Error) -> Option<Forbidden> {
    let mut cause = std::error::Error::source(fault);
    while let Some(found) = cause {
        if let Some(forbidden) = found.downcast_ref::<Forbidden>() {
            return Some(forbidden.clone());
        }
        cause = found.source();
    }
    None
}

/// What a name stands for, checked. A host that is an address was checked as it was written.
async fn addresses(
    guard: &AddressGuard,
    lookup: Lookup,
    url: &CheckedUrl,
) -> Result<Vec<SocketAddr>, Unanswered> {
    if !url.is_name() {
        return Ok(Vec::new());
    }
    let (host, port) = (url.host().to_owned(), url.port());
    let found = blocking(move || lookup(&host, port)).await.map_err(Unanswered::Stopped)?;
    let found = found.map_err(|_| Unanswered::Unknown)?;
    let plain: Vec<_> = found.iter().map(SocketAddr::ip).collect();
    guard.check_addresses(url, &plain).map_err(Unanswered::Forbidden)?;
    Ok(found)
}

/// Where an answer points instead.
pub(crate) fn elsewhere(answer: &Response) -> Option<String> {
    if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let place = answer.headers().get(LOCATION)?;
    String::from_utf8(place.as_bytes().to_vec()).ok()
}

/// A body as far as it was read.
pub(crate) struct Body {
    pub(crate) bytes: Vec<u8>,
    /// Whether there was more than was wanted.
    pub(crate) cut: bool,
}

/// Reads a body up to a bound.
pub(crate) async fn body(answer: &mut Response, most: usize) -> Result<Body, Unanswered> {
    let mut bytes = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(|_| Unanswered::Broken)? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > most {
            bytes.truncate(most);
            return Ok(Body { bytes, cut: true });
        }
    }
    Ok(Body { bytes, cut: false })
}

/// The media type without its parameters; nothing where the answer does not say.
pub(crate) fn media_type(answer: &Response) -> Option<String> {
    let stated = answer.headers().get(reqwest::header::CONTENT_TYPE)?.to_str().ok()?;
    let plain = stated.split(';').next()?.trim();
    (!plain.is_empty()).then(|| plain.to_ascii_lowercase())
}
