//! Swagger 2.0 conversion: rewrites a document as the equivalent OpenAPI 3.0 document.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::bundle::FILES;
use crate::schema::{Dialect, Root, reference};

mod payload;

/// Every verb that a path item may have.
const VERBS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

/// A document as OpenAPI 3 has it: the one that is given, unless it is Swagger 2.0.
pub(super) fn modern(document: &Value) -> Cow<'_, Value> {
    match is_2(document) {
        true => Cow::Owned(Old { root: document }.converted()),
        false => Cow::Borrowed(document),
    }
}

/// Whether a document is one of Swagger 2.0.
pub(super) fn is_2(document: &Value) -> bool {
    let version = document.get("swagger").and_then(Value::as_str);
    version.is_some_and(|version| version.starts_with("2."))
}

/// A document of Swagger 2.0.
#[derive(Clone, Copy)]
struct Old<'d> {
    root: &'d Value,
}

impl<'d> Old<'d> {
    fn converted(self) -> Value {
        let mut new = Map::new();
        new.insert("openapi".to_owned(), json!("3.0.3"));
        for kept in ["info", "tags", "security", "externalDocs"] {
            new.extend(self.root.get(kept).map(|value| (kept.to_owned(), value.clone())));
        }
        new.extend(self.servers().map(|servers| ("servers".to_owned(), servers)));
        let paths = object(self.root.get("paths"));
        let paths = paths.map(|(path, item)| (path.clone(), self.item(self.followed(item))));
        new.insert("paths".to_owned(), Value::Object(paths.collect()));
        let schemas = object(self.root.get("definitions"));
        let schemas: Map<_, _> = schemas.map(|(name, raw)| (name.clone(), schema(raw))).collect();
        let files = self.root.get(FILES).map(|files| (FILES.to_owned(), schema(files)));
        new.extend(files);
        let logins = object(self.root.get("securityDefinitions"));
        let logins: Map<_, _> = logins.map(|(name, raw)| (name.clone(), login(raw))).collect();
        new.insert(
            "components".to_owned(),
            json!({ "schemas": schemas, "securitySchemes": logins }),
        );
        Value::Object(new)
    }

    /// Where requests go: encrypted where the document leaves the choice.
    fn servers(self) -> Option<Value> {
        let text = |name: &str| self.root.get(name).and_then(Value::as_str);
        let base = text("basePath").unwrap_or_default();
        let Some(host) = text("host") else {
            return (!base.is_empty()).then(|| json!([{ "url": base }]));
        };
        let schemes = list(self.root.get("schemes")).filter_map(Value::as_str);
        let scheme = match schemes.collect::<Vec<_>>()[..] {
            [only] => only,
            [] => "https",
            [first, ..] if !list(self.root.get("schemes")).any(|one| one == "https") => first,
            [..] => "https",
        };
        Some(json!([{ "url": format!("{scheme}://{host}{base}") }]))
    }

    fn item(self, item: &'d Value) -> Value {
        let shared: Vec<&Value> = self.parameters(item);
        let fields = object(Some(item)).filter(|(name, _)| *name != "parameters");
        let new = fields.map(|(name, value)| match VERBS.contains(&name.as_str()) {
            true => (name.clone(), self.operation(value, &shared)),
            false => (name.clone(), value.clone()),
        });
        Value::Object(new.collect())
    }

