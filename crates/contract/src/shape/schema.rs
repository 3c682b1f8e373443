//! JSON Schema export: a shape as a schema with descriptions, for editors.

use serde_json::{Map, Value, json};

use crate::shape::{Need, Shape, Strangers, Takes};

/// The JSON Schema of a document, draft 2020-12.
pub fn json_schema(shape: &Shape) -> Value {
    let mut schema = Map::new();
    schema.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".into(), json!(shape.title));
    if let Value::Object(rest) = object(shape, 0) {
        schema.extend(rest);
    }
    Value::Object(schema)
}

/// A command tree holds itself; deeper than this an editor is told no more.
const DEEPEST: usize = 12;

fn object(shape: &Shape, depth: usize) -> Value {
    let mut properties = Map::new();
    for field in shape.fields {
        let mut schema = takes(&field.takes, depth + 1);
        if let Value::Object(schema) = &mut schema {
            schema.insert("description".into(), json!(field.about));
            if let Need::Default(default) = field.need {
                let default = serde_json::from_str(default).unwrap_or(Value::Null);
                schema.insert("default".into(), default);
            }
        }
        properties.insert(field.name.into(), schema);
    }
    let required: Vec<&str> = shape
        .fields
        .iter()
        .filter(|field| field.need == Need::Required)
        .map(|field| field.name)
        .collect();
    let mut schema = Map::new();
    schema.insert("type".into(), json!("object"));
    schema.insert("properties".into(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".into(), json!(required));
    }
    if let Strangers::Refused(_) = shape.strangers {
        schema.insert("additionalProperties".into(), json!(false));
    }
    Value::Object(schema)
}

fn takes(what: &Takes, depth: usize) -> Value {
    if depth > DEEPEST {
        return json!({});
    }
    match what {
        Takes::Any => json!({}),
        Takes::Text(least, most) => {
            json!({ "type": "string", "minLength": least, "maxLength": most })
        }
        Takes::Formed(form) => match &form.pattern {
            Some(pattern) => json!({ "type": "string", "pattern": pattern.source() }),
            None => json!({ "type": "string" }),
        },
        Takes::Word(words) => json!({ "enum": words }),
        Takes::Integer(least, i64::MAX) => json!({ "type": "integer", "minimum": least }),
        Takes::Integer(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Takes::Number(least) => json!({ "type": "number", "minimum": least }),
        Takes::Flag => json!({ "type": "boolean" }),
        Takes::List(0, inner) => json!({ "type": "array", "items": takes(inner, depth + 1) }),
        Takes::List(least, inner) => {
            json!({ "type": "array", "minItems": least, "items": takes(inner, depth + 1) })
        }
        Takes::Set(inner) => {
            json!({ "type": "array", "uniqueItems": true, "items": takes(inner, depth + 1) })
        }
        Takes::Names(form, inner) => {
            let values = takes(inner, depth + 1);
            match form.and_then(|form| form.pattern.as_ref()) {
                None => json!({ "type": "object", "additionalProperties": values }),
                Some(pattern) => json!({
                    "type": "object", "additionalProperties": values,
                    "propertyNames": { "pattern": pattern.source() },
                }),
            }
        }
        Takes::Map(shape) => object(shape, depth + 1),
        Takes::Kinds(_, kinds) => {
            let choices: Vec<Value> =
                kinds.iter().map(|(_, shape)| object(shape, depth + 1)).collect();
            json!({ "anyOf": choices })
        }
        Takes::Schema => json!({ "$ref": "https://json-schema.org/draft/2020-12/schema" }),
        Takes::Object => json!({ "type": "object" }),
        Takes::Either(choices) => {
            let choices: Vec<Value> =
                choices.iter().map(|choice| takes(choice, depth + 1)).collect();
            json!({ "anyOf": choices })
        }
        Takes::Nullable(inner) => json!({ "anyOf": [takes(inner, depth + 1), { "type": "null" }] }),
    }
}
