//! Server-sent events: reads the JSON-RPC messages of an event stream, each within the size limit.

use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use reqwest::Response;

use super::fault::HttpFault;
use super::stderr_capture::LONGEST;

/// How long the rest of a stream may take after its last message, so that the connection is reused.
const DRAIN: Duration = Duration::from_millis(50);

/// An event stream, and what it says about resuming it.
pub(super) struct SseStream {
    body: Response,
    parser: SseParser,
}

#[derive(Debug, Default)]
struct SseParser {
    buffer: Vec<u8>,
    /// Where the next line begins, and how far it was searched for its end.
    start: usize,
    searched: usize,
    data: Vec<u8>,
    /// Whether the event is of another type than `message`.
    is_other: bool,
    last_id: Option<String>,
    retry: Option<Duration>,
}

impl SseStream {
    pub(super) fn new(body: Response) -> SseStream {
        SseStream { body, parser: SseParser::default() }
    }

    /// The next message; `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, HttpFault> {
        loop {
            if let Some(message) = self.parser.message() {
                return Ok(Some(message));
            }
            if self.parser.held() > LONGEST {
                return Err(HttpFault::TooLarge);
            }
            match self.body.chunk().await {
                Ok(Some(chunk)) => self.parser.buffer.extend_from_slice(&chunk),
                Ok(None) => return Ok(self.parser.rest()),
                Err(_) => return Err(HttpFault::Broken),
            }
        }
    }

    /// The id to resume after, if the server gave one.
    pub(super) fn last_id(&self) -> Option<&str> {
        self.parser.last_id.as_deref()
    }

    /// How long the server wants the client to wait before it resumes.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.parser.retry
    }

    /// Continues a stream that ended, over another connection.
    pub(super) fn resumed(mut self, by: SseStream) -> SseStream {
        self.body = by.body;
        self.parser.restart();
        self
    }

    /// Reads the rest of a stream whose last message has arrived, so that its connection can be
    /// reused; the caller does not wait for it.
    pub(super) fn drain(mut self) {
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(Ok(None) | Err(_)) = pin!(self.body.chunk()).poll(&mut context) {
            return;
        }
        tokio::spawn(tokio::time::timeout(DRAIN, async move {
            while let Ok(Some(_)) = self.body.chunk().await {}
        }));
    }
}

impl SseParser {
    /// Bytes of the event that is not complete yet.
    fn held(&self) -> usize {
        self.buffer.len() - self.start + self.data.len()
    }

    /// The next complete message in the buffer.
    fn message(&mut self) -> Option<Vec<u8>> {
        while let Some(end) = self.line_end() {
            let (start, next) = (self.start, end + 1);
            (self.start, self.searched) = (next, next);
            if let Some(message) = self.line(start, end) {
                return Some(message);
            }
        }
        self.buffer.drain(..self.start);
        self.searched = self.buffer.len();
        self.start = 0;
        None
    }

    fn line_end(&self) -> Option<usize> {
        let unread = self.buffer.get(self.searched..)?;
        unread.iter().position(|byte| *byte == b'\n').map(|at| self.searched + at)
    }

    /// Takes one line of the buffer; a blank one ends the event.
    fn line(&mut self, start: usize, end: usize) -> Option<Vec<u8>> {
        let line = self.buffer.get(start..end).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return self.event();
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = || std::str::from_utf8(value).ok();
        match field {
            b"data" => {
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"event" => self.is_other = !matches!(value, b"" | b"message"),
            b"id" => self.last_id = text().map(str::to_owned),
            b"retry" => {
                let stated = text().and_then(|text| text.parse().ok());
                self.retry = stated.map(Duration::from_millis).or(self.retry);
            }
            _ => {}
        }
        None
    }

    fn event(&mut self) -> Option<Vec<u8>> {
        let data = std::mem::take(&mut self.data);
        let is_other = std::mem::take(&mut self.is_other);
        (!data.is_empty() && !is_other).then_some(data)
    }

    /// The message of a stream that ended before the blank line after it.
    fn rest(&mut self) -> Option<Vec<u8>> {
        let end = self.buffer.len();
        if self.start < end {
            self.line(self.start, end);
        }
        (self.start, self.searched) = (end, end);
        self.event()
    }

    /// Forgets the event that the stream broke off in.
    fn restart(&mut self) {
        let (last_id, retry) = (self.last_id.take(), self.retry);
        *self = SseParser { last_id, retry, ..SseParser::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All messages of a text that arrives in pieces of this size.
    fn messages(text: &str, piece: usize) -> (Vec<String>, SseParser) {
        let (mut parser, mut read) = (SseParser::default(), Vec::new());
        for chunk in text.as_bytes().chunks(piece) {
            parser.buffer.extend_from_slice(chunk);
            while let Some(message) = parser.message() {
                read.push(String::from_utf8(message).unwrap());
            }
        }
        read.extend(parser.rest().map(|message| String::from_utf8(message).unwrap()));
        (read, parser)
    }

    #[test]
    fn messages_do_not_depend_on_how_they_arrive() {
        let text = ": hello\n\nid: 1\ndata: {\"a\":\ndata:1}\n\nevent: ping\ndata: x\n\n\
            retry: 250\r\nevent: message\r\nid: 2\r\ndata: b\r\n\r\ndata: last";
        for piece in 1..text.len() {
            let (read, parser) = messages(text, piece);
            assert_eq!(read, ["{\"a\":\n1}", "b", "last"], "in pieces of {piece}");
            assert_eq!(parser.last_id.as_deref(), Some("2"));
            assert_eq!(parser.retry, Some(Duration::from_millis(250)));
        }
    }

    #[test]
    fn event_without_data_is_no_message() {
        for text in ["", "\n\n", ": alive\n\n", "id: 7\n\n", "event: message\n\n", "data\n\n"] {
            assert_eq!(messages(text, 4).0, Vec::<String>::new(), "{text:?}");
        }
    }
}
