//! JSON flaws of MCP requests, found in their bytes before the library parses them.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use haft_model::{JsonFlaw, JsonScope};
use rmcp::ErrorData;
use rmcp::model::RequestId;
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncRead, ReadBuf};

/// Most flaws kept for their requests: a request that the library refuses never takes its own.
const MOST_WAITING: usize = 1024;

/// Read size, in bytes.
const PIECE: usize = 16 * 1024;

/// Paths of a message that become inputs: the arguments of a call, the answers that a request
/// brings, and the answer to a server request.
const INPUTS: [&[&str]; 3] = [&["params", "arguments"], &["params", "inputResponses"], &["result"]];

/// The flaw of a message's inputs; its pointer starts at the arguments where it is in them.
pub(super) fn of_inputs(message: &[u8]) -> Option<JsonFlaw> {
    let flaw = JsonFlaw::within(message, JsonScope::Below(&INPUTS))?;
    Some(flaw.seen_from("/params/arguments"))
}

/// The refusal of a request that is no tool call, so that no call is behind it.
pub(super) fn refuse(flaw: Option<JsonFlaw>) -> Result<(), ErrorData> {
    let Some(flaw) = flaw else { return Ok(()) };
    let stop = flaw.stop();
    Err(ErrorData::invalid_params(stop.message.clone(), Some(stop.told())))
}

/// What becomes of a message with a flaw.
pub(super) enum FlawedMessage {
    /// A request: its handler refuses it.
    Request(RequestId),
    /// A notification, which has no inputs.
    Notification,
    /// An answer to a server request: this error replaces it.
    Answer(Vec<u8>),
    /// An unrecognized message: it is dropped.
    Unclear,
}

impl FlawedMessage {
    pub(super) fn read(message: &[u8], flaw: &JsonFlaw) -> FlawedMessage {
        #[derive(Deserialize)]
        struct Shape {
            id: Option<RequestId>,
            method: Option<String>,
        }
        match serde_json::from_slice(message) {
            Ok(Shape { id: Some(id), method: Some(_) }) => FlawedMessage::Request(id),
            Ok(Shape { id: None, method: Some(_) }) => FlawedMessage::Notification,
            Ok(Shape { id: Some(id), method: None }) => {
                let error = ErrorData::invalid_params(flaw.to_string(), None);
                let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
                FlawedMessage::Answer(answer.to_string().into_bytes())
            }
            Ok(Shape { id: None, method: None }) | Err(_) => FlawedMessage::Unclear,
        }
    }
}

/// The flaw of a message's inputs. For fuzzing.
pub fn input_flaw(message: &[u8]) -> Option<JsonFlaw> {
    of_inputs(message)
}

/// The stdio input as the library reads it: whole lines, each checked. For fuzzing.
pub fn checked_lines<I: AsyncRead + Unpin>(input: I) -> impl AsyncRead + Unpin {
    Lines::new(input, Flaws::default())
}

/// Flaws of stdio requests, by request id.
#[derive(Clone, Default)]
pub(super) struct Flaws(Arc<Mutex<HashMap<RequestId, JsonFlaw>>>);

impl Flaws {
    /// Takes the flaw of a request.
    pub(super) fn take(&self, id: &RequestId) -> Option<JsonFlaw> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id)
    }

    /// What replaces a line, if anything: nothing for one whose flaw cannot be kept.
    fn replacement(&self, line: &[u8]) -> Option<Vec<u8>> {
        let flaw = of_inputs(line)?;
        match FlawedMessage::read(line, &flaw) {
            FlawedMessage::Request(id) => {
                let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                let has_room = waiting.len() < MOST_WAITING;
                if has_room {
                    waiting.insert(id, flaw);
                }
                (!has_room).then(Vec::new)
            }
            FlawedMessage::Notification => None,
            FlawedMessage::Answer(mut error) => {
                error.push(b'\n');
                Some(error)
            }
            FlawedMessage::Unclear => Some(Vec::new()),
        }
    }
}

/// A reader that passes on whole, checked lines.
pub(super) struct Lines<I> {
    input: I,
    flaws: Flaws,
    held: Vec<u8>,
    /// Offsets: passed on, checked, and searched for a line end.
    given: usize,
    ready: usize,
    searched: usize,
}

impl<I> Lines<I> {
    pub(super) fn new(input: I, flaws: Flaws) -> Lines<I> {
        Lines { input, flaws, held: Vec::new(), given: 0, ready: 0, searched: 0 }
    }

    /// Checks the complete lines.
    fn advance(&mut self) {
        while let Some(rest) = self.held.get(self.searched..) {
            let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { break };
            let end = self.searched + end + 1;
            let line = self.held.get(self.ready..end).unwrap_or_default();
            match self.flaws.replacement(line) {
                None => self.ready = end,
                Some(other) => {
                    let length = other.len();
                    self.held.splice(self.ready..end, other);
                    self.ready += length;
                }
            }
            self.searched = self.ready;
        }
        self.searched = self.held.len();
    }

    fn forget_given(&mut self) {
        self.held.drain(..self.given);
        self.ready -= self.given;
        self.searched -= self.given;
        self.given = 0;
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Lines<I> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let this = self.get_mut();
        while this.given == this.ready {
            this.forget_given();
            let mut piece = [0; PIECE];
            let mut read = ReadBuf::new(&mut piece);
            match Pin::new(&mut this.input).poll_read(context, &mut read) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(fault)) => return Poll::Ready(Err(fault)),
                Poll::Ready(Ok(())) => {}
            }
            if read.filled().is_empty() {
                // The last line may lack its line end.
                let rest = this.held.get(this.ready..).unwrap_or_default();
                if let Some(other) = this.flaws.replacement(rest) {
                    this.held.splice(this.ready.., other);
                }
                this.ready = this.held.len();
                this.searched = this.held.len();
                break;
            }
            this.held.extend_from_slice(read.filled());
            this.advance();
        }
        let ready = this.held.get(this.given..this.ready).unwrap_or_default();
        let part = ready.get(..out.remaining().min(ready.len())).unwrap_or_default();
        out.put_slice(part);
        this.given += part.len();
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    fn request(id: u32, arguments: &str) -> String {
        let params = format!("{{\"name\":\"x\",\"arguments\":{arguments}}}");
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}")
    }

    #[tokio::test]
    async fn lines_pass_whole_and_their_flaws_are_kept() {
        let long = request(3, &format!("{{\"text\":\"{}\"}}", "x".repeat(40_000)));
        let lines = [
            request(1, "{\"n\":1}"),
            request(2, "{\"n\":9007199254740993}"),
            long,
            request(4, "{\"a\":1,\"a\":2}"),
        ];
        let text = lines.join("\n");
        // Whatever the read sizes.
        for size in [1, 7, 4096, 100_000] {
            let flaws = Flaws::default();
            let (mut writer, reader) = tokio::io::duplex(size);
            let bytes = text.clone().into_bytes();
            let written = tokio::spawn(async move {
                tokio::io::AsyncWriteExt::write_all(&mut writer, &bytes).await
            });
            let mut out = String::new();
            Lines::new(reader, flaws.clone()).read_to_string(&mut out).await.unwrap();
            written.await.unwrap().unwrap();
            assert_eq!(out, text);
            let pointer = |id| flaws.take(&RequestId::Number(id)).map(|flaw| flaw.pointer);
            let found = [pointer(1), pointer(2), pointer(3), pointer(4), pointer(2)];
            let expected = [None, Some("/n".to_owned()), None, Some("/a".to_owned()), None];
            assert_eq!(found, expected);
        }
    }
}
