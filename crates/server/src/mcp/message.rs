//! JSON-RPC message: parses what a client sends, the same way for every transport.

use haft_model::JsonFlaw;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, ErrorCode, JsonRpcError, RequestId, RequestMetaObject,
    ServerJsonRpcMessage,
};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{flaws, protocol};

/// The method whose parameters are parsed with the message, because most messages are tool calls.
pub(super) const CALL_TOOL: &str = "tools/call";

/// A message of a client.
pub(super) enum ClientMessage {
    Request(RequestFrame),
    Notification(NotificationFrame),
    Response(ResponseFrame),
}

/// A request.
pub(super) struct RequestFrame {
    pub(super) id: RequestId,
    pub(super) method: String,
    pub(super) meta: RequestMetaObject,
    /// JSON flaw of its arguments and answers.
    pub(super) flaw: Option<JsonFlaw>,
    params: RequestParams,
}

enum RequestParams {
    Call(Box<CallToolRequestParams>),
    Text(Option<Box<RawValue>>),
}

/// A notification.
pub(super) struct NotificationFrame {
    pub(super) method: String,
    params: Option<Box<RawValue>>,
}

/// A client's answer to a request of ours.
pub(super) struct ResponseFrame {
    pub(super) id: RequestId,
    pub(super) result: Result<Value, ErrorData>,
}

/// Bytes that are no message.
#[derive(Debug)]
pub(super) struct MalformedMessage {
    pub(super) code: ErrorCode,
    pub(super) reason: String,
}

impl MalformedMessage {
    /// The JSON-RPC error for its sender; it has no id, because none could be read.
    pub(super) fn answer(self) -> ServerJsonRpcMessage {
        let error = ErrorData::new(self.code, self.reason, None);
        ServerJsonRpcMessage::Error(JsonRpcError::new(None, error))
    }
}

/// The members of a JSON-RPC message of any kind.
#[derive(Deserialize)]
struct Members<'b> {
    jsonrpc: String,
    /// `Some(None)` where it is null.
    #[serde(default, deserialize_with = "present")]
    id: Option<Option<RequestId>>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default, borrow)]
    params: Option<&'b RawValue>,
    #[serde(default, borrow)]
    result: Option<&'b RawValue>,
    #[serde(default)]
    error: Option<ErrorData>,
}

fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Option<RequestId>>, D::Error> {
    Option::<RequestId>::deserialize(value).map(Some)
}

/// The part of parameters that every request may have.
#[derive(Default, Deserialize)]
struct MetaOnly {
    #[serde(default, rename = "_meta")]
    meta: Option<RequestMetaObject>,
}

impl ClientMessage {
    /// Parses one message.
    pub(super) fn read(bytes: &[u8]) -> Result<ClientMessage, MalformedMessage> {
        let members: Members<'_> =
            serde_json::from_slice(bytes).map_err(|_| MalformedMessage::of(bytes))?;
        if members.jsonrpc != "2.0" {
            return Err(MalformedMessage::of(bytes));
        }
        let flaw = flaws::of_inputs(bytes);
        match members {
            Members { id: Some(Some(id)), method: Some(method), params, .. } => {
                Ok(ClientMessage::Request(RequestFrame::read(id, method, params, flaw)))
            }
            Members { id: None, method: Some(method), params, .. } => {
                let params = params.map(RawValue::to_owned);
                Ok(ClientMessage::Notification(NotificationFrame { method, params }))
            }
            Members { id: Some(Some(id)), method: None, result, error, .. } => {
                let result = match (result, error, flaw) {
                    (Some(_), None, Some(flaw)) => {
                        Err(ErrorData::invalid_params(flaw.to_string(), None))
                    }
                    (Some(result), None, None) => serde_json::from_str(result.get())
                        .map_err(|_| MalformedMessage::of(bytes))
                        .map(Ok)?,
                    (None, Some(error), _) => Err(error),
                    (Some(_), Some(_), _) | (None, None, _) => {
                        return Err(MalformedMessage::of(bytes));
                    }
                };
                Ok(ClientMessage::Response(ResponseFrame { id, result }))
            }
            Members { id: Some(None), .. } | Members { id: None, method: None, .. } => {
                Err(MalformedMessage::of(bytes))
            }
        }
    }
}

impl RequestFrame {
    fn read(
        id: RequestId,
        method: String,
        params: Option<&RawValue>,
        flaw: Option<JsonFlaw>,
    ) -> RequestFrame {
        if method == CALL_TOOL
            && let Some(Ok(mut call)) =
                params.map(|text| serde_json::from_str::<CallToolRequestParams>(text.get()))
        {
            let meta = call.meta.take().unwrap_or_default();
            return RequestFrame {
                id,
                method,
                meta,
                flaw,
                params: RequestParams::Call(Box::new(call)),
            };
        }
        let meta = params.and_then(|text| serde_json::from_str::<MetaOnly>(text.get()).ok());
        let meta = meta.and_then(|params| params.meta).unwrap_or_default();
        let params = RequestParams::Text(params.map(RawValue::to_owned));
        RequestFrame { id, method, meta, flaw, params }
    }

    /// The parameters of a tool call; `None` for any other method, and where they are invalid.
    pub(super) fn tool_call(&self) -> Option<&CallToolRequestParams> {
        match &self.params {
            RequestParams::Call(call) => Some(call),
            RequestParams::Text(_) => None,
        }
    }

