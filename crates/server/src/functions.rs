//! Function calling: what a model's reply asks for, made as calls, and answered as its provider wants.

mod anthropic;
mod arguments;
mod gemini;
mod openai;

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use haft_catalog::export::{Export, Format, Offer, export};
use haft_catalog::{Row, Shown, Viewer};
use haft_driver::UPSTREAM_REQUEST;
use haft_model::{Call, Content, Envelope};
use haft_runtime::{Batch, Vista};
use serde_json::{Value, json};

use crate::Desk;
use crate::rest::{AnyBody, By, Named, Problem, refs, run_batch};
use crate::session::Session;

/// One call that a model asked for.
#[derive(Clone, Debug, PartialEq)]
struct Asked {
    /// What the provider knows it by.
    id: Option<String>,
    /// The name of the function, as it was exported.
    name: String,
    arguments: Arguments,
    /// Which of the provider's ways it came by.
    way: &'static str,
}

/// Arguments as they came.
#[derive(Clone, Debug, PartialEq)]
enum Arguments {
    /// As text that should be JSON.
    Text(String),
    Value(Value),
}

/// What a provider of models is told apart by.
struct Provider {
    format: Format,
    /// The calls in a reply, in a message of it, or in a list.
    asked: fn(&Value) -> Vec<Asked>,
    /// What follows the reply in the conversation.
    messages: fn(&[(Asked, Envelope)]) -> Vec<Value>,
}

impl Provider {
    fn named(name: &str) -> Result<Provider, Problem> {
        match name {
            "openai" => Ok(openai::PROVIDER),
            "anthropic" => Ok(anthropic::PROVIDER),
            "gemini" => Ok(gemini::PROVIDER),
            other => Err(Problem::missing("provider", other)),
        }
    }

    fn offered(&self, desk: &Desk, viewer: &Viewer<'_>) -> Export {
        export(self.format, &offers(&desk.runtime.see(viewer)))
    }
}

/// The contracts that somebody is shown.
pub(crate) fn offers<'s>(vista: &'s Vista) -> Vec<Offer<'s>> {
    let view = &vista.view;
    let visible = view.rows().filter(|row| {
        // What servers behind us want to know is for callers who can be asked.
        row.entry.contract.key().id.as_str() != UPSTREAM_REQUEST
            && match row.shown {
                Shown::Loaded => true,
                // Where nothing is left out there is no search that would find it later.
                Shown::Pending => !view.defers(),
                Shown::Deferred | Shown::Blocked(_) | Shown::Excluded(_) | Shown::Unknown => false,
            }
    });
    let offer = |row: &'s Row| Offer {
        contract: &row.entry.contract,
        driver: None,
        lifecycle: row.entry.lifecycle(view.today()),
    };
    visible.map(offer).collect()
}

/// `GET /v1/functions/{provider}`.
pub(crate) async fn list(
    State(desk): State<Arc<Desk>>,
    By(actor): By,
    Session(session): Session,
    Named(provider): Named<String>,
) -> Result<Json<Value>, Problem> {
    let viewer = Viewer { actor: &actor, within: session.as_slice() };
    let offered = Provider::named(&provider)?.offered(&desk, &viewer);
    Ok(Json(json!({ "tools": offered.document, "degradations": offered.degradations })))
}

/// `POST /v1/functions/{provider}`.
pub(crate) async fn call(
    State(desk): State<Arc<Desk>>,
    By(actor): By,
    Named(provider): Named<String>,
    headers: HeaderMap,
    AnyBody(reply): AnyBody,
) -> Result<Json<Value>, Problem> {
    let provider = Provider::named(&provider)?;
    let session = Session::of(&headers).0;
    let offered = provider.offered(&desk, &Viewer { actor: &actor, within: session.as_slice() });
    let names: HashMap<String, String> =
        offered.names.into_iter().map(|(name, key)| (name, key.to_string())).collect();
    let asked = (provider.asked)(&reply);
    let native = refs(&headers, "POST", "/v1/functions");
    let world = desk.world();
    let calls = asked.iter().map(|asked| {
        let tool = names.get(&asked.name).unwrap_or(&asked.name);
        let mut call = Call::new(actor.as_ref().clone(), tool.clone(), json!({}));
        match arguments::fitting(&asked.arguments, world.snapshot.find(tool)) {
            Arguments::Text(text) => call.sent = Some(text),
            Arguments::Value(value) => call.input = value,
        }
        call.channel = "functions";
        call.native = native.clone();
        call.native.insert(0, known_by(provider.format, asked));
        call
    });
    let batch = Batch::new(calls.collect::<Vec<_>>());
    let mut results = match batch.calls.is_empty() {
        true => Vec::new(),
        false => run_batch(&desk, batch, session).await?.0,
    };
    results.sort_by_key(|(index, _)| *index);
    let answered: Vec<(Asked, Envelope)> =
        asked.into_iter().zip(results.into_iter().map(|(_, envelope)| envelope)).collect();
    let messages = (provider.messages)(&answered);
    let results: Vec<&Envelope> = answered.iter().map(|(_, envelope)| envelope).collect();
    Ok(Json(json!({ "messages": messages, "results": results })))
}

/// What the provider knows a call by.
fn known_by(format: Format, asked: &Asked) -> Value {
    json!({
        "source": "function_call",
        "provider": format.name(),
        "id": asked.id,
        "tool_call_id": asked.id,
        "function_name": asked.name,
    })
}

/// What a model reads of an answer.
fn words(envelope: &Envelope) -> String {
    let piece = |piece: &Content| match piece {
        Content::Text { text } | Content::Log { text, .. } | Content::Diff { text, .. } => {
            text.clone()
        }
        Content::StructuredContent { data } => data.to_string(),
        Content::EmbeddedResource { text, .. } => text.clone(),
        Content::Image(media)
        | Content::Audio(media)
        | Content::Video(media)
        | Content::File(media) => format!("[{}]", media.mime_type),
        Content::ResourceLink(link)
        | Content::ArtifactRef(link)
        | Content::PersistedOutputRef(link)
        | Content::HandoffRef(link) => link.uri.clone(),
    };
    let pieces: Vec<String> = envelope.model_facing_content.iter().map(piece).collect();
    match pieces.is_empty() {
        true => envelope.summary.clone(),
        false => pieces.join("\n"),
    }
}

/// A text of an object, empty where there is none.
fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The values of a list, or the value itself.
fn each(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        one => std::slice::from_ref(one),
    }
}
