//! Loopback redirect: a local HTTP listener that accepts one login callback before its timeout.

use std::collections::HashMap;
use std::time::Duration;

use haft_model::{Digest, Secret, Stop};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{Reason, failed};
use crate::http::encoded;

/// Most bytes of a request that are read.
const MOST: usize = 16 * 1024;

/// Timeout of one request.
const PATIENCE: Duration = Duration::from_secs(10);

/// A callback URL on the loopback interface, used once.
pub struct Callback {
    listener: TcpListener,
    /// The `state` that the browser must return, since any process on this machine can connect.
    state: String,
    port: u16,
}

impl Callback {
    /// Binds a free loopback port and generates a random `state`.
    pub async fn open() -> Result<Callback, Stop> {
        let opened = async {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
            let port = listener.local_addr()?.port();
            let state = haft_seal::hex(&haft_seal::generate()?);
            std::io::Result::Ok(Callback { listener, state, port })
        };
        let opened = opened.await;
        opened.map_err(|fault| {
            failed(Reason::Callback, format!("the callback port cannot be opened: {fault}"))
        })
    }

    /// The redirect URI.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/callback", self.port)
    }

    /// Expects a `state` that another party generated.
    pub fn expecting(self, state: &str) -> Callback {
        Callback { state: state.to_owned(), ..self }
    }

    /// The login page's URL with `redirect_uri` and `state` added.
    pub fn page(&self, url: &str) -> String {
        let joint = if url.contains('?') { '&' } else { '?' };
        let back = encoded(&self.address());
        format!("{url}{joint}redirect_uri={back}&state={}", self.state)
    }

    /// Waits for the browser, and returns the token in the callback, if any.
    pub async fn visited(self, within: Duration) -> Result<Option<Secret>, Stop> {
        let query = self.came_back(within).await?;
        let token = ["access_token", "token"].iter().find_map(|name| fields(&query).remove(name));
        match token.map(decoded) {
            Some(None) => Err(failed(Reason::Callback, "the page sent back what is no text")),
            Some(Some(token)) => Ok(Some(Secret::new(token))),
            None => Ok(None),
        }
    }

    /// Waits for the browser, and returns the raw query of the callback.
    pub async fn came_back(self, within: Duration) -> Result<String, Stop> {
        let waiting = async {
            loop {
                let (stream, _) = self.listener.accept().await.map_err(|fault| {
                    failed(Reason::Callback, format!("the callback cannot be received: {fault}"))
                })?;
                let answer = tokio::time::timeout(PATIENCE, self.answer(stream)).await;
                if let Ok(Some(outcome)) = answer {
                    return outcome;
                }
            }
        };
        let late = || failed(Reason::Expired, "the browser did not come back in time");
        tokio::time::timeout(within, waiting).await.unwrap_or_else(|_| Err(late()))
    }

    /// Answers one request; `None` if it is not the expected callback.
    async fn answer(&self, mut stream: TcpStream) -> Option<Result<String, Stop>> {
        let head = head(&mut stream).await?;
        let heard = self.heard(&head);
        let (status, words) = match &heard {
            Some(Ok(_)) => ("200 OK", "You are logged in. This page can be closed."),
            Some(Err(_)) => ("400 Bad Request", "The login failed. The terminal says why."),
            None => ("404 Not Found", "There is nothing here."),
        };
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncache-control: no-store\r\n\
             referrer-policy: no-referrer\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{words}",
            words.len()
        );
        let _ = stream.write_all(answer.as_bytes()).await;
        heard
    }

    fn heard(&self, head: &str) -> Option<Result<String, Stop>> {
        let mut lines = head.lines();
        let target = lines.next()?.strip_prefix("GET ")?.split(' ').next()?;
        let host = lines.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("host").then(|| value.trim().to_owned())
        });
        // DNS rebinding: a foreign host name could lead a browser here as well.
        if host.as_deref() != Some(&*format!("127.0.0.1:{}", self.port)) {
            return None;
        }
        let query = target.strip_prefix("/callback?")?;
        let fields = fields(query);
        let same = |given: &str| {
            Digest::of_bytes(given.as_bytes()) == Digest::of_bytes(self.state.as_bytes())
        };
        if !fields.get("state").is_some_and(|given| same(given)) {
            return None;
        }
        if fields.contains_key("error") {
            return Some(Err(failed(Reason::Denied, "the login was refused at the other end")));
        }
        Some(Ok(query.to_owned()))
    }
}

fn fields(query: &str) -> HashMap<&str, &str> {
    query.split('&').filter_map(|pair| pair.split_once('=')).collect()
}

async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 1024];
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let length = stream.read(&mut piece).await.ok().filter(|length| *length > 0)?;
        bytes.extend_from_slice(piece.get(..length)?);
        if bytes.len() > MOST {
            return None;
        }
    }
    String::from_utf8(bytes).ok()
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let pair = [rest.next()?, rest.next()?];
                bytes.extend(haft_seal::unhex(std::str::from_utf8(&pair).ok()?)?);
            }
            b'+' => bytes.push(b' '),
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}
