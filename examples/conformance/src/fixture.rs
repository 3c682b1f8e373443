//! Conformance driver: executes the tools that the suite calls.

use std::collections::BTreeMap;
use std::time::Duration;

use haft_driver::{
    Attempt, Backend, BackendNews, BoxFuture, Driver, Failure, Inquiry, InquiryKind, Output, Remark,
};
use haft_model::{Code, Content, EffectState, Media, Progress, Stop};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::long;
use crate::media::{PICTURE, SOUND};

/// How long a tool takes between two steps.
const STEP: Duration = Duration::from_millis(50);

/// The driver of all tools, and what there is beside them.
pub(crate) struct Fixture {
    pub(crate) news: broadcast::Sender<BackendNews>,
}

impl Fixture {
    pub(crate) fn new() -> Fixture {
        Fixture { news: broadcast::channel(16).0 }
    }

    async fn carry_out(&self, attempt: &Attempt<'_>) -> Result<Output, Failure> {
        let name = attempt.plan.tool.id.as_str().replace('-', "_");
        match name.as_str() {
            "test_image_content" => Ok(pieces(vec![picture()])),
            "test_audio_content" => Ok(pieces(vec![Content::Audio(media("audio/wav", SOUND))])),
            "test_embedded_resource" => Ok(pieces(vec![resource("test://embedded-resource")])),
            "test_multiple_content_types" => Ok(pieces(vec![
                Content::text("Several kinds of content:"),
                picture(),
                resource("test://mixed-content-resource"),
            ])),
            "test_tool_with_logging" | "test_logging_tool" => logging(attempt).await,
            "test_tool_with_progress" => progressing(attempt).await,
            "test_error_handling" => Err(failed("This tool fails on purpose")),
            "test_reconnection" => {
                tokio::time::sleep(STEP * 4).await;
                Ok(text("Done after a while."))
            }
            "greet" => Ok(text(&format!("Hello, {}!", said(attempt, "name")))),
            "slow_compute"
            | "failing_job"
            | "protocol_error_job"
            | "confirm_delete"
            | "multi_input"
            | "test_tool_with_task" => long::carry_out(&name, attempt).await,
            "test_trigger_tool_change" => self.changed(BackendNews::Tools),
            "test_trigger_prompt_change" => self.changed(BackendNews::Prompts),
            "test_custom_header" | "json_schema_2020_12_tool" => {
                Ok(text(&format!("Called with {}", attempt.input)))
            }
            "test_simple_text" | "test_dynamic_tool" => {
                Ok(text("This is a simple text response for testing."))
            }
            other => asking(other, attempt).await,
        }
    }

    fn changed(&self, news: BackendNews) -> Result<Output, Failure> {
        let _ = self.news.send(news);
        Ok(text("Told everybody."))
    }
}

impl Driver for Fixture {
    fn backend(&self) -> Option<&dyn Backend> {
        Some(self)
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            tokio::select! {
                outcome = self.carry_out(&attempt) => outcome,
                () = attempt.cancel.cancelled() => {
                    let stop = Stop::new(Code::CanceledCaller, "called off");
                    Err(Failure::new(stop, EffectState::None))
                }
            }
        })
    }
}

/// A text of the input.
fn said<'a>(attempt: &'a Attempt<'_>, field: &str) -> &'a str {
    attempt.input.get(field).and_then(Value::as_str).unwrap_or_default()
}

async fn logging(attempt: &Attempt<'_>) -> Result<Output, Failure> {
    for said in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        let remark = Remark { level: "info".to_owned(), logger: None, data: json!(said) };
        attempt.link.remark(remark).await;
        tokio::time::sleep(STEP).await;
    }
    Ok(text("Remarked three things."))
}

async fn progressing(attempt: &Attempt<'_>) -> Result<Output, Failure> {
    for percent in [0.0, 50.0, 100.0] {
        let message = Some(format!("{percent} of 100"));
        let said = Progress { message, percent: Some(percent), ..Progress::default() };
        attempt.link.progress(said).await;
        tokio::time::sleep(STEP).await;
    }
    Ok(text("Came to its end."))
}

