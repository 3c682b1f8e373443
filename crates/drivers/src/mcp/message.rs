//! JSON-RPC 2.0 messages: encodes what the client sends, and decodes the envelope of what a server
//! sends.
//!
//! The result of a request stays text here: its caller decodes it as the one type that it expects.

use std::borrow::Cow;

use rmcp::model::{
    CancelledNotificationParam, ErrorData, JsonObject, JsonRpcVersion2_0, NumberOrString, RequestId,
};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::fault::RequestFault;
use crate::response_id::id_of_answer;

/// The result of a request as JSON text, or why there is none.
pub(super) type Response = Result<Box<RawValue>, RequestFault>;

/// A message of a server.
#[derive(Debug)]
pub(super) enum Incoming<'a> {
    /// The response to one of our requests; the id is `None` where it is none of ours.
    Response(Option<i64>, Result<&'a RawValue, RequestFault>),
    /// A request to the client.
    Request(RequestId, ServerMessage<'a>),
    Notification(ServerMessage<'a>),
}

/// Method and parameters of a request or a notification.
#[derive(Debug)]
pub(super) struct ServerMessage<'a> {
    pub(super) method: Cow<'a, str>,
    params: Option<&'a RawValue>,
}

impl<'a> ServerMessage<'a> {
    /// The parameters as this type; `None` where they are another.
    pub(super) fn params<T: Deserialize<'a>>(&self) -> Option<T> {
        serde_json::from_str(self.params.map_or("{}", RawValue::get)).ok()
    }
}

#[derive(Deserialize)]
struct MessageEnvelope<'a> {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: Option<RequestId>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<ErrorData>,
}

impl<'a> Incoming<'a> {
    /// Decodes a message; `None` where the bytes are none. A response that cannot be decoded still
    /// answers its request, which would wait for it forever.
    pub(super) fn decode(message: &'a [u8]) -> Option<Incoming<'a>> {
        let undecodable = || {
            let id = id_of_answer(message)?;
            Some(Incoming::Response(id.as_i64(), Err(RequestFault::Undecodable)))
        };
        let Ok(envelope) = serde_json::from_slice::<MessageEnvelope<'_>>(message) else {
            return undecodable();
        };
        let MessageEnvelope { id, method, params, result, error, .. } = envelope;
        Some(match (method, id, result, error) {
            (Some(method), Some(id), None, None) => {
                Incoming::Request(id, ServerMessage { method, params })
            }
            (Some(method), None, None, None) => {
                Incoming::Notification(ServerMessage { method, params })
            }
            (None, id, Some(result), None) => Incoming::Response(number(id), Ok(result)),
            (None, id, None, Some(error)) => {
                Incoming::Response(number(id), Err(RequestFault::Refused(error)))
            }
            _ => return undecodable(),
        })
    }
}

/// The number of a request of ours. Some servers return it as a string.
fn number(id: Option<RequestId>) -> Option<i64> {
    match id? {
        NumberOrString::Number(number) => Some(number),
        NumberOrString::String(text) => text.parse().ok(),
    }
}

/// The `_meta` of a request: that of every request, and its own, which takes precedence.
#[derive(Clone, Copy)]
pub(super) struct RequestMeta<'a> {
    pub(super) shared: &'a JsonObject,
    pub(super) own: &'a JsonObject,
}

impl RequestMeta<'_> {
    fn is_empty(&self) -> bool {
        self.shared.is_empty() && self.own.is_empty()
    }
}

impl Serialize for RequestMeta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let shared = self.shared.iter().filter(|(name, _)| !self.own.contains_key(*name));
        for (name, value) in shared.chain(self.own) {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct RequestText<'a, P> {
    jsonrpc: &'static str,
    id: i64,
    method: &'a str,
    params: ParamsText<'a, P>,
}

#[derive(Serialize)]
struct ParamsText<'a, P> {
    #[serde(flatten)]
    params: &'a P,
    #[serde(rename = "_meta", skip_serializing_if = "RequestMeta::is_empty")]
    meta: RequestMeta<'a>,
}

