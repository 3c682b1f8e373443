//! Scripted browser: follows every redirect, like a person who consents to everything.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

/// How often a page may send its visitor on.
const MOST: usize = 5;

/// Visits a page of this machine, and every page that it leads to.
pub(crate) fn visit(page: &str) {
    let mut next = Some(page.to_owned());
    for _ in 0..MOST {
        let Some(url) = next.take() else { return };
        match visited(&url) {
            Ok(led_to) => next = led_to,
            Err(fault) => eprintln!("`{url}` cannot be visited: {fault}"),
        }
    }
}

/// Where a page sends its visitor.
fn visited(url: &str) -> io::Result<Option<String>> {
    let odd = || io::Error::new(io::ErrorKind::InvalidInput, "it is not on this machine");
    let rest = url.strip_prefix("http://").ok_or_else(odd)?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(host)?;
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut said = Vec::new();
    stream.read_to_end(&mut said)?;
    let said = String::from_utf8_lossy(&said);
    let head = said.split("\r\n\r\n").next().unwrap_or_default();
    let place = head.lines().filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
        name.eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
    });
    Ok(place)
}