    /// The parameters of an item or an operation, wherever they are written.
    fn parameters(self, of: &'d Value) -> Vec<&'d Value> {
        list(of.get("parameters")).map(|raw| self.followed(raw)).collect()
    }

    /// What a reference to a part of this document leads to.
    fn followed(self, raw: &'d Value) -> &'d Value {
        let root = Root { value: self.root, dialect: Dialect::Old };
        root.resolved(raw).unwrap_or(raw)
    }

    fn operation(self, raw: &'d Value, shared: &[&'d Value]) -> Value {
        let own = self.parameters(raw);
        let same = |one: &Value, other: &Value| {
            one.get("name") == other.get("name") && one.get("in") == other.get("in")
        };
        let inherited = shared.iter().filter(|one| !own.iter().any(|other| same(one, other)));
        let all: Vec<&Value> = inherited.chain(&own).copied().collect();
        let mut new: Map<String, Value> =
            object(Some(raw)).map(|(n, v)| (n.clone(), v.clone())).collect();
        for gone in ["consumes", "produces", "schemes", "parameters", "responses"] {
            new.remove(gone);
        }
        let in_request = |raw: &&Value| !matches!(place(raw), "body" | "formData");
        let parameters: Vec<Value> =
            all.iter().copied().filter(in_request).map(parameter).collect();
        new.insert("parameters".to_owned(), Value::Array(parameters));
        let body = payload::body(&all, &self.media("consumes", raw));
        new.extend(body.map(|body| ("requestBody".to_owned(), body)));
        let produces = self.media("produces", raw);
        let answers = object(raw.get("responses")).map(|(status, answer)| {
            (status.clone(), payload::answer(self.followed(answer), &produces))
        });
        new.insert("responses".to_owned(), Value::Object(answers.collect()));
        Value::Object(new)
    }

    /// The media types of an operation: its own, or those of the whole document.
    fn media(self, field: &str, operation: &'d Value) -> Vec<&'d str> {
        let own = operation.get(field).or_else(|| self.root.get(field));
        list(own).filter_map(Value::as_str).collect()
    }
}

/// A parameter of a path, a query or a header: what it is moves into a schema, and how a list is
/// written becomes a style.
fn parameter(raw: &Value) -> Value {
    if reference(raw).is_some() {
        // It leads nowhere, which is found out when it is followed again.
        return raw.clone();
    }
    let mut new = Map::new();
    for kept in ["name", "in", "description", "required"] {
        new.extend(raw.get(kept).map(|value| (kept.to_owned(), value.clone())));
    }
    let (style, explode) = match (raw.get("collectionFormat").and_then(Value::as_str), place(raw)) {
        (Some("multi"), _) => ("form", true),
        (Some("ssv"), "query") => ("spaceDelimited", false),
        (Some("pipes"), "query") => ("pipeDelimited", false),
        (_, "query") => ("form", false),
        (_, _) => ("simple", false),
    };
    if raw.get("type") == Some(&json!("array")) {
        new.insert("style".to_owned(), json!(style));
        new.insert("explode".to_owned(), json!(explode));
    }
    new.insert("schema".to_owned(), described(raw));
    Value::Object(new)
}

/// What a parameter says of its value, as a schema.
fn described(raw: &Value) -> Value {
    const BESIDE: [&str; 8] = [
        "name",
        "in",
        "description",
        "required",
        "collectionFormat",
        "allowEmptyValue",
        "schema",
        "x-example",
    ];
    let words = object(Some(raw)).filter(|(name, _)| !BESIDE.contains(&name.as_str()));
    schema(&Value::Object(words.map(|(name, value)| (name.clone(), value.clone())).collect()))
}

/// A schema, with what was written otherwise in 2.0.
fn schema(raw: &Value) -> Value {
    match raw {
        Value::Array(items) => items.iter().map(schema).collect(),
        Value::Object(fields) => {
            let mut new: Map<String, Value> =
                fields.iter().map(|(name, value)| (name.clone(), word(name, value))).collect();
            if new.get("type") == Some(&json!("file")) {
                new.insert("type".to_owned(), json!("string"));
                new.insert("format".to_owned(), json!("binary"));
            }
            if let Some(nullable) = new.remove("x-nullable") {
                new.insert("nullable".to_owned(), nullable);
            }
            Value::Object(new)
        }
        other => other.clone(),
    }
}

fn word(name: &str, value: &Value) -> Value {
    match (name, value) {
        ("$ref", Value::String(target)) => {
            json!(target.replacen("#/definitions/", "#/components/schemas/", 1))
        }
        ("discriminator", Value::String(property)) => json!({ "propertyName": property }),
        // What is shown as a value is no schema, whatever it looks like.
        ("example" | "default" | "enum", shown) => shown.clone(),
        (_, value) => schema(value),
    }
}

fn login(raw: &Value) -> Value {
    let text = |name: &str| raw.get(name).and_then(Value::as_str);
    match text("type") {
        Some("basic") => json!({ "type": "http", "scheme": "basic" }),
        Some("oauth2") => {
            let flow = match text("flow") {
                Some("application") => "clientCredentials",
                Some("accessCode") => "authorizationCode",
                Some(same) => same,
                None => "implicit",
            };
            let fields = object(Some(raw)).filter(|(name, _)| *name != "type" && *name != "flow");
            let fields: Map<_, _> = fields.map(|(n, v)| (n.clone(), v.clone())).collect();
            json!({ "type": "oauth2", "flows": { flow: fields } })
        }
        _ => raw.clone(),
    }
}

fn place(raw: &Value) -> &str {
    raw.get("in").and_then(Value::as_str).unwrap_or_default()
}

fn object(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests;
