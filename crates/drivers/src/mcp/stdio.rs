//! Messages to and from a program, one to a line.
//!
//! The library reads an answer by trying, one after the other, all that it could be. Which answers are
//! to calls of tools is known here, so those are read as what they are.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{
    CallToolResult, ClientNotification, ClientRequest, JsonRpcMessage, JsonRpcVersion2_0,
    RequestId, ServerResult,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;

use super::heard::{LONGEST, LastWords};

/// What some editors put before a text.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Both ends of a program.
pub(super) struct Stdio<R, W> {
    said: BufReader<R>,
    /// What was read of a line. It outlives whoever stops waiting for the rest.
    line: Vec<u8>,
    words: LastWords,
    /// The calls that have no answer yet.
    calls: HashSet<RequestId>,
    /// Gone once nothing more is to be said.
    hears: Arc<Mutex<Option<W>>>,
}

/// The answer to a call that came to an end.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answered {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: RequestId,
    result: CallToolResult,
}

impl<R: AsyncRead + Unpin, W> Stdio<R, W> {
    pub(super) fn new(said: R, hears: W, words: LastWords) -> Stdio<R, W> {
        let (said, hears) = (BufReader::new(said), Arc::new(Mutex::new(Some(hears))));
        Stdio { said, line: Vec::new(), words, calls: HashSet::new(), hears }
    }

    /// Reads to the end of a line; nothing where there is none. A line that does not end in time is the
    /// end of all of them.
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

    /// The message in a line; nothing where it is none.
    fn message(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let line = self.line.strip_prefix(MARK).unwrap_or(&self.line);
        if !self.calls.is_empty()
            && let Ok(Answered { id, result, .. }) = serde_json::from_slice(line)
            && self.calls.remove(&id)
        {
            return Some(JsonRpcMessage::response(ServerResult::CallToolResult(result), id));
        }
        let message = serde_json::from_slice(line).ok()?;
        let answered = match &message {
            JsonRpcMessage::Response(answer) => Some(&answer.id),
            JsonRpcMessage::Error(refusal) => refusal.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = answered {
            self.calls.remove(id);
        }
        Some(message)
    }

    /// Remembers which answers will be to calls.
    fn note(&mut self, message: &TxJsonRpcMessage<RoleClient>) {
        match message {
            JsonRpcMessage::Request(request) => {
                if let ClientRequest::CallToolRequest(_) = &request.request {
                    self.calls.insert(request.id.clone());
                }
            }
            JsonRpcMessage::Notification(said) => {
                if let ClientNotification::CancelledNotification(over) = &said.notification
                    && let Some(id) = &over.params.request_id
                {
                    self.calls.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }
}

impl<R, W> Transport<RoleClient> for Stdio<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        self.note(&item);
        let hears = self.hears.clone();
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let mut hears = hears.lock().await;
            let hears = hears.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            hears.write_all(&line).await?;
            hears.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            self.whole_line().await?;
            let message = self.message();
            self.line.clear();
            if message.is_some() {
                return message;
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.hears.lock().await.take();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CallToolRequest, CallToolRequestParams, NumberOrString};
    use serde_json::{Value, json};
    use tokio::io::duplex;

    use super::*;

    /// What is made of the answers of a program that was called once, by the number 7.
    async fn read(answers: &[Value]) -> Vec<RxJsonRpcMessage<RoleClient>> {
        let (ours, theirs) = duplex(4096);
        let (said, hears) = tokio::io::split(ours);
        let mut stdio = Stdio::new(said, hears, LastWords::default());
        let call = CallToolRequest::new(CallToolRequestParams::new("odd"));
        let call = ClientRequest::CallToolRequest(call);
        stdio.send(JsonRpcMessage::request(call, NumberOrString::Number(7))).await.unwrap();
        let mut program = BufReader::new(theirs);
        let mut heard = String::new();
        program.read_line(&mut heard).await.unwrap();
        let heard: Value = serde_json::from_str(&heard).unwrap();
        assert_eq!((&heard["id"], &heard["params"]["name"]), (&json!(7), &json!("odd")));
        let lines: String = answers.iter().map(|answer| format!("{answer}\r\n")).collect();
        program.write_all(format!("\u{feff}\n{lines}no message\n").as_bytes()).await.unwrap();
        drop(program);
        let mut read = Vec::new();
        while let Some(message) = stdio.receive().await {
            read.push(message);
        }
        read
    }

    #[tokio::test]
    async fn an_answer_to_a_call_is_never_taken_for_another() {
        let looks_like_a_prompt = json!({"jsonrpc": "2.0", "id": 7, "result": {
            "content": [{"type": "text", "text": "x"}], "messages": [], "description": "",
        }});
        let read = read(&[looks_like_a_prompt.clone(), looks_like_a_prompt]).await;
        let [JsonRpcMessage::Response(first), JsonRpcMessage::Response(second)] = &read[..] else {
            panic!("{read:?}")
        };
        assert!(matches!(first.result, ServerResult::CallToolResult(_)), "{first:?}");
        // Nobody asked for it a second time.
        assert!(matches!(second.result, ServerResult::GetPromptResult(_)), "{second:?}");
    }

    #[tokio::test]
    async fn what_is_no_answer_to_a_call_is_read_as_what_it_is() {
        let answers = [
            json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
            json!({"jsonrpc": "2.0", "id": 8, "result": {"tools": [], "_meta": {}}}),
            json!({"jsonrpc": "2.0", "id": 7, "result": {"resultType": "input_required",
                "inputRequests": {}}}),
            json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32600, "message": "no"}}),
        ];
        let read = read(&answers).await;
        let [
            JsonRpcMessage::Notification(_),
            JsonRpcMessage::Response(listed),
            JsonRpcMessage::Response(asks),
            JsonRpcMessage::Error(_),
        ] = &read[..]
        else {
            panic!("{read:?}")
        };
        assert!(matches!(listed.result, ServerResult::ListToolsResult(_)), "{listed:?}");
        assert!(matches!(asks.result, ServerResult::InputRequiredResult(_)), "{asks:?}");
    }
}
