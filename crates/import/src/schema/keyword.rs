//! Schema keywords: which keywords the import copies, and which values of them are valid.

use serde_json::{Map, Value, json};

use crate::text;

/// How long a description inside a schema may be.
const LONGEST_DESCRIPTION: usize = 1000;

/// How long a mark may be.
const LONGEST_MARK: usize = 128;

/// What has to stand behind a word for it to be taken over as it is.
enum Takes {
    Text(usize),
    Flag,
    Number,
    Count,
    Any,
}

const WORDS: [(&str, Takes); 20] = [
    ("title", Takes::Text(200)),
    ("description", Takes::Text(LONGEST_DESCRIPTION)),
    ("format", Takes::Text(100)),
    ("contentEncoding", Takes::Text(100)),
    ("contentMediaType", Takes::Text(100)),
    ("deprecated", Takes::Flag),
    ("readOnly", Takes::Flag),
    ("writeOnly", Takes::Flag),
    ("uniqueItems", Takes::Flag),
    ("minimum", Takes::Number),
    ("maximum", Takes::Number),
    ("minLength", Takes::Count),
    ("maxLength", Takes::Count),
    ("minItems", Takes::Count),
    ("maxItems", Takes::Count),
    ("minContains", Takes::Count),
    ("maxContains", Takes::Count),
    ("minProperties", Takes::Count),
    ("maxProperties", Takes::Count),
    ("const", Takes::Any),
];

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];

/// The words of a schema that hold no other schema, as JSON Schema 2020-12 has them.
pub(super) fn plain(raw: &Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    if let Some(kinds) = raw.get("type").and_then(kinds) {
        out.insert("type".to_owned(), kinds);
    }
    for (word, takes) in &WORDS {
        if let Some(value) = raw.get(*word).and_then(|value| taken(value, takes)) {
            out.insert((*word).to_owned(), value);
        }
    }
    bound(raw, &mut out, "exclusiveMinimum", "minimum");
    bound(raw, &mut out, "exclusiveMaximum", "maximum");
    let step = raw.get("multipleOf").filter(|step| step.as_f64().is_some_and(|step| step > 0.0));
    let pattern = raw.get("pattern").filter(|pattern| is_pattern(pattern));
    let default = raw.get("default");
    for (word, value) in [("multipleOf", step), ("pattern", pattern), ("default", default)] {
        out.extend(value.map(|value| (word.to_owned(), value.clone())));
    }
    out.extend(choices(raw).map(|choices| ("enum".to_owned(), choices)));
    out.extend(required(raw).map(|names| ("required".to_owned(), names)));
    out
}

/// What a schema of MCP is marked with: a name that others refer to it by, and a header that repeats
/// its value.
pub(super) fn marks(raw: &Map<String, Value>) -> impl Iterator<Item = (String, Value)> {
    let marked = |word: &str, beside: &str| {
        let value = raw.get(word)?.as_str()?;
        let fits = |c: char| c.is_ascii_alphanumeric() || beside.contains(c);
        let sound = (1..=LONGEST_MARK).contains(&value.len()) && value.chars().all(fits);
        sound.then(|| (word.to_owned(), Value::from(value)))
    };
    let begins = |mark: &(String, Value)| {
        mark.1
            .as_str()
            .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
    };
    let anchor = marked("$anchor", "-._").filter(begins);
    anchor.into_iter().chain(marked("x-mcp-header", "!#$%&'*+-.^_`|~"))
}

fn taken(value: &Value, takes: &Takes) -> Option<Value> {
    match takes {
        Takes::Text(most) => {
            let text = text::prose(value.as_str()?, *most);
            (!text.is_empty()).then(|| Value::from(text))
        }
        Takes::Flag => value.as_bool().map(Value::from),
        Takes::Number => value.is_number().then(|| value.clone()),
        Takes::Count => {
            let whole = value.as_u64().or_else(|| {
                value
                    .as_f64()
                    .filter(|n| n.fract() == 0.0 && (0.0..9e15).contains(n))
                    .map(|n| n as u64)
            });
            whole.map(Value::from)
        }
        Takes::Any => Some(value.clone()),
    }
}

/// One type or a list of them, without those that JSON Schema does not have.
fn kinds(value: &Value) -> Option<Value> {
    match value {
        Value::String(kind) => TYPES.contains(&kind.as_str()).then(|| value.clone()),
        Value::Array(kinds) => {
            let mut known: Vec<Value> = Vec::new();
            for kind in
                kinds.iter().filter(|kind| kind.as_str().is_some_and(|k| TYPES.contains(&k)))
            {
                if !known.contains(kind) {
                    known.push(kind.clone());
                }
            }
            (!known.is_empty()).then_some(Value::Array(known))
        }
        _ => None,
    }
}

/// A bound that 3.0 writes as a flag beside another, and JSON Schema as a number.
fn bound(raw: &Map<String, Value>, out: &mut Map<String, Value>, word: &str, other: &str) {
    match raw.get(word) {
        Some(Value::Bool(true)) => {
            if let Some(number) = out.shift_remove(other) {
                out.insert(word.to_owned(), number);
            }
        }
        Some(number) if number.is_number() => {
            out.insert(word.to_owned(), number.clone());
        }
        _ => {}
    }
}

fn choices(raw: &Map<String, Value>) -> Option<Value> {
    let mut choices: Vec<Value> = Vec::new();
    for choice in raw.get("enum")?.as_array()? {
        if !choices.contains(choice) {
            choices.push(choice.clone());
        }
    }
    (!choices.is_empty()).then_some(Value::Array(choices))
}

fn required(raw: &Map<String, Value>) -> Option<Value> {
    let mut names: Vec<Value> = Vec::new();
    for name in raw.get("required")?.as_array()?.iter().filter(|name| name.is_string()) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    (!names.is_empty()).then_some(Value::Array(names))
}

/// An example that is small enough to help.
pub(super) fn example(raw: &Map<String, Value>, out: &mut Map<String, Value>) {
    let examples = raw.get("examples").and_then(Value::as_array).and_then(|list| list.first());
    let small = |value: &&Value| match value {
        Value::String(text) => !text.is_empty() && text.len() <= 80,
        Value::Number(_) => true,
        _ => false,
    };
    if let Some(example) = raw.get("example").or(examples).filter(small) {
        out.insert("examples".to_owned(), json!([example]));
    }
}

/// 3.0 says `nullable` where JSON Schema lists null among the types.
pub(super) fn or_null(mut schema: Map<String, Value>) -> Value {
    if let Some(Value::Array(choices)) = schema.get_mut("enum")
        && !choices.contains(&Value::Null)
    {
        choices.push(Value::Null);
    }
    let composed =
        ["$ref", "allOf", "anyOf", "oneOf"].iter().any(|word| schema.contains_key(*word));
    match schema.get_mut("type") {
        Some(Value::String(kind)) => {
            let kinds = json!([kind, "null"]);
            schema.insert("type".to_owned(), kinds);
            Value::Object(schema)
        }
        Some(Value::Array(kinds)) => {
            if !kinds.contains(&json!("null")) {
                kinds.push(json!("null"));
            }
            Value::Object(schema)
        }
        _ if composed => json!({ "anyOf": [schema, { "type": "null" }] }),
        _ => Value::Object(schema),
    }
}

/// Whether a pattern is one that Haft can hold a value against.
pub(super) fn is_pattern(pattern: &Value) -> bool {
    pattern.is_string() && haft_notation::inspect(&json!({ "pattern": pattern })).is_empty()
}