/// Elicitation: the tools that ask the caller for input.
async fn asking(name: &str, attempt: &Attempt<'_>) -> Result<Output, Failure> {
    let inquiries = match name {
        "test_sampling" => vec![("sample", sample(said(attempt, "prompt")))],
        "test_missing_capability" => vec![("sample", sample("Anything"))],
        "test_elicitation" => {
            vec![(
                "form",
                form(said(attempt, "message"), json!({ "response": { "type": "string" } })),
            )]
        }
        "test_elicitation_sep1034_defaults" => vec![("form", form("Look at these", defaults()))],
        "test_elicitation_sep1330_enums" => vec![("form", form("Choose", choices()))],
        "test_streaming_elicitation" => {
            let half = Progress { percent: Some(50.0), ..Progress::default() };
            attempt.link.progress(half).await;
            vec![("form", form("Go on?", json!({ "ok": { "type": "boolean" } })))]
        }
        "test_input_required_result_elicitation" => vec![("user_name", named("name"))],
        "test_input_required_result_sampling" => {
            vec![("capital_question", sample("What is the capital of France?"))]
        }
        "test_input_required_result_list_roots" => vec![("client_roots", roots())],
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => {
            vec![("confirm", form("Are you sure?", json!({ "ok": { "type": "boolean" } })))]
        }
        "test_input_required_result_multiple_inputs" => vec![
            ("user_name", named("name")),
            ("greeting", sample("Say hello")),
            ("client_roots", roots()),
        ],
        "test_input_required_result_multi_round" => {
            ask(attempt, vec![("step1", named("name"))]).await?;
            vec![("step2", named("color"))]
        }
        "test_input_required_result_capabilities" => {
            let wished = vec![("user_name", named("name")), ("greeting", sample("Say hello"))];
            let able = |inquiry: &Inquiry| attempt.abilities.kinds.contains(&inquiry.kind);
            wished.into_iter().filter(|(_, inquiry)| able(inquiry)).collect()
        }
        other => return Err(failed(&format!("nobody wrote `{other}`"))),
    };
    if inquiries.is_empty() {
        return Ok(text("The client can be asked nothing."));
    }
    let answers = ask(attempt, inquiries).await?;
    let answers = serde_json::to_string(&answers).unwrap_or_default();
    let words = match name {
        "test_input_required_result_request_state" => format!("state-ok: {answers}"),
        "test_input_required_result_tampered_state" => format!("integrity-ok: {answers}"),
        _ => format!("The client answered: {answers}"),
    };
    Ok(text(&words))
}

pub(crate) async fn ask(
    attempt: &Attempt<'_>,
    inquiries: Vec<(&str, Inquiry)>,
) -> Result<BTreeMap<String, Value>, Failure> {
    let inquiries = inquiries.into_iter().map(|(name, inquiry)| (name.to_owned(), inquiry));
    let answered = attempt.link.ask(inquiries.collect()).await;
    answered.map_err(|stop| Failure::new(stop, EffectState::None))
}

fn sample(words: &str) -> Inquiry {
    let content = json!({ "type": "text", "text": words });
    let params = json!({ "messages": [{ "role": "user", "content": content }], "maxTokens": 100 });
    Inquiry { kind: InquiryKind::Sample, params }
}

fn roots() -> Inquiry {
    Inquiry { kind: InquiryKind::Roots, params: json!({}) }
}

pub(crate) fn named(what: &str) -> Inquiry {
    form(&format!("What is your {what}?"), json!({ what: { "type": "string" } }))
}

pub(crate) fn form(message: &str, properties: Value) -> Inquiry {
    let required: Vec<_> = match properties.as_object() {
        Some(fields) if fields.len() == 1 => fields.keys().cloned().collect(),
        _ => Vec::new(),
    };
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    Inquiry { kind: InquiryKind::Form, params }
}

fn defaults() -> Value {
    json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true },
    })
}

fn choices() -> Value {
    let titled = |names: [&str; 3]| {
        let options = names.iter().enumerate();
        let options = options.map(
            |(index, title)| json!({ "const": format!("value{}", index + 1), "title": title }),
        );
        options.collect::<Vec<_>>()
    };
    json!({
        "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
        "titledSingle": { "type": "string", "oneOf": titled(["First", "Second", "Third"]) },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {
            "type": "array",
            "minItems": 1,
            "maxItems": 3,
            "items": { "type": "string", "enum": ["option1", "option2", "option3"] },
        },
        "titledMulti": {
            "type": "array",
            "minItems": 1,
            "maxItems": 3,
            "items": { "anyOf": titled(["First", "Second", "Third"]) },
        },
    })
}

pub(crate) fn text(words: &str) -> Output {
    pieces(vec![Content::text(words)])
}

fn pieces(content: Vec<Content>) -> Output {
    Output { structured: None, content, ..Output::read(Value::Null) }
}

fn picture() -> Content {
    Content::Image(media("image/png", PICTURE))
}

fn media(mime_type: &str, data: &str) -> Media {
    Media::new(mime_type, data)
}

fn resource(uri: &str) -> Content {
    let text = json!({ "test": "data", "value": 123 }).to_string();
    Content::EmbeddedResource {
        uri: uri.to_owned(),
        mime_type: Some("application/json".to_owned()),
        text,
        block: None,
    }
}

pub(crate) fn failed(words: &str) -> Failure {
    Failure::new(Stop::new(Code::ExecutionFailed, words), EffectState::None)
}
