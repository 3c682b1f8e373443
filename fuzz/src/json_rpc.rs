//! Fuzz target for JSON-RPC frames of MCP and A2A: every reader agrees with a plain parser, or
//! refuses.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use haft_model::{JsonFlaw, settle_numbers};
use serde_json::Value;
use tokio::io::{AsyncRead, ReadBuf};

/// Reads the bytes as a message of MCP, by A2A and as lines of the stdio transport, and compares each with
/// the same text as a plain value.
pub fn json_rpc(data: &[u8]) {
    mcp(data);
    a2a(data);
    lines(data);
}

fn mcp(data: &[u8]) {
    let Some((name, arguments)) = haft_server::tool_call(data) else { return };
    let whole: Value = serde_json::from_slice(data).unwrap_or_default();
    assert_eq!(whole.get("method").and_then(Value::as_str), Some("tools/call"));
    assert_eq!(whole.pointer("/params/name").and_then(Value::as_str), Some(name.as_str()));
    let plain = whole.pointer("/params/arguments").cloned().unwrap_or_default();
    let arguments = arguments.map_or(Value::Null, Value::Object);
    assert_eq!(arguments, plain);
    exact(arguments, haft_server::input_flaw(data));
}

fn a2a(data: &[u8]) {
    let Some((skill, input, flaw)) = haft_server::a2a_call(data) else { return };
    let whole: Value = serde_json::from_slice(data).unwrap_or_default();
    assert_eq!(whole.get("jsonrpc").and_then(Value::as_str), Some("2.0"));
    let message = whole.pointer("/params/message").cloned().unwrap_or_default();
    let holds =
        |value: &Value| value.to_string().contains(&Value::from(skill.as_str()).to_string());
    assert!(holds(&message), "{skill} is no part of {message}");
    exact(input, flaw);
}

/// An input without a flaw keeps every number that its text has.
fn exact(mut input: Value, flaw: Option<JsonFlaw>) {
    if flaw.is_none() {
        let text = input.to_string();
        assert_eq!(settle_numbers(&mut input), Ok(()), "{text} has no flaw");
    }
}

/// Lines are the same however the bytes are cut.
fn lines(data: &[u8]) {
    let read = [1, 7, data.len().max(1)].map(|size| read(data, size));
    assert!(read.iter().all(|other| *other == read[0]), "the cut decides what a line is");
    let whole: Vec<u8> = read[0].concat();
    let is_kept = |byte: &&u8| !b"\r\n\xEF\xBB\xBF".contains(byte);
    assert!(
        whole.iter().filter(is_kept).eq(data.iter().filter(is_kept)),
        "lines hold every byte but their ends"
    );
}

/// The lines that the stdio transport reads from the bytes, which come in pieces of this size.
fn read(data: &[u8], size: usize) -> Vec<Vec<u8>> {
    let mut lines = pin!(haft_server::read_lines(Pieces { rest: data, size }));
    match lines.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(lines) => lines,
        Poll::Pending => panic!("an input that is ready is read at once"),
    }
}

/// An input that gives so many bytes at a time.
struct Pieces<'d> {
    rest: &'d [u8],
    size: usize,
}

impl AsyncRead for Pieces<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let most = self.size.min(out.remaining()).min(self.rest.len());
        let (piece, rest) = self.rest.split_at(most);
        out.put_slice(piece);
        self.rest = rest;
        Poll::Ready(Ok(()))
    }
}
