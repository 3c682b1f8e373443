//! Function calling: runs the calls in a model's reply and answers in its provider's format.

mod anthropic;
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

use crate::AppState;
use crate::deferred::{self, DeferredCall, DeferredRefusal, Own};
use crate::rest::{AnyBody, By, PathParams, Problem, refs, run_batch};
use crate::session::Session;

/// One call in a model's reply.
#[derive(Clone, Debug, PartialEq)]
struct FunctionCall {
    /// The provider's id of the call.
    id: Option<String>,
    /// The name of the function, as it was exported.
    name: String,
    arguments: FunctionArguments,
    /// The provider's API that it came from.
    way: &'static str,
}

/// Arguments in the form they came in.
#[derive(Clone, Debug, PartialEq)]
enum FunctionArguments {
    /// As text that should be JSON.
    Text(String),
    Value(Value),
}

/// Format of a model provider.
struct Provider {
    format: Format,
    /// Extracts the calls from a reply, a message of it, or a list.
    asked: fn(&Value) -> Vec<FunctionCall>,
    /// The field that holds a call's arguments.
    arguments: &'static str,
    /// Builds the messages that follow the reply in the conversation.
    messages: fn(&[(FunctionCall, ModelReply)]) -> Vec<Value>,
    /// Declares one of our own tools as a function.
    declared: fn(Own) -> Value,
}

/// What a model reads of a result.
struct ModelReply {
    words: String,
    value: Option<Value>,
    is_error: bool,
    /// The whole envelope.
    whole: Value,
}

impl From<Envelope> for ModelReply {
    fn from(envelope: Envelope) -> ModelReply {
        ModelReply {
            words: words(&envelope),
            // It goes into a message that the model reads.
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

    fn offered(&self, desk: &AppState, viewer: &Viewer<'_>) -> OfferedTools {
        let vista = desk.runtime.see(viewer);
        let mut export = export(self.format, &offers(&vista), vista.snapshot.wire_names());
        let partial = vista.view.defers();
        if partial {
            self.add_own(&mut export.document);
        }
        OfferedTools { export, partial }
    }

    /// Puts our own tools before the functions of a document.
    fn add_own(&self, document: &mut Value) {
        let own = Own::ALL.into_iter().map(self.declared);
        if let Some(functions) = functions_of(document) {
            functions.splice(0..0, own);
        } else {
            *document = json!([{ "functionDeclarations": own.collect::<Vec<_>>() }]);
        }
    }
}

/// The tools that a viewer is offered.
struct OfferedTools {
    export: Export,
    /// Whether tools are deferred, so that our own tools are listed to find them.
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

/// The list of functions in a provider's document.
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

/// The contracts that a viewer sees.
pub(crate) fn offers<'s>(vista: &'s Vista) -> Vec<Offer<'s>> {
    let view = &vista.view;
    let visible = view.rows().filter(|row| {
        // Elicitations of upstream servers are for callers that can be asked.
        row.entry.contract.key().id.as_str() != UPSTREAM_REQUEST
            && match row.shown {
                Visibility::Loaded => true,
                // Where nothing is deferred, no search would find it later.
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
    State(desk): State<Arc<AppState>>,
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
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    PathParams(provider): PathParams<String>,
    headers: HeaderMap,
    AnyBody(reply, text): AnyBody,
) -> Result<Json<Value>, Problem> {
    let provider = Provider::named(&provider)?;
    // Only arguments are checked for flaws: other fields are the provider's, and a time in
    // nanoseconds need not be exact.
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
            // A later call of the same reply may use what is found or loaded.
            Some(own) => Err(provider.found(own, &asked.arguments, &desk, &viewer).await),
        };
        match meant {
            Err(said) => answered.push((asked, Some(said))),
            Ok((tier, name, arguments)) => {
                asked.arguments = arguments;
                let tool = names.get(&name).unwrap_or(&name);
                let mut call = made(&actor, tool, &asked);
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
fn made(actor: &Actor, tool: &str, asked: &FunctionCall) -> Call {
    let mut call = Call::new(actor.clone(), tool.to_owned(), json!({}));
    match &asked.arguments {
        FunctionArguments::Text(text) => call.sent = Some(text.clone()),
        FunctionArguments::Value(value) => call.input = value.clone(),
    }
    call.channel = "functions";
    call
}

/// The tool and input that one of our call tools was given.
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
        desk: &AppState,
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
    /// The JSON flaw of argument text; values were checked with the reply that holds them.
    fn flaw(&self) -> Option<JsonFlaw> {
        match self {
            FunctionArguments::Text(text) => JsonFlaw::in_text(text),
            FunctionArguments::Value(_) => None,
        }
    }

    /// The arguments if they are an object; empty otherwise.
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

/// The foreign id of a call from a provider.
fn known_by(format: Format, asked: &FunctionCall) -> Value {
    json!({
        "source": "function_call",
        "provider": format.name(),
        "id": asked.id,
        "tool_call_id": asked.id,
        "function_name": asked.name,
    })
}

/// The text that a model reads of an envelope.
fn words(envelope: &Envelope) -> String {
    let piece = |piece: &Content| match piece {
        Content::Text { text, .. } | Content::Log { text, .. } | Content::Diff { text, .. } => {
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

/// A string field of an object; empty where it is missing.
fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The items of a list, or the value itself.
fn each(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        one => std::slice::from_ref(one),
    }
}