/// Encodes a request; its parameters are an object.
pub(super) fn request<P: Serialize>(
    id: i64,
    method: &str,
    params: &P,
    meta: RequestMeta<'_>,
) -> Result<Vec<u8>, RequestFault> {
    let params = ParamsText { params, meta };
    encode(&RequestText { jsonrpc: "2.0", id, method, params })
}

/// Encodes `notifications/initialized`.
pub(super) fn initialized() -> Vec<u8> {
    br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_vec()
}

/// Encodes the cancellation of a request of ours.
pub(super) fn cancelled(id: i64, reason: &str) -> Result<Vec<u8>, RequestFault> {
    #[derive(Serialize)]
    struct CancellationText {
        jsonrpc: &'static str,
        method: &'static str,
        params: CancelledNotificationParam,
    }
    let id = NumberOrString::Number(id);
    let params = CancelledNotificationParam::new(Some(id), Some(reason.to_owned()));
    encode(&CancellationText { jsonrpc: "2.0", method: "notifications/cancelled", params })
}

/// Encodes the answer to a request of the server.
pub(super) fn answer(
    id: &RequestId,
    answer: Result<Value, ErrorData>,
) -> Result<Vec<u8>, RequestFault> {
    #[derive(Serialize)]
    struct AnswerText<'a> {
        jsonrpc: &'static str,
        id: &'a RequestId,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<ErrorData>,
    }
    let (result, error) = match answer {
        Ok(result) => (Some(result), None),
        Err(error) => (None, Some(error)),
    };
    encode(&AnswerText { jsonrpc: "2.0", id, result, error })
}

fn encode(message: &impl Serialize) -> Result<Vec<u8>, RequestFault> {
    serde_json::to_vec(message).map_err(|_| RequestFault::Unsent)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(message: &[u8]) -> Option<String> {
        Some(match Incoming::decode(message)? {
            Incoming::Response(id, Ok(result)) => format!("{id:?} result {result}"),
            Incoming::Response(id, Err(fault)) => format!("{id:?} fault {fault:?}"),
            Incoming::Request(id, asked) => format!("{id} asks {}", asked.method),
            Incoming::Notification(told) => format!("tells {}", told.method),
        })
    }

    #[test]
    fn messages_are_told_apart_by_their_fields() {
        let cases = [
            (r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#, Some("Some(1) result {\"a\":1}")),
            (r#"{"jsonrpc":"2.0","id":"7","result":{}}"#, Some("Some(7) result {}")),
            (r#"{"jsonrpc":"2.0","id":"other","result":{}}"#, Some("None result {}")),
            (r#"{"jsonrpc":"2.0","id":"q","method":"ping"}"#, Some("q asks ping")),
            (r#"{"jsonrpc":"2.0","method":"notifications/x"}"#, Some("tells notifications/x")),
            (r#"{"jsonrpc":"2.0","id":1,"result":NaN}"#, Some("Some(1) fault Undecodable")),
            (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, Some("Some(1) fault Undecodable")),
            (r#"{"id":1,"result":{}}"#, Some("Some(1) fault Undecodable")),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":NaN}"#, None),
            ("[]", None),
            ("listening on port 3000", None),
        ];
        for (message, expected) in cases {
            assert_eq!(shown(message.as_bytes()).as_deref(), expected, "{message}");
        }
    }

    #[test]
    fn own_meta_takes_precedence_over_shared() {
        let object = |value: Value| value.as_object().cloned().unwrap_or_default();
        let (shared, own) = (object(json!({"a": 1, "b": 2})), object(json!({"b": 3})));
        let meta = RequestMeta { shared: &shared, own: &own };
        let text = request(4, "tools/list", &json!({"cursor": "c"}), meta).unwrap();
        let expected = json!({"jsonrpc": "2.0", "id": 4, "method": "tools/list",
            "params": {"cursor": "c", "_meta": {"a": 1, "b": 3}}});
        assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), expected);
        let (none, params) = (JsonObject::new(), json!({}));
        let text = request(5, "x", &params, RequestMeta { shared: &none, own: &none }).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            r#"{"jsonrpc":"2.0","id":5,"method":"x","params":{}}"#
        );
    }
}
