//! OpenAI function calling: `tool_calls` of chat completions, and `function_call` items of
//! responses.

use haft_catalog::export::Format;
use serde_json::{Value, json};

use super::{FunctionArguments, FunctionCall, ModelReply, Provider, each, text};
use crate::deferred::Own;

pub(super) const PROVIDER: Provider =
    Provider { format: Format::OpenAi, asked, arguments: "arguments", messages, declared };

const CHAT: &str = "chat";
const RESPONSES: &str = "responses";

fn asked(reply: &Value) -> Vec<FunctionCall> {
    let inside = ["/choices/0/message/tool_calls", "/tool_calls", "/output"];
    let list = inside.iter().find_map(|place| reply.pointer(place)).unwrap_or(reply);
    each(list).iter().filter_map(call).collect()
}

fn call(item: &Value) -> Option<FunctionCall> {
    let (way, id, function) = match item.get("function") {
        Some(function) => (CHAT, "id", function),
        None if text(item, "type") == "function_call" => (RESPONSES, "call_id", item),
        None => return None,
    };
    let id = item.get(id).and_then(Value::as_str).map(str::to_owned);
    let arguments = match function.get("arguments") {
        // OpenAI sends empty text for no arguments.
        None => FunctionArguments::Value(json!({})),
        Some(Value::String(text)) if text.is_empty() => FunctionArguments::Value(json!({})),
        Some(Value::String(text)) => FunctionArguments::Text(text.clone()),
        Some(value) => FunctionArguments::Value(value.clone()),
    };
    Some(FunctionCall { id, name: text(function, "name"), arguments, way })
}

fn messages(answered: &[(FunctionCall, ModelReply)]) -> Vec<Value> {
    let message = |(asked, said): &(FunctionCall, ModelReply)| match asked.way {
        RESPONSES => json!({
            "type": "function_call_output", "call_id": asked.id, "output": said.words,
        }),
        _ => json!({ "role": "tool", "tool_call_id": asked.id, "content": said.words }),
    };
    answered.iter().map(message).collect()
}

fn declared(own: Own) -> Value {
    let (about, input) = own.described();
    json!({
        "type": "function",
        "function": { "name": own.name(), "description": about, "parameters": input },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_in_every_form_of_a_reply() {
        let chat = json!({
            "id": "call_1", "type": "function", "function": { "name": "f", "arguments": "{\"a\":1}" },
        });
        let call = FunctionCall {
            id: Some("call_1".into()),
            name: "f".into(),
            arguments: FunctionArguments::Text("{\"a\":1}".into()),
            way: CHAT,
        };
        let forms = [
            json!({ "choices": [{ "message": { "role": "assistant", "tool_calls": [chat] } }] }),
            json!({ "role": "assistant", "content": null, "tool_calls": [chat] }),
            json!([chat]),
            chat,
        ];
        for form in forms {
            assert_eq!(asked(&form), std::slice::from_ref(&call), "{form}");
        }
        let item = json!({
            "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f",
            "arguments": "{\"a\":1}",
        });
        let call = FunctionCall { way: RESPONSES, ..call };
        let forms = [
            json!({ "output": [{ "type": "reasoning" }, item] }),
            json!([{ "type": "message" }, item]),
        ];
        for form in forms {
            assert_eq!(asked(&form), std::slice::from_ref(&call), "{form}");
        }
        assert_eq!(asked(&json!({ "choices": [{ "message": { "content": "hello" } }] })), []);
    }
}
