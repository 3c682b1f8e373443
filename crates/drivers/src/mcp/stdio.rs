//! Stdio transport: newline-delimited JSON-RPC with a program.
//!
//! The library decodes a response by trying each result type in turn. Here it is known which
//! responses belong to `tools/call`, so those are decoded as tool results.

use std::io;

use rmcp::RoleClient;
use rmcp::model::{CallToolResult, JsonRpcMessage, JsonRpcVersion2_0, RequestId, ServerResult};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use super::digits;
use super::direct::Direct;
use super::stderr_capture::{LONGEST, LastWords};
use super::unreadable;

/// UTF-8 byte order mark, which some programs write first.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// The stdout of a program, with the direct path to its stdin.
pub(super) struct Stdio<R> {
    said: BufReader<R>,
    /// The line read so far. It survives cancellation of the read.
    line: Vec<u8>,
    words: LastWords,
    /// Receives the responses to direct calls.
    direct: Direct,
}

/// A response to `tools/call` that completed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnsweredCall {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: RequestId,
    result: CallToolResult,
}

impl<R: AsyncRead + Unpin> Stdio<R> {
    pub(super) fn new(said: R, direct: Direct, words: LastWords) -> Stdio<R> {
        Stdio { said: BufReader::new(said), line: Vec::new(), words, direct }
    }

    /// Reads a line; `None` at end of stream. A line above the size limit ends the stream.
    async fn whole_line(&mut self) -> Option<()> {
        loop {
            let read = self.said.fill_buf().await.ok().filter(|read| !read.is_empty())?;
            let end = read.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(read.len(), |end| end + 1);
            self.line.extend_from_slice(read.get(..taken)?);
            self.said.consume(taken);
            if self.line.len() > LONGEST {
                self.words.conclude(&format!("it sent a message of more than {LONGEST} bytes"));
                return None;
            }
            if end.is_some() {
                return Some(());
            }
        }
    }

    /// Decodes the line for the library; `None` where it is invalid or answers a direct call.
    fn message(&self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let line = self.line.strip_prefix(MARK).unwrap_or(&self.line);
        let line = &*digits::marked(line);
        if self.direct.is_waiting()
            && let Ok(AnsweredCall { id, result, .. }) = serde_json::from_slice(line)
            && self.direct.answered(&id, Ok(ServerResult::CallToolResult(result))).is_none()
        {
            return None;
        }
        // Decoded again where it belongs to no call: a response of another kind may look alike.
        let message = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(_) => JsonRpcMessage::error(unreadable::error(), Some(unreadable::answered(line)?)),
        };
        match message {
            JsonRpcMessage::Response(answer) => {
                let result = self.direct.answered(&answer.id, Ok(answer.result))?;
                result.ok().map(|result| JsonRpcMessage::response(result, answer.id))
            }
            JsonRpcMessage::Error(refusal) => match refusal.id {
                Some(id) => {
                    let error = self.direct.answered(&id, Err(refusal.error))?;
                    error.err().map(|error| JsonRpcMessage::error(error, Some(id)))
                }
                None => Some(JsonRpcMessage::Error(refusal)),
            },
            message => Some(message),
        }
    }
}

