//! Request headers of streamable HTTP from 2026-07-28 on: `Mcp-Method`, `Mcp-Name` and, for
//! arguments that a tool's schema marks with `x-mcp-header`, `Mcp-Param-*`.

use std::collections::HashSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rmcp::model::{JsonObject, ProtocolVersion};
use serde_json::{Map, Value};

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The schema keyword that names the header of an argument.
const ANNOTATION: &str = "x-mcp-header";

/// The parts of a request that its headers repeat.
#[derive(Clone, Debug, Default)]
pub(super) struct RepeatedParts {
    /// What the request names: a tool, a prompt, a resource or a task.
    pub(super) name: Option<String>,
    /// The headers of its arguments.
    pub(super) arguments: Vec<(HeaderName, HeaderValue)>,
}

impl RepeatedParts {
    pub(super) fn name(name: &str) -> RepeatedParts {
        RepeatedParts { name: Some(name.to_owned()), arguments: Vec::new() }
    }

    /// The parts of a request by its method.
    pub(super) fn of(method: &str, params: &JsonObject) -> RepeatedParts {
        let field = match method {
            "tools/call" | "prompts/get" => "name",
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
            "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
            _ => return RepeatedParts::default(),
        };
        params.get(field).and_then(Value::as_str).map(RepeatedParts::name).unwrap_or_default()
    }

    /// The headers of a request without a handshake.
    pub(super) fn headers(self, version: &ProtocolVersion, method: &str) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(4 + self.arguments.len());
        let named = self.name.as_deref().and_then(encoded).map(|name| (NAME, name));
        let method = HeaderValue::from_str(method).ok().map(|method| (METHOD, method));
        headers.extend(version_header(version).into_iter().chain(method).chain(named));
        headers.extend(self.arguments);
        headers
    }
}

/// The header of a protocol version.
pub(super) fn version_header(version: &ProtocolVersion) -> Option<(HeaderName, HeaderValue)> {
    Some((VERSION, HeaderValue::from_str(version.as_str()).ok()?))
}

/// A value as a header; base64 where it is no plain text.
fn encoded(value: &str) -> Option<HeaderValue> {
    let is_plain = value.bytes().all(|byte| (0x20..=0x7E).contains(&byte))
        && value.trim_matches([' ', '\t']) == value
        && !(value.starts_with("=?base64?") && value.ends_with("?="));
    let text = match is_plain {
        true => value.to_owned(),
        false => format!("=?base64?{}?=", BASE64_STANDARD.encode(value)),
    };
    HeaderValue::from_str(&text).ok()
}

/// An argument that is repeated as a header.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ArgumentHeader {
    header: HeaderName,
    /// Property names from the root of the schema.
    path: Vec<String>,
}

impl ArgumentHeader {
    /// Reads the annotations of a tool's input schema; `None` where one of them is invalid, so that
    /// the tool must not be called.
    pub(super) fn of_schema(schema: &JsonObject) -> Option<Vec<ArgumentHeader>> {
        if !mentions(schema) {
            return Some(Vec::new());
        }
        let mut found = Vec::new();
        if schema.contains_key(ANNOTATION) || !collect(schema, &mut Vec::new(), &mut found) {
            return None;
        }
        let mut names = HashSet::new();
        found.iter().all(|found| names.insert(found.header.clone())).then_some(found)
    }

    /// The header of the argument in a call; `None` where the call does not send it.
    pub(super) fn of_call(
        &self,
        arguments: &Map<String, Value>,
    ) -> Option<(HeaderName, HeaderValue)> {
        let (first, rest) = self.path.split_first()?;
        let value = rest.iter().try_fold(arguments.get(first)?, |value, name| value.get(name))?;
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some((self.header.clone(), encoded(&text)?))
    }
}

