//! Function calling: what a model's reply asks for, made as calls, and answered as its provider wants.

mod anthropic;
mod arguments;
mod gemini;
mod openai;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use haft_catalog::export::{Export, Format, Offer, export};
use haft_catalog::{ViewRow, Viewer, Visibility};
use haft_driver::UPSTREAM_REQUEST;
use haft_model::{
    Actor, Call, Content, Envelope, JsonFlaw, JsonScope, Tier, ToolKey, cleaned_value,
};
use haft_runtime::{Batch, Vista};
use serde_json::{Map, Value, json};

use crate::Desk;
use crate::deferred::{self, DeferredCall, DeferredRefusal, Own};
use crate::rest::{AnyBody, By, PathParams, Problem, refs, run_batch};
use crate::session::Session;

/// One call that a model asked for.
#[derive(Clone, Debug, PartialEq)]
struct FunctionCall {
    /// What the provider knows it by.
    id: Option<String>,
    /// The name of the function, as it was exported.
    name: String,
    arguments: FunctionArguments,
    /// Which of the provider's ways it came by.
    way: &'static str,
}

/// Arguments as they came.
#[derive(Clone, Debug, PartialEq)]
enum FunctionArguments {
    /// As text that should be JSON.
    Text(String),
    Value(Value),
}

/// What a provider of models is told apart by.
struct Provider {
    format: Format,
    /// The calls in a reply, in a message of it, or in a list.
    asked: fn(&Value) -> Vec<FunctionCall>,
    /// What a call keeps its arguments under.
    arguments: &'static str,
    /// What follows the reply in the conversation.
    messages: fn(&[(FunctionCall, ModelReply)]) -> Vec<Value>,
    /// A tool of our own, as the provider has functions.
    declared: fn(Own) -> Value,
}

/// What a model reads of an answer.
struct ModelReply {
    words: String,
    value: Option<Value>,
    is_error: bool,
    /// The whole of it.
    whole: Value,
}

impl From<Envelope> for ModelReply {
    fn from(envelope: Envelope) -> ModelReply {
        ModelReply {
            words: words(&envelope),
            // It goes into a message, which the model reads.
            value: envelope.structured_content.as_ref().map(|it| cleaned_value(it).into_owned()),
            is_error: envelope.is_error,
            whole: json!(envelope),
        }
    }
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

    fn offered(&self, desk: &Desk, viewer: &Viewer<'_>) -> OfferedTools {
        let vista = desk.runtime.see(viewer);
        let mut export = export(self.format, &offers(&vista));
        let partial = vista.view.defers();
        if partial {
            self.add_own(&mut export.document);
        }
        OfferedTools { export, partial }
    }

    /// Puts ours before the functions of a document. A contract that has the name of one of ours is
    /// called by its id.
    fn add_own(&self, document: &mut Value) {
        let own = Own::ALL.into_iter().map(self.declared);
        if let Some(functions) = functions_of(document) {
            functions.retain(|function| name_of(function).and_then(Own::named).is_none());
            functions.splice(0..0, own);
        } else {
            *document = json!([{ "functionDeclarations": own.collect::<Vec<_>>() }]);
        }
    }
}

/// What somebody is offered.
struct OfferedTools {
    export: Export,
    /// Whether something is left out, so that ours are there to find it by.
    partial: bool,
}

impl OfferedTools {
    /// A function as the document has it.
    fn declared(&mut self, tool: &ToolKey) -> Option<Value> {
        let (name, _) = self.export.names.iter().find(|(_, key)| key == tool)?;
        let functions = functions_of(&mut self.export.document)?;
        functions.iter().find(|function| name_of(function) == Some(name)).cloned()
    }
}

/// The list of functions in a document, wherever its provider keeps it.
fn functions_of(document: &mut Value) -> Option<&mut Vec<Value>> {
    let inside = document.pointer("/0/functionDeclarations").is_some();
    let list = match inside {
        true => document.pointer_mut("/0/functionDeclarations"),
        false => Some(document),
    };
    list?.as_array_mut()
}

fn name_of(function: &Value) -> Option<&str> {
    let name = function.pointer("/function/name").or_else(|| function.get("name"));
    name.and_then(Value::as_str)
}

/// The contracts that somebody is shown.
pub(crate) fn offers<'s>(vista: &'s Vista) -> Vec<Offer<'s>> {
    let view = &vista.view;
    let visible = view.rows().filter(|row| {
        // What servers behind us want to know is for callers who can be asked.
        row.entry.contract.key().id.as_str() != UPSTREAM_REQUEST
            && match row.shown {
                Visibility::Loaded => true,
                // Where nothing is left out there is no search that would find it later.
                Visibility::Pending => !view.defers(),
                Visibility::Deferred
                | Visibility::Blocked(_)
                | Visibility::Excluded(_)
                | Visibility::Unknown => false,
            }
    });
    let offer = |row: &'s ViewRow| Offer {
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
    PathParams(provider): PathParams<String>,
) -> Result<Json<Value>, Problem> {
    let viewer = Viewer { actor: &actor, within: session.as_slice() };
    let offered = Provider::named(&provider)?.offered(&desk, &viewer);
    let Export { document, degradations, .. } = offered.export;
    Ok(Json(json!({ "tools": document, "degradations": degradations })))
}