impl<R> Drop for Stdio<R> {
    fn drop(&mut self) {
        self.direct.end();
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleClient> for Stdio<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let direct = self.direct.clone();
        async move { direct.write(&item).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if self.whole_line().await.is_none() {
                self.direct.end();
                return None;
            }
            let message = self.message();
            self.line.clear();
            if message.is_some() {
                return message;
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.direct.close().await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use haft_driver::Link;
    use rmcp::model::{CallToolRequestParams, RequestMetaObject};
    use serde_json::{Value, json};
    use std::sync::Arc;
    use tokio::io::{AsyncWriteExt as _, duplex};

    use super::super::direct::ResponseResult;
    use super::super::wire::{Going, Reports};
    use super::*;
    use crate::web::Sending;

    /// Runs one call against the given responses: returns what the call receives, and what is left
    /// for the library. `ID` in a response stands for the id of the call.
    async fn read(
        answers: &[Value],
    ) -> (Option<ResponseResult>, Vec<RxJsonRpcMessage<RoleClient>>) {
        let (ours, theirs) = duplex(4096);
        let (said, hears) = tokio::io::split(ours);
        let direct = Direct::new(hears, Reports::default());
        let mut stdio = Stdio::new(said, direct.clone(), LastWords::default());
        let going = Going { sending: Arc::new(Sending::silent()), link: Link::new().0 };
        let call = CallToolRequestParams::new("odd");
        let mut expected = direct.expect().unwrap();
        let meta = RequestMetaObject::default();
        direct.call(expected.number, call, meta, going).await.unwrap();
        let mut program = BufReader::new(theirs);
        let mut heard = String::new();
        program.read_line(&mut heard).await.unwrap();
        let heard: Value = serde_json::from_str(&heard).unwrap();
        assert_eq!(heard["params"]["name"], "odd");
        assert_eq!(heard["params"]["_meta"]["progressToken"], heard["id"]);
        let id = heard["id"].to_string();
        let lines: String =
            answers.iter().map(|answer| format!("{answer}\r\n").replace("\"ID\"", &id)).collect();
        program.write_all(format!("\u{feff}\n{lines}no message\n").as_bytes()).await.unwrap();
        drop(program);
        let mut read = Vec::new();
        while let Some(message) = stdio.receive().await {
            read.push(message);
        }
        (expected.answer.try_recv().ok(), read)
    }

    #[tokio::test]
    async fn response_to_tools_call_is_never_decoded_as_another() {
        let looks_like_a_prompt = json!({"jsonrpc": "2.0", "id": "ID", "result": {
            "content": [{"type": "text", "text": "x"}], "messages": [], "description": "",
        }});
        let (answer, read) = read(&[looks_like_a_prompt.clone(), looks_like_a_prompt]).await;
        assert!(matches!(answer, Some(Ok(ServerResult::CallToolResult(_)))), "{answer:?}");
        let [JsonRpcMessage::Response(second)] = &read[..] else { panic!("{read:?}") };
        // A duplicate response belongs to no call.
        assert!(matches!(second.result, ServerResult::GetPromptResult(_)), "{second:?}");
    }

    #[tokio::test]
    async fn other_messages_are_decoded_by_their_own_kind() {
        let answers = [
            json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
            json!({"jsonrpc": "2.0", "id": 8, "result": {"tools": [], "_meta": {}}}),
            json!({"jsonrpc": "2.0", "id": "7", "error": {"code": -32600, "message": "no"}}),
        ];
        let (answer, read) = read(&answers).await;
        assert!(answer.is_none(), "{answer:?}");
        let [
            JsonRpcMessage::Notification(_),
            JsonRpcMessage::Response(listed),
            JsonRpcMessage::Error(_),
        ] = &read[..]
        else {
            panic!("{read:?}")
        };
        assert!(matches!(listed.result, ServerResult::ListToolsResult(_)), "{listed:?}");
    }

    #[tokio::test]
    async fn a_call_hears_a_question_and_a_refusal() {
        let asks = json!({"jsonrpc": "2.0", "id": "ID", "result": {
            "resultType": "input_required", "inputRequests": {},
        }});
        let (answer, left) = read(&[asks]).await;
        assert!(matches!(answer, Some(Ok(ServerResult::InputRequiredResult(_)))), "{answer:?}");
        assert!(left.is_empty(), "{left:?}");
        let refusal =
            json!({"jsonrpc": "2.0", "id": "ID", "error": {"code": -32600, "message": "no"}});
        let (answer, left) = read(&[refusal]).await;
        assert!(matches!(answer, Some(Err(_))) && left.is_empty(), "{answer:?} {left:?}");
    }

    #[tokio::test]
    async fn a_call_hears_that_its_program_is_gone() {
        let (answer, left) = read(&[]).await;
        assert!(answer.is_none() && left.is_empty(), "{answer:?} {left:?}");
    }

    #[tokio::test]
    async fn nothing_is_kept_of_a_call_that_is_dropped() {
        let direct = Direct::new(tokio::io::sink(), Reports::default());
        let expected = direct.expect().unwrap();
        assert!(direct.is_waiting());
        drop(expected);
        assert!(!direct.is_waiting());
    }

    #[tokio::test]
    async fn cancelled_write_still_sends_a_whole_line() {
        let (ours, theirs) = duplex(64);
        let direct = Direct::new(ours, Reports::default());
        let message = |text: &str| {
            let text = text.repeat(200);
            json!({"params": {"name": text}})
        };
        let long = message("a");
        let left = tokio::time::timeout(std::time::Duration::ZERO, direct.write(&long));
        assert!(left.await.is_err(), "it takes more than fits");
        let later = tokio::spawn(async move { direct.write(&message("b")).await });
        let mut lines = BufReader::new(theirs).lines();
        for letter in ["a", "b"] {
            let line: Value =
                serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
            assert_eq!(line["params"]["name"], letter.repeat(200));
        }
        later.await.unwrap().unwrap();
    }
}