/// Whether an annotation occurs anywhere in a schema; most schemas have none.
fn mentions(schema: &JsonObject) -> bool {
    fn within(value: &Value) -> bool {
        match value {
            Value::Object(fields) => mentions(fields),
            Value::Array(items) => items.iter().any(within),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
    schema.iter().any(|(name, value)| name == ANNOTATION || within(value))
}

/// Collects the annotations of properties; `false` where one is invalid or stands elsewhere.
fn collect<'s>(
    schema: &'s JsonObject,
    path: &mut Vec<&'s str>,
    found: &mut Vec<ArgumentHeader>,
) -> bool {
    schema.iter().all(|(keyword, value)| match (keyword.as_str(), value) {
        ("properties", Value::Object(properties)) => properties.iter().all(|(name, property)| {
            let Value::Object(property) = property else { return true };
            path.push(name);
            let is_valid = annotated(property, path, found) && collect(property, path, found);
            path.pop();
            is_valid
        }),
        (ANNOTATION, _) => true,
        // Instance data, not subschemas.
        ("default" | "const" | "enum" | "examples", _) => true,
        (_, Value::Object(other)) => !mentions(other),
        (_, Value::Array(items)) => {
            !items.iter().any(|item| item.as_object().is_some_and(mentions))
        }
        _ => true,
    })
}

/// Reads the annotation of one property; `false` where it is invalid.
fn annotated(property: &JsonObject, path: &[&str], found: &mut Vec<ArgumentHeader>) -> bool {
    let Some(annotation) = property.get(ANNOTATION) else { return true };
    let kind = property.get("type").and_then(Value::as_str);
    let is_primitive = matches!(kind, Some("string" | "integer" | "boolean"));
    let name = annotation.as_str().filter(|name| !name.is_empty() && is_primitive);
    let header = name.and_then(|name| HeaderName::try_from(format!("mcp-param-{name}")).ok());
    let path = path.iter().map(|name| (*name).to_owned()).collect();
    header.map(|header| found.push(ArgumentHeader { header, path })).is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> JsonObject {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn header_value_is_base64_unless_plain_text() {
        for (value, text) in [
            ("echo", "echo"),
            ("a b", "a b"),
            (" a", "=?base64?IGE=?="),
            ("ä", "=?base64?w6Q=?="),
            ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
            ("", ""),
        ] {
            assert_eq!(encoded(value).unwrap(), text, "{value}");
        }
    }

    #[test]
    fn annotated_arguments_become_headers() {
        let schema = object(json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "off": {"type": "boolean", "x-mcp-header": "Off"},
        }}));
        let annotated = ArgumentHeader::of_schema(&schema).unwrap();
        let arguments = object(json!({"region": "ö", "deep": {"n": 7}, "off": null}));
        let sent: Vec<_> = annotated.iter().filter_map(|found| found.of_call(&arguments)).collect();
        let sent: Vec<_> =
            sent.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(sent, [("mcp-param-region", "=?base64?w7Y=?="), ("mcp-param-n", "7")]);
    }

    #[test]
    fn invalid_annotations_reject_the_tool() {
        let property = |property: Value| json!({"properties": {"a": property}});
        for (schema, is_valid) in [
            (json!({}), true),
            (property(json!({"type": "string", "x-mcp-header": "A"})), true),
            (property(json!({"type": "string", "default": {"x-mcp-header": 1}})), true),
            (json!({"x-mcp-header": "A"}), false),
            (property(json!({"type": "string", "x-mcp-header": ""})), false),
            (property(json!({"type": "string", "x-mcp-header": 7})), false),
            (property(json!({"type": "string", "x-mcp-header": "a b"})), false),
            (property(json!({"type": "number", "x-mcp-header": "A"})), false),
            (property(json!({"items": {"type": "string", "x-mcp-header": "A"}})), false),
            (json!({"$defs": {"a": {"type": "string", "x-mcp-header": "A"}}}), false),
            (
                json!({"properties": {
                    "a": {"type": "string", "x-mcp-header": "A"},
                    "b": {"type": "string", "x-mcp-header": "a"},
                }}),
                false,
            ),
        ] {
            let read = ArgumentHeader::of_schema(&object(schema.clone()));
            assert_eq!(read.is_some(), is_valid, "{schema}");
        }
    }
}
