//! Proxy request: parsed strictly and written anew, which prevents request smuggling.

use std::io;

use httparse::{EMPTY_HEADER, Header, Status};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::{EgressMethod, Whom};

/// Most bytes of a request head.
const LONGEST: usize = 16 * 1024;

const MOST_HEADERS: usize = 64;

/// Hop-by-hop headers, which concern the connection to the proxy.
const BETWEEN_NEIGHBOURS: [&str; 10] = [
    "connection",
    "proxy-connection",
    "proxy-authorization",
    "proxy-authenticate",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "host",
];

/// A parsed proxy request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProxyRequest {
    pub(super) whom: Whom,
    pub(super) way: EgressMethod,
    /// The request head that is sent on; empty for a tunnel.
    pub(super) head: Vec<u8>,
    /// Bytes of body that follow; unlimited for a tunnel.
    pub(super) body: u64,
    /// Bytes that arrived with the request head.
    pub(super) early: Vec<u8>,
}

/// A request that is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Odd {
    pub(super) status: u16,
    pub(super) why: String,
    /// The host, if the refusal is reported.
    pub(super) whom: Option<Whom>,
}

/// Reads a request head from a connection.
pub(super) async fn receive(
    client: &mut (impl AsyncRead + Unpin),
) -> io::Result<Result<ProxyRequest, Odd>> {
    let mut text = Vec::new();
    loop {
        if client.take((LONGEST - text.len()) as u64).read_buf(&mut text).await? == 0 {
            return match text.len() {
                LONGEST => Ok(Err(odd(431, "the request is too long"))),
                _ => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        }
        if let Some(read) = read(&text).transpose() {
            return Ok(read);
        }
    }
}

/// Parses a request head; `None` if it is incomplete.
pub(super) fn read(text: &[u8]) -> Result<Option<ProxyRequest>, Odd> {
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(text) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Ok(None),
        Err(fault) => return Err(odd(400, &format!("the request cannot be read: {fault}"))),
    };
    let (method, target) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
    let early = text.get(length..).unwrap_or_default().to_vec();
    if method != "CONNECT" {
        return plain(method, target, request.headers, early).map(Some);
    }
    let whom = Whom::read(target, None);
    let whom = whom.ok_or_else(|| odd(400, "what follows CONNECT is no `host:port`"))?;
    Ok(Some(ProxyRequest {
        whom,
        way: EgressMethod::Tunnel,
        head: Vec::new(),
        body: u64::MAX,
        early,
    }))
}

fn plain(
    method: &str,
    target: &str,
    headers: &[Header<'_>],
    mut early: Vec<u8>,
) -> Result<ProxyRequest, Odd> {
    let (scheme, rest) = target.split_once("://").unwrap_or_default();
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(odd(400, "this is a proxy: ask for a whole `http://` address, or CONNECT"));
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let path = rest.get(authority.len()..).unwrap_or_default();
    let whom = Whom::read(authority, Some(80));
    let whom = whom.ok_or_else(|| odd(400, "the address names no host, or a user as well"))?;
    check_host_header(&whom, headers)?;
    let body = length(headers)?;
    early.truncate(usize::try_from(body).unwrap_or(usize::MAX));
    let head = written(method, path, &whom, headers);
    Ok(ProxyRequest { whom, way: EgressMethod::Plain, head, body, early })
}

/// Refuses a request whose `Host` header differs from its target.
fn check_host_header(whom: &Whom, headers: &[Header<'_>]) -> Result<(), Odd> {
    let said: Vec<_> = named(headers, "host").collect();
    let same = |value: &&[u8]| {
        let value = str::from_utf8(value).unwrap_or_default();
        Whom::read(value, Some(80)).as_ref() == Some(whom)
    };
    if said.len() <= 1 && said.iter().all(same) {
        return Ok(());
    }
    let why = "its `Host` header names another host".to_owned();
    Err(Odd { status: 403, why, whom: Some(whom.clone()) })
}

fn length(headers: &[Header<'_>]) -> Result<u64, Odd> {
    if named(headers, "transfer-encoding").next().is_some() {
        return Err(odd(411, "say how long the body is with `Content-Length`"));
    }
    let mut said = named(headers, "content-length");
    let (first, more) = (said.next(), said.next());
    let number = match (first, more) {
        (None, _) => return Ok(0),
        (Some(value), None) if value.iter().all(u8::is_ascii_digit) => {
            str::from_utf8(value).ok().and_then(|text| text.parse().ok())
        }
        (Some(_), _) => None,
    };
    number.ok_or_else(|| odd(400, "`Content-Length` is no number, or there are two"))
}

/// The request that the host receives, with `Connection: close`.
fn written(method: &str, path: &str, whom: &Whom, headers: &[Header<'_>]) -> Vec<u8> {
    let listed = named(headers, "connection").flat_map(|value| value.split(|byte| *byte == b','));
    let listed: Vec<_> = listed.map(<[u8]>::trim_ascii).collect();
    let path = path.split('#').next().unwrap_or_default();
    let slash = if path.starts_with('/') { "" } else { "/" };
    let host = if whom.port == 80 { whom.host.clone() } else { whom.to_string() };
    let mut head = format!("{method} {slash}{path} HTTP/1.1\r\nHost: {host}\r\n").into_bytes();
    for header in headers {
        let between = BETWEEN_NEIGHBOURS.iter().any(|name| header.name.eq_ignore_ascii_case(name))
            || listed.iter().any(|name| header.name.as_bytes().eq_ignore_ascii_case(name));
        // The proxy counts the body, so it sets the length itself.
        if !between && !header.name.eq_ignore_ascii_case("content-length") {
            head.extend([header.name.as_bytes(), b": ", header.value, b"\r\n"].concat());
        }
    }
    if let Some(length) = named(headers, "content-length").next() {
        head.extend([b"Content-Length: ", length, b"\r\n"].concat());
    }
    head.extend(b"Connection: close\r\n\r\n");
    head
}

fn named<'a>(headers: &'a [Header<'a>], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let same = move |header: &&Header<'_>| header.name.eq_ignore_ascii_case(name);
    headers.iter().filter(same).map(|header| header.value)
}

fn odd(status: u16, why: &str) -> Odd {
    Odd { status, why: why.to_owned(), whom: None }
}
