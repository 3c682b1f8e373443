//! Operation contract: writes the `TOOL.md` of an operation.

use serde_json::{Map, Value, json};

use super::OpenApiOptions;
use super::answer::OperationResponse;
use super::document::Document;
use super::operation::{Operation, OperationRequest};
use super::verb::MethodEffects;
use crate::import::Margin;
use crate::manifest::manifest;
use crate::text;

/// The first version of every contract that is imported.
pub(super) const VERSION: &str = "1.0.0";

/// Writes the contract, and notes what was decided.
pub(super) fn written(
    document: &Document<'_>,
    operation: &Operation<'_>,
    request: &OperationRequest,
    options: &OpenApiOptions,
    margin: &mut Margin,
) -> String {
    let effects = operation.effects();
    decided(&effects, margin);
    let host = &operation.server.host;
    let mutates = if effects.changes { json!([format!("external:{}", host)]) } else { json!([]) };
    let mut requires = json!({ "network": [host] });
    let slugs: Vec<&str> = request.logins.iter().map(|login| login.secret.slug.as_str()).collect();
    if let (false, Some(fields)) = (slugs.is_empty(), requires.as_object_mut()) {
        fields.insert("secrets".to_owned(), json!(slugs));
    }
    let mut fields = Map::new();
    let mut say = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    say("name", json!(name(operation)));
    say("id", json!(operation.id));
    say("description", json!(description(document, operation)));
    say("version", json!(VERSION));
    say("mutates", mutates);
    say("requires", requires);
    say("approval", json!(effects.approval));
    say("risk_level", json!(effects.risk));
    say("idempotent", json!(effects.idempotent));
    say("inputs", request.inputs.clone());
    say("outputs", request.answer.outputs.clone());
    let tags = tags(operation);
    if !tags.is_empty() {
        say("tags", json!(tags));
    }
    say("metadata", json!({ "haft": haft(operation, request, &effects, options) }));
    let body = format!(
        "Imported from `{}` by `haft add openapi`.\nWhat you change here is kept when it is imported again.\n",
        operation.called().replace('`', "'"),
    );
    manifest(&fields, &body)
}

fn decided(effects: &MethodEffects, margin: &mut Margin) {
    let value = match (effects.changes, effects.risk) {
        (false, _) => "reads only, risk 0, runs without asking",
        (true, 3) => "irreversible, risk 3, always asks",
        (true, _) => "writes, risk 2, asks",
    };
    let change = "edit `mutates`, `risk_level` and `approval` of the contract";
    margin.guess("effects", value, &effects.why, change);
}

fn haft(
    operation: &Operation<'_>,
    request: &OperationRequest,
    effects: &MethodEffects,
    options: &OpenApiOptions,
) -> Map<String, Value> {
    let mut haft = Map::new();
    let mut say = |name: &str, value: Value| haft.insert(name.to_owned(), value);
    say("kind", json!("openapi_operation"));
    if let Some(class) = effects.class {
        say("class", json!([class]));
    }
    if let Some(mode) = mode(request, effects) {
        say("idempotency", json!({ "mode": mode }));
    }
    if !request.refusals.is_empty() {
        let prefix = prefix(&operation.id);
        let errors = request.refusals.iter().map(|refusal| {
            json!({ "code": format!("{prefix}:{}", refusal.name), "meaning": refusal.meaning })
        });
        say("errors", errors.collect());
    }
    let secrets = passwords(&request.inputs);
    if !secrets.is_empty() {
        say("data", json!({ "sensitive": secrets }));
    }
    if operation.raw.get("deprecated") == Some(&json!(true)) {
        say("lifecycle", json!({ "state": "deprecated" }));
    }
    let source = text::line(&options.source, 200);
    let mut imported = Map::new();
    let mut add = |name: &str, value: String| imported.insert(name.to_owned(), json!(value));
    add("from", "openapi".to_owned());
    add("source", if source.is_empty() { "openapi".to_owned() } else { source });
    add("name", operation.called());
    let stated = operation.text("operationId").map(|id| text::line(id, 200));
    if let Some(id) = stated.filter(|id| !id.is_empty()) {
        add("operation", id);
    }
    add("effects", "vouched".to_owned());
    say("imported", imported.into());
    haft
}

/// The idempotency mode: by a key in a header, or by the semantics of the HTTP method.
fn mode(request: &OperationRequest, effects: &MethodEffects) -> Option<&'static str> {
    match &request.key {
        Some((_, true)) => Some("required"),
        Some((_, false)) => Some("optional"),
        None => (effects.changes && effects.idempotent).then_some("natural"),
    }
}

/// Redaction: inputs that no log should hold.
fn passwords(inputs: &Value) -> Vec<String> {
    let properties = inputs.get("properties").and_then(Value::as_object).into_iter().flatten();
    let secret = properties.filter(|(name, schema)| {
        schema.get("format") == Some(&json!("password")) && !name.contains(['/', '~'])
    });
    secret.map(|(name, _)| format!("/{name}")).collect()
}

/// What the codes of a tool's own errors begin with.
pub(super) fn prefix(id: &str) -> &str {
    id.split('.').next().unwrap_or(id)
}

fn name(operation: &Operation<'_>) -> String {
    let names = [operation.text("summary"), operation.text("operationId")];
    let named =
        names.into_iter().flatten().map(|name| text::line(name, 80)).find(|n| !n.is_empty());
    named.unwrap_or_else(|| text::line(&operation.called(), 80))
}

fn description(document: &Document<'_>, operation: &Operation<'_>) -> String {
    let summary = operation.text("summary").map(|summary| text::line(summary, 300));
    let long = operation.text("description").map(|long| text::prose(long, 2000));
    let mut parts: Vec<String> = Vec::new();
    for part in [summary, long].into_iter().flatten().filter(|part| !part.is_empty()) {
        if !parts.iter().any(|other| part.starts_with(other.trim_end_matches('.'))) {
            parts.push(part);
        } else if let Some(last) = parts.last_mut() {
            *last = part;
        }
    }
    if parts.is_empty() {
        let title = document.title().unwrap_or("the service");
        parts.push(format!("{} of {}.", operation.called(), text::line(title, 200)));
    }
    text::prose(&parts.join("\n\n"), 2000)
}

fn tags(operation: &Operation<'_>) -> Vec<String> {
    let listed = operation.raw.get("tags").and_then(Value::as_array).into_iter().flatten();
    let mut tags = Vec::new();
    for tag in listed.filter_map(Value::as_str).map(text::slug) {
        if !tag.is_empty() && tag.len() <= 64 && !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    tags
}

/// Notes what of an answer could not be taken over.
pub(super) fn lost(answer: &OperationResponse, margin: &mut Margin) {
    margin.lost("outputs", answer.losses.clone());
    margin.hollow("outputs", &answer.lost, answer.is_cut);
    if let Some(media) = &answer.unreadable {
        let why = format!("the answer is `{media}`, which no driver reads");
        margin.guess("outputs", "an object", &why, "edit the contract, and write a driver for it");
    }
}
