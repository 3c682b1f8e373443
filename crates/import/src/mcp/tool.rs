//! MCP tool import: the contract of one tool of a server.

use serde_json::{Map, Value, json};

use super::{ImportedTools, VERSION};
use crate::import::Margin;
use crate::manifest::manifest;
use crate::schema::{Dialect, Root, Side, shaped};
use crate::text;

/// Annotations that a server may send and that the import does not believe.
const HINTS: [&str; 4] = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

/// Writes the contract, and notes what was decided.
pub(super) fn written(
    raw: &Value,
    id: &str,
    made: &ImportedTools<'_>,
    margin: &mut Margin,
) -> String {
    let ImportedTools { name: import, launch, options, .. } = made;
    let called = raw.get("name").and_then(Value::as_str).unwrap_or_default();
    let hints = hints(raw);
    let reads = options.believe_reads && hints.get("readOnlyHint") == Some(&json!(true));
    if !reads {
        decided(&hints, margin);
    }
    let mut fields = Map::new();
    let mut say = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    say("name", json!(title(raw, called)));
    say("id", json!(id));
    say("description", json!(description(raw, called, import)));
    say("version", json!(VERSION));
    let mutates = if reads { json!([]) } else { json!([format!("external:{import}")]) };
    say("mutates", mutates);
    say("requires", launch.requires());
    say("approval", json!(if reads { "auto" } else { "on-mutate" }));
    say("risk_level", json!(if reads { 0 } else { 3 }));
    say("inputs", inputs(raw, margin));
    say("outputs", outputs(raw, margin));
    let mut imported = Map::new();
    imported.insert("from".to_owned(), json!("mcp"));
    imported.insert("source".to_owned(), json!(launch.shown));
    imported.insert("name".to_owned(), json!(text::line(called, 200)));
    let mut haft = Map::new();
    haft.insert("kind".to_owned(), json!("mcp_tool"));
    if options.keep_names && is_a_name(called) {
        haft.insert("exposed_as".to_owned(), json!(called));
    }
    if reads {
        haft.insert("class".to_owned(), json!(["read-only"]));
        haft.insert("concurrency".to_owned(), json!({ "safe": true }));
        imported.insert("effects".to_owned(), json!("vouched"));
    }
    haft.insert("imported".to_owned(), Value::Object(imported));
    let mut metadata = json!({ "haft": haft });
    if let (false, Some(fields)) = (hints.is_empty(), metadata.as_object_mut()) {
        fields.insert("mcp".to_owned(), json!({ "annotations": hints }));
    }
    say("metadata", metadata);
    let body =
        "Imported by `haft add mcp`.\nWhat you change here is kept when it is imported again.\n";
    manifest(&fields, body)
}

/// Whether a name can be shown as it is.
fn is_a_name(called: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    (1..=64).contains(&called.len()) && called.chars().all(fits)
}

fn hints(raw: &Value) -> Map<String, Value> {
    let annotations = raw.get("annotations").and_then(Value::as_object);
    let stated = annotations.into_iter().flatten();
    let known = stated.filter(|(name, value)| HINTS.contains(&name.as_str()) && value.is_boolean());
    known.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn decided(hints: &Map<String, Value>, margin: &mut Margin) {
    let said: Vec<String> = hints.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let why = match said.is_empty() {
        true => "the server does not say what the tool changes".to_owned(),
        false => {
            format!("the server says {}, and the workspace does not vouch for it", said.join(", "))
        }
    };
    let change = "state `mutates`, `risk_level` and `approval`, and `effects: vouched` below \
                  `metadata.haft.imported`";
    margin.guess("effects", "may change anything, risk 3, asks", &why, change);
}

fn title(raw: &Value, called: &str) -> String {
    let stated = [raw.get("title"), raw.pointer("/annotations/title")];
    let stated = stated.into_iter().flatten().filter_map(Value::as_str);
    let mut names = stated.chain([called]).map(|name| text::line(name, 80));
    names.find(|name| !name.is_empty()).unwrap_or_else(|| "A tool".to_owned())
}

fn description(raw: &Value, called: &str, import: &str) -> String {
    let stated = raw.get("description").and_then(Value::as_str).unwrap_or_default();
    let stated = text::prose(stated, 2000);
    let called = text::line(called, 100);
    if stated.is_empty() { format!("The tool `{called}` of {import}.") } else { stated }
}

fn inputs(raw: &Value, margin: &mut Margin) -> Value {
    let none = json!({ "type": "object", "properties": {} });
    let Some(stated) = raw.get("inputSchema").filter(|schema| schema.is_object()) else {
        return none;
    };
    let root = Root { value: stated, dialect: Dialect::Complete };
    let mut shaped = shaped(&root, stated, Side::Input);
    margin.lost("inputs", std::mem::take(&mut shaped.losses));
    let mut schema = shaped.whole_of(stated);
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("type".to_owned(), json!("object"));
        fields.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

fn outputs(raw: &Value, margin: &mut Margin) -> Value {
    if let Some(stated) = raw.get("outputSchema").filter(|schema| schema.is_object()) {
        let root = Root { value: stated, dialect: Dialect::Complete };
        let mut shaped = shaped(&root, stated, Side::Output);
        margin.lost("outputs", std::mem::take(&mut shaped.losses));
        return shaped.whole_of(stated);
    }
    let why = "the server does not say what comes out";
    margin.guess("outputs", "anything", why, "write a schema into the contract");
    json!({ "description": "What the server gives back; it does not say what that is." })
}
