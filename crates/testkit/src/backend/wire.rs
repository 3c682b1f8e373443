//! Minimal HTTP/1.1: enough to read a request and to answer it rightly or wrongly.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use super::Then;

/// A request as it came over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedRequest {
    /// Its method.
    pub method: String,
    /// Its path and query, as they were written.
    pub path: String,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: String,
}

impl ReceivedRequest {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn parse(head: &str) -> Option<ReceivedRequest> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let headers = lines.filter_map(|line| line.split_once(':'));
        let headers = headers
            .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        Some(ReceivedRequest { method, path, headers: headers.collect(), body: String::new() })
    }
}

/// Reads a request, except for its last byte, and waits until that has arrived.
///
/// A socket that is closed with unread bytes in it resets its connection, so a client can be reset
/// without any socket option.
pub(super) fn hear(stream: &mut TcpStream) -> Option<ReceivedRequest> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r") {
        head.push(byte(stream)?);
    }
    let mut heard = ReceivedRequest::parse(&String::from_utf8(head).ok()?)?;
    let length = heard.header("content-length").and_then(|length| length.parse().ok());
    let length: usize = length.unwrap_or(0);
    let mut body = Vec::new();
    if length > 0 {
        byte(stream)?;
        body.resize(length - 1, 0);
        stream.read_exact(&mut body).ok()?;
    }
    let mut last = [0];
    stream.peek(&mut last).ok().filter(|read| *read == 1)?;
    if length > 0 {
        body.extend(last);
    }
    heard.body = String::from_utf8(body).ok()?;
    Some(heard)
}

fn byte(stream: &mut TcpStream) -> Option<u8> {
    let mut byte = [0];
    stream.read_exact(&mut byte).ok()?;
    byte.first().copied()
}

/// Answers a request; nothing when the connection is over.
pub(super) fn answer(stream: &mut TcpStream, then: &Then, usual: &str) -> Option<()> {
    if matches!(then, Then::Reset) {
        return None;
    }
    byte(stream)?;
    const JSON: &str = "Content-Type: application/json\r\n";
    match then {
        Then::Id => whole(stream, 200, JSON, usual.as_bytes()),
        Then::Answer(status, headers, body) => whole(stream, *status, headers, body),
        Then::Reset | Then::Close => None,
        Then::Hang => until_gone(stream),
        Then::Half(status) => {
            head(stream, *status, &format!("{JSON}Content-Length: 100\r\n"))?;
            stream.write_all(b"{\"id\":").ok()?;
            None
        }
        Then::Drip(status) => {
            head(stream, *status, &format!("{JSON}Content-Length: 1000000\r\n"))?;
            loop {
                stream.write_all(b" ").ok()?;
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Then::Flood(status) => {
            head(stream, *status, &format!("{JSON}Connection: close\r\n"))?;
            loop {
                stream.write_all(&[b' '; 64 * 1024]).ok()?;
            }
        }
        Then::Garbage => {
            stream.write_all(b"this is no answer\r\n\r\n").ok()?;
            None
        }
    }
}

fn whole(stream: &mut TcpStream, status: u16, headers: &str, body: &[u8]) -> Option<()> {
    // A status without a body has no length either.
    let length = match status {
        204 | 304 => String::new(),
        _ => format!("Content-Length: {}\r\n", body.len()),
    };
    head(stream, status, &format!("{headers}{length}"))?;
    stream.write_all(body).ok()
}

fn head(stream: &mut TcpStream, status: u16, headers: &str) -> Option<()> {
    stream.write_all(format!("HTTP/1.1 {status} As Told\r\n{headers}\r\n").as_bytes()).ok()
}

/// Waits until the caller is gone.
fn until_gone(stream: &mut TcpStream) -> Option<()> {
    while matches!(stream.read(&mut [0; 64]), Ok(1..)) {}
    None
}
