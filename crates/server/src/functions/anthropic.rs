//! Anthropic function calling: `tool_use` blocks, answered by one message with a `tool_result` for
//! each.

use haft_catalog::export::Format;
use serde_json::{Value, json};

use super::{FunctionArguments, FunctionCall, ModelReply, Provider, each, text};
use crate::deferred::Own;

pub(super) const PROVIDER: Provider =
    Provider { format: Format::Anthropic, asked, arguments: "input", messages, declared };

fn asked(reply: &Value) -> Vec<FunctionCall> {
    let blocks = each(reply.get("content").unwrap_or(reply));
    let calls = blocks.iter().filter(|block| text(block, "type") == "tool_use");
    let call = |block: &Value| FunctionCall {
        id: block.get("id").and_then(Value::as_str).map(str::to_owned),
        name: text(block, "name"),
        arguments: FunctionArguments::Value(
            block.get("input").cloned().unwrap_or_else(|| json!({})),
        ),
        way: "messages",
    };
    calls.map(call).collect()
}

fn messages(answered: &[(FunctionCall, ModelReply)]) -> Vec<Value> {
    if answered.is_empty() {
        return Vec::new();
    }
    let block = |(asked, said): &(FunctionCall, ModelReply)| {
        let mut block = json!({
            "type": "tool_result",
            "tool_use_id": asked.id,
            "content": [{ "type": "text", "text": said.words }],
        });
        if let (true, Some(fields)) = (said.is_error, block.as_object_mut()) {
            fields.insert("is_error".to_owned(), json!(true));
        }
        block
    };
    let blocks: Vec<Value> = answered.iter().map(block).collect();
    vec![json!({ "role": "user", "content": blocks })]
}

fn declared(own: Own) -> Value {
    let (about, input) = own.described();
    json!({ "name": own.name(), "description": about, "input_schema": input })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_in_every_form_of_a_reply() {
        let block =
            json!({ "type": "tool_use", "id": "toolu_1", "name": "f", "input": { "a": 1 } });
        let words = json!({ "type": "text", "text": "let me see" });
        let call = FunctionCall {
            id: Some("toolu_1".into()),
            name: "f".into(),
            arguments: FunctionArguments::Value(json!({ "a": 1 })),
            way: "messages",
        };
        let forms = [
            json!({ "role": "assistant", "stop_reason": "tool_use", "content": [words, block] }),
            json!([words, block]),
            block,
        ];
        for form in forms {
            assert_eq!(asked(&form), std::slice::from_ref(&call), "{form}");
        }
        assert_eq!(asked(&json!({ "role": "assistant", "content": "hello" })), []);
    }
}