/// `POST /v1/functions/{provider}`.
pub(crate) async fn call(
    State(desk): State<Arc<Desk>>,
    By(actor): By,
    PathParams(provider): PathParams<String>,
    headers: HeaderMap,
    AnyBody(reply, text): AnyBody,
) -> Result<Json<Value>, Problem> {
    let provider = Provider::named(&provider)?;
    // What else a provider tells is not ours: a time in nanoseconds need not be exact.
    if let Some(flaw) = JsonFlaw::within(&text, JsonScope::Member(provider.arguments)) {
        return Err(flaw.stop().into());
    }
    let session = Session::of(&headers).0;
    let viewer = Viewer { actor: &actor, within: session.as_slice() };
    let offered = provider.offered(&desk, &viewer);
    let names: HashMap<String, String> =
        offered.export.names.into_iter().map(|(name, key)| (name, key.to_string())).collect();
    let native = refs(&headers, "POST", "/v1/functions");
    let mut answered: Vec<(FunctionCall, Option<ModelReply>)> = Vec::new();
    let mut wanted: BTreeMap<Option<Tier>, Vec<(usize, Call)>> = BTreeMap::new();
    for (index, mut asked) in (provider.asked)(&reply).into_iter().enumerate() {
        let known_by = known_by(provider.format, &asked);
        let mut flaw = asked.arguments.flaw();
        let meant = match Own::named(&asked.name).filter(|_| offered.partial) {
            None => Ok((None, asked.name.clone(), asked.arguments.clone())),
            Some(Own::Call(tier)) => {
                flaw = flaw.map(|flaw| flaw.seen_from("/arguments"));
                meant(tier, &asked.arguments)
            }
            Some(_) if let Some(flaw) = &flaw => Err(DeferredRefusal::from(flaw.stop()).into()),
            // What is found or loaded can be called by the same reply.
            Some(own) => Err(provider.found(own, &asked.arguments, &desk, &viewer).await),
        };
        match meant {
            Err(said) => answered.push((asked, Some(said))),
            Ok((tier, name, arguments)) => {
                asked.arguments = arguments;
                let tool = names.get(&name).unwrap_or(&name);
                let mut call = made(&actor, tool, &asked, &desk);
                call.flaw = flaw;
                call.native = native.clone();
                call.native.insert(0, known_by);
                wanted.entry(tier).or_default().push((index, call));
                answered.push((asked, None));
            }
        }
    }
    for (tier, calls) in wanted {
        let (places, calls): (Vec<usize>, Vec<Call>) = calls.into_iter().unzip();
        let (results, _) = run_batch(&desk, Batch::new(calls), session.clone(), tier).await?;
        for (index, envelope) in results {
            if let Some((_, said)) = places.get(index).and_then(|place| answered.get_mut(*place)) {
                *said = Some(envelope.into());
            }
        }
    }
    let answered: Vec<(FunctionCall, ModelReply)> =
        answered.into_iter().filter_map(|(asked, said)| Some((asked, said?))).collect();
    let messages = (provider.messages)(&answered);
    let results: Vec<Value> = answered.into_iter().map(|(_, said)| said.whole).collect();
    Ok(Json(json!({ "messages": messages, "results": results })))
}

/// The call that a model asked for.
fn made(actor: &Actor, tool: &str, asked: &FunctionCall, desk: &Desk) -> Call {
    let mut call = Call::new(actor.clone(), tool.to_owned(), json!({}));
    match arguments::fitting(&asked.arguments, desk.world().snapshot.find(tool)) {
        FunctionArguments::Text(text) => call.sent = Some(text),
        FunctionArguments::Value(value) => call.input = value,
    }
    call.channel = "functions";
    call
}

/// The tool that one of ours was told to call, and with what.
fn meant(
    tier: Tier,
    arguments: &FunctionArguments,
) -> Result<(Option<Tier>, String, FunctionArguments), ModelReply> {
    let read = deferred::read::<DeferredCall>(Own::Call(tier), arguments.fields());
    let DeferredCall { name, arguments } = read.map_err(ModelReply::from)?;
    Ok((Some(tier), name, FunctionArguments::Value(Value::Object(arguments))))
}

impl Provider {
    /// A search or a load.
    async fn found(
        &self,
        own: Own,
        arguments: &FunctionArguments,
        desk: &Desk,
        viewer: &Viewer<'_>,
    ) -> ModelReply {
        let declared = |tool: &ToolKey| self.offered(desk, viewer).declared(tool);
        match desk.found(own, arguments.fields(), viewer, declared).await {
            Err(why) => why.into(),
            Ok(value) => ModelReply {
                words: value.to_string(),
                value: Some(value.clone()),
                is_error: false,
                whole: value,
            },
        }
    }
}

impl FunctionArguments {
    /// What is wrong with their text; values were looked at with the reply that holds them.
    fn flaw(&self) -> Option<JsonFlaw> {
        match self {
            FunctionArguments::Text(text) => JsonFlaw::in_text(text),
            FunctionArguments::Value(_) => None,
        }
    }

    /// Those that are an object, and none otherwise.
    fn fields(&self) -> Map<String, Value> {
        let read = match self {
            FunctionArguments::Text(text) => serde_json::from_str(text).unwrap_or_default(),
            FunctionArguments::Value(value) => value.clone(),
        };
        match read {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }
}

impl From<DeferredRefusal> for ModelReply {
    fn from(why: DeferredRefusal) -> ModelReply {
        let words = why.words().to_owned();
        let whole = json!({ "is_error": true, "summary": words });
        ModelReply { words, value: None, is_error: true, whole }
    }
}

/// What the provider knows a call by.
fn known_by(format: Format, asked: &FunctionCall) -> Value {
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
        Content::StructuredContent { data } => cleaned_value(data).to_string(),
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