    /// Whether the request opens a session of 2025. From 2026-07-28 on `initialize` is no method.
    pub(super) fn is_handshake(&self) -> bool {
        self.method == "initialize"
            && (protocol::named_version(&self.meta).is_none()
                || self.text_member("protocolVersion").is_some())
    }

    /// A text member of the parameters.
    pub(super) fn text_member(&self, name: &str) -> Option<String> {
        match &self.params {
            RequestParams::Call(call) => (name == "name").then(|| call.name.to_string()),
            RequestParams::Text(text) => {
                let params: Value = serde_json::from_str(text.as_ref()?.get()).ok()?;
                params.get(name)?.as_str().map(str::to_owned)
            }
        }
    }

    /// The parameters as those of a tool call.
    pub(super) fn into_tool_call(self) -> Result<CallToolRequestParams, ErrorData> {
        match self.params {
            RequestParams::Call(call) => Ok(*call),
            RequestParams::Text(_) => self.read_params(),
        }
    }

    /// The parameters; an absent object counts as an empty one.
    pub(super) fn read_params<T: DeserializeOwned>(&self) -> Result<T, ErrorData> {
        let text = match &self.params {
            RequestParams::Text(Some(text)) => text.get(),
            RequestParams::Text(None) | RequestParams::Call(_) => "{}",
        };
        serde_json::from_str(text).map_err(|fault| {
            let words = format!("the parameters of `{}` are invalid: {fault}", self.method);
            ErrorData::invalid_params(words, None)
        })
    }
}

impl NotificationFrame {
    /// The request that a `notifications/cancelled` cancels.
    pub(super) fn cancelled_request(&self) -> Option<RequestId> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct CancelParams {
            request_id: RequestId,
        }
        let params = self.params.as_ref().filter(|_| self.method == "notifications/cancelled")?;
        let params: CancelParams = serde_json::from_str(params.get()).ok()?;
        Some(params.request_id)
    }
}

impl MalformedMessage {
    /// Why some bytes are no message.
    fn of(bytes: &[u8]) -> MalformedMessage {
        let (code, reason) = match serde_json::from_slice::<IgnoredAny>(bytes) {
            Err(fault) => match JsonFlaw::in_text(bytes) {
                Some(flaw) => (ErrorCode::PARSE_ERROR, flaw.to_string()),
                None => (ErrorCode::PARSE_ERROR, format!("the body is not JSON: {fault}")),
            },
            Ok(_) => {
                let words = "the body is no single message of JSON-RPC 2.0";
                (ErrorCode::INVALID_REQUEST, words.to_owned())
            }
        };
        MalformedMessage { code, reason }
    }
}

/// The tool and the arguments of a call that the server reads from a message; `None` for any other
/// message. For fuzzing.
pub fn tool_call(
    message: &[u8],
) -> Option<(String, Option<serde_json::Map<String, serde_json::Value>>)> {
    let Ok(ClientMessage::Request(frame)) = ClientMessage::read(message) else { return None };
    let call = frame.tool_call()?;
    Some((call.name.to_string(), call.arguments.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kind of a message, or the code of its error.
    fn kind(text: &str) -> String {
        match ClientMessage::read(text.as_bytes()) {
            Ok(ClientMessage::Request(frame)) => format!(
                "request {} {}{}",
                frame.id,
                frame.method,
                if frame.flaw.is_some() { " flawed" } else { "" }
            ),
            Ok(ClientMessage::Notification(told)) => format!("notification {}", told.method),
            Ok(ClientMessage::Response(ResponseFrame { id, result: Ok(value) })) => {
                format!("result {id} {value}")
            }
            Ok(ClientMessage::Response(ResponseFrame { id, result: Err(error) })) => {
                format!("error {id} {}", error.code.0)
            }
            Err(malformed) => malformed.code.0.to_string(),
        }
    }

    #[test]
    fn message_kind_follows_from_its_members() {
        let call = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x"}}"#;
        let cases = [
            (call.to_owned(), "request a tools/call"),
            (call.replace("tools/call", "tools\\/call"), "request a tools/call"),
            (call.replace(r#""name""#, r#""nome""#), "request a tools/call"),
            (call.replace(r#""id":"a""#, r#""id":1,"more":1"#), "request 1 tools/call"),
            (
                call.replace(r#""x""#, r#""x","arguments":{"a":1,"a":2}"#),
                "request a tools/call flawed",
            ),
            (call.replace(r#""id":"a","#, ""), "notification tools/call"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#.to_owned(), r#"result 1 {"a":1}"#),
            (r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#.to_owned(), "error 1 -32602"),
            (
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#.to_owned(),
                "error 1 -1",
            ),
            (call.replace("2.0", "1.0"), "-32600"),
            (call.replace(r#""a""#, "null"), "-32600"),
            (call.replace(r#""id":"a""#, r#""id":"a","id":"b""#), "-32600"),
            (format!("[{call}]"), "-32600"),
            ("{}".to_owned(), "-32600"),
            (call[..40].to_owned(), "-32700"),
            (String::new(), "-32700"),
        ];
        for (text, expected) in cases {
            assert_eq!(kind(&text), expected, "{text}");
        }
    }
}
