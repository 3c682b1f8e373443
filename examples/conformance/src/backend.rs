//! Conformance backend: prompts, resources and completions.

use haft_driver::{Attempt, Backend, BackendNews, BackendRequest, BoxFuture, Failure, Output};
use haft_model::{Code, EffectState, Stop};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::fixture::{Fixture, form};
use crate::media::PICTURE;

impl Backend for Fixture {
    fn request<'a>(
        &'a self,
        attempt: Attempt<'a>,
        request: BackendRequest,
    ) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move { answer(&attempt, &request).await.map(Output::read) })
    }

    fn news(&self) -> Option<broadcast::Receiver<BackendNews>> {
        Some(self.news.subscribe())
    }
}

async fn answer(attempt: &Attempt<'_>, request: &BackendRequest) -> Result<Value, Failure> {
    let said = |field: &str| request.params.get(field).and_then(Value::as_str).unwrap_or_default();
    match request.method.as_str() {
        "prompts/list" => Ok(json!({ "prompts": prompts() })),
        "prompts/get" => prompt(attempt, said("name"), &request.params).await,
        "resources/list" => Ok(json!({ "resources": resources() })),
        "resources/templates/list" => Ok(json!({ "resourceTemplates": [{
            "uriTemplate": "test://template/{id}/data",
            "name": "template",
            "title": "Resource Template",
            "mimeType": "application/json",
        }] })),
        "resources/read" => read(said("uri")),
        "completion/complete" => Ok(
            json!({ "completion": { "values": ["alpha", "beta"], "total": 2, "hasMore": false } }),
        ),
        _ => Ok(json!({})),
    }
}

fn prompts() -> Value {
    let argument = |name: &str| json!({ "name": name, "required": true });
    json!([
        { "name": "test_simple_prompt", "description": "Takes nothing." },
        {
            "name": "test_prompt_with_arguments",
            "description": "Takes two arguments.",
            "arguments": [argument("arg1"), argument("arg2")],
        },
        {
            "name": "test_prompt_with_embedded_resource",
            "description": "Holds a resource.",
            "arguments": [argument("resourceUri")],
        },
        { "name": "test_prompt_with_image", "description": "Holds a picture." },
        { "name": "test_input_required_result_prompt", "description": "Asks something first." },
    ])
}

async fn prompt(attempt: &Attempt<'_>, name: &str, params: &Value) -> Result<Value, Failure> {
    let argument = |name: &str| {
        let given = params.pointer(&format!("/arguments/{name}")).and_then(Value::as_str);
        given.unwrap_or_default().to_owned()
    };
    let words = |text: String| json!({ "type": "text", "text": text });
    let contents = match name {
        "test_simple_prompt" => vec![words("This is a simple prompt for testing.".to_owned())],
        "test_prompt_with_arguments" => {
            let (one, two) = (argument("arg1"), argument("arg2"));
            vec![words(format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let uri = argument("resourceUri");
            let resource = json!({ "uri": uri, "mimeType": "text/plain", "text": "Embedded." });
            vec![json!({ "type": "resource", "resource": resource }), words("Look at it.".into())]
        }
        "test_prompt_with_image" => vec![
            json!({ "type": "image", "data": PICTURE, "mimeType": "image/png" }),
            words("Look at it.".to_owned()),
        ],
        "test_input_required_result_prompt" => {
            let inquiry = form("What is it about?", json!({ "context": { "type": "string" } }));
            let asked = attempt.link.ask([("user_context".to_owned(), inquiry)].into()).await;
            let answers = asked.map_err(|stop| Failure::new(stop, EffectState::None))?;
            vec![words(format!("It is about {}", json!(answers)))]
        }
        other => return Err(refused(format!("there is no prompt `{other}`"), json!(null))),
    };
    let messages =
        contents.into_iter().map(|content| json!({ "role": "user", "content": content }));
    Ok(json!({ "messages": messages.collect::<Vec<_>>() }))
}

fn resources() -> Value {
    let resource = |name: &str, mime_type: &str| {
        json!({
            "uri": format!("test://{name}"),
            "name": name,
            "description": "For the conformance suite.",
            "mimeType": mime_type,
        })
    };
    json!([
        resource("static-text", "text/plain"),
        resource("static-binary", "image/png"),
        resource("watched-resource", "text/plain"),
    ])
}

fn read(uri: &str) -> Result<Value, Failure> {
    let text = |mime_type: &str, text: String| json!({ "contents": [{ "uri": uri, "mimeType": mime_type, "text": text }] });
    match uri {
        "test://static-text" | "test://watched-resource" => {
            Ok(text("text/plain", "This is the content of the static text resource.".to_owned()))
        }
        "test://static-binary" => {
            Ok(json!({ "contents": [{ "uri": uri, "mimeType": "image/png", "blob": PICTURE }] }))
        }
        other => {
            let id = other.strip_prefix("test://template/").and_then(|id| id.strip_suffix("/data"));
            let id = id.ok_or_else(|| {
                refused(format!("there is no resource `{other}`"), json!({ "uri": other }))
            })?;
            let data =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            Ok(text("application/json", data.to_string()))
        }
    }
}

/// The error that the protocol has for what is not there.
fn refused(words: String, data: Value) -> Failure {
    let cause =
        json!({ "phase": "run", "json_rpc": { "code": -32002, "message": words, "data": data } });
    Failure::new(Stop::new(Code::ResourceNotFound, words).because(cause), EffectState::None)
}
