//! Gemini function calling: `functionCall` parts, answered by one content with a `functionResponse`
//! for each.

use haft_catalog::export::Format;
use serde_json::{Value, json};

use super::{FunctionArguments, FunctionCall, ModelReply, Provider, each, text};
use crate::deferred::Own;

pub(super) const PROVIDER: Provider =
    Provider { format: Format::Gemini, asked, arguments: "args", messages, declared };

fn asked(reply: &Value) -> Vec<FunctionCall> {
    let inside = ["/candidates/0/content/parts", "/content/parts", "/parts"];
    let list = inside.iter().find_map(|place| reply.pointer(place)).unwrap_or(reply);
    each(list).iter().filter_map(call).collect()
}

fn call(part: &Value) -> Option<FunctionCall> {
    // The Python clients write it another way.
    let bare = || (part.get("name").is_some() && part.get("args").is_some()).then_some(part);
    let call = part.get("functionCall").or_else(|| part.get("function_call")).or_else(bare)?;
    let arguments = call.get("args").filter(|args| !args.is_null()).cloned();
    Some(FunctionCall {
        id: call.get("id").and_then(Value::as_str).map(str::to_owned),
        name: text(call, "name"),
        arguments: FunctionArguments::Value(arguments.unwrap_or_else(|| json!({}))),
        way: "parts",
    })
}

fn messages(answered: &[(FunctionCall, ModelReply)]) -> Vec<Value> {
    if answered.is_empty() {
        return Vec::new();
    }
    let part = |(asked, said): &(FunctionCall, ModelReply)| {
        let response = match &said.value {
            Some(value) if !said.is_error => json!({ "output": value }),
            _ if said.is_error => json!({ "error": said.words }),
            _ => json!({ "output": said.words }),
        };
        let mut response = json!({ "name": asked.name, "response": response });
        if let (Some(id), Some(fields)) = (&asked.id, response.as_object_mut()) {
            fields.insert("id".to_owned(), json!(id));
        }
        json!({ "functionResponse": response })
    };
    let parts: Vec<Value> = answered.iter().map(part).collect();
    vec![json!({ "role": "user", "parts": parts })]
}

fn declared(own: Own) -> Value {
    let (about, input) = own.described();
    json!({ "name": own.name(), "description": about, "parametersJsonSchema": input })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_in_every_form_of_a_reply() {
        let bare = json!({ "id": "1", "name": "f", "args": { "a": 1 } });
        let part = json!({ "functionCall": bare });
        let call = FunctionCall {
            id: Some("1".into()),
            name: "f".into(),
            arguments: FunctionArguments::Value(json!({ "a": 1 })),
            way: "parts",
        };
        let forms = [
            json!({ "candidates": [{ "content": { "role": "model", "parts": [part] } }] }),
            json!({ "role": "model", "parts": [{ "text": "let me see" }, part] }),
            json!([{ "function_call": bare }]),
            json!([bare]),
            part,
        ];
        for form in forms {
            assert_eq!(asked(&form), std::slice::from_ref(&call), "{form}");
        }
        assert_eq!(asked(&json!({ "parts": [{ "text": "hello" }] })), []);
    }
}
