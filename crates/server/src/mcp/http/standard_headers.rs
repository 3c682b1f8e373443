//! Standard headers of 2026-07-28: they repeat the message, and proxies route by them.
//!
//! INVARIANT: a header that contradicts the body is refused, so that a proxy and this server never
//! read the same request in two ways.

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolRequestParams, JsonObject};
use serde_json::Value;

use crate::mcp::message::RequestFrame;

const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const PARAM: &str = "Mcp-Param-";

/// The member of the parameters that `Mcp-Name` repeats.
fn named_member(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// Compares `Mcp-Method` with the method of a message.
pub(super) fn check_method(headers: &HeaderMap, method: &str) -> Result<(), String> {
    match single(headers, METHOD)? {
        None => Err("missing required Mcp-Method header".to_owned()),
        Some(said) if said == method => Ok(()),
        Some(said) => {
            Err(format!("Mcp-Method header `{said}` does not match body method `{method}`"))
        }
    }
}

/// The same for `initialize`, whose client does not know yet whether the server reads the header.
pub(super) fn check_initialize(headers: &HeaderMap) -> Result<(), String> {
    match headers.contains_key(METHOD) {
        true => check_method(headers, "initialize"),
        false => Ok(()),
    }
}

/// Compares `Mcp-Name` with the parameters of a request.
pub(super) fn check_name(headers: &HeaderMap, frame: &RequestFrame) -> Result<(), String> {
    let Some(member) = named_member(&frame.method) else { return Ok(()) };
    let owned;
    let expected = match frame.tool_call() {
        Some(call) => &*call.name,
        None => {
            let Some(text) = frame.text_member(member) else { return Ok(()) };
            owned = text;
            owned.as_str()
        }
    };
    let Some(said) = single(headers, NAME)? else {
        return Err(format!("missing required Mcp-Name header for `{}`", frame.method));
    };
    match decoded(said) {
        None => Err("Mcp-Name header is not valid Base64".to_owned()),
        Some(said) if said == expected => Ok(()),
        Some(said) => {
            Err(format!("Mcp-Name header `{said}` does not match body value `{expected}`"))
        }
    }
}

/// Compares `Mcp-Param-*` with the arguments of a tool call, by the annotations of its schema.
pub(super) fn check_arguments(
    headers: &HeaderMap,
    call: &CallToolRequestParams,
    schema: &JsonObject,
) -> Result<(), String> {
    let mut annotations = Vec::new();
    collect_annotations(schema, &mut Vec::new(), &mut annotations);
    for (path, header) in annotations {
        let (name, member) = (format!("{PARAM}{header}"), path.join("."));
        let argument = call.arguments.as_ref().and_then(|arguments| argument(arguments, &path));
        match (single(headers, &name)?, argument) {
            (None, None) => {}
            (Some(_), None) => {
                return Err(format!("unexpected {name} header for absent or null `{member}`"));
            }
            (None, Some(_)) => return Err(format!("missing {name} header for `{member}`")),
            (Some(said), Some(expected)) => match decoded(said) {
                None => return Err(format!("{name} header is not valid Base64")),
                Some(said) if said == expected => {}
                Some(said) => {
                    return Err(format!(
                        "{name} header `{said}` does not match body value `{expected}`"
                    ));
                }
            },
        }
    }
    Ok(())
}

/// The `x-mcp-header` annotations of a schema, each with the path of its property.
fn collect_annotations<'s>(
    schema: &'s JsonObject,
    path: &mut Vec<&'s str>,
    found: &mut Vec<(Vec<&'s str>, &'s str)>,
) {
    let Some(Value::Object(properties)) = schema.get("properties") else { return };
    for (name, property) in properties {
        let Value::Object(property) = property else { continue };
        path.push(name);
        if let Some(Value::String(header)) = property.get("x-mcp-header")
            && !header.is_empty()
        {
            found.push((path.clone(), header));
        }
        collect_annotations(property, path, found);
        path.pop();
    }
}

/// The argument at a path as a header writes it; `None` where it is absent, null or no primitive.
fn argument(arguments: &JsonObject, path: &[&str]) -> Option<String> {
    let (first, rest) = path.split_first()?;
    let value = rest.iter().try_fold(arguments.get(*first)?, |value, name| value.get(name))?;
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The value of a header that may be Base64 between `=?base64?` and `?=`; `None` where that is
/// invalid.
fn decoded(value: &str) -> Option<std::borrow::Cow<'_, str>> {
    let inner = value.strip_prefix("=?base64?").and_then(|inner| inner.strip_suffix("?="));
    match inner {
        Some(inner) => Some(String::from_utf8(STANDARD.decode(inner).ok()?).ok()?.into()),
        None => Some(value.into()),
    }
}

/// The value of a header that may occur once.
fn single<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, String> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => Err(format!("duplicate {name} header")),
        (Some(value), None) => match value.to_str() {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(format!("{name} header is no text")),
        },
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};
    use serde_json::json;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn method_header_occurs_once_and_matches() {
        let check = |pairs: &[_]| check_method(&headers(pairs), "tools/list").is_ok();
        assert!(check(&[("mcp-method", "tools/list")]));
        assert!(!check(&[]));
        assert!(!check(&[("mcp-method", "tools/call")]));
        assert!(!check(&[("mcp-method", "tools/list"), ("mcp-method", "tools/list")]));
        assert!(check_initialize(&headers(&[])).is_ok());
        assert!(check_initialize(&headers(&[("mcp-method", "ping")])).is_err());
    }

    #[test]
    fn argument_headers_follow_schema_annotations() {
        let schema = json!({ "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "deep": { "properties": { "count": { "type": "integer", "x-mcp-header": "Count" } } },
        } });
        let schema = schema.as_object().cloned().unwrap_or_default();
        let check = |arguments: Value, pairs: &[_]| {
            let mut call = CallToolRequestParams::new("x");
            call.arguments = arguments.as_object().cloned();
            check_arguments(&headers(pairs), &call, &schema)
        };
        let both = json!({ "region": "süd", "deep": { "count": 3 } });
        let said = [("mcp-param-region", "=?base64?c8O8ZA==?="), ("mcp-param-count", "3")];
        assert_eq!(check(both.clone(), &said), Ok(()));
        assert_eq!(check(json!({}), &[]), Ok(()));
        let cases = [
            (both.clone(), &said[..1], "missing Mcp-Param-Count header for `deep.count`"),
            (json!({ "region": "süd" }), &said[..], "unexpected Mcp-Param-Count header"),
            (
                json!({ "region": "nord" }),
                &said[..1],
                "Mcp-Param-Region header `süd` does not match body value `nord`",
            ),
            (json!({ "region": "x" }), &[("mcp-param-region", "=?base64?!?=")], "not valid Base64"),
        ];
        for (arguments, pairs, expected) in cases {
            let refusal = check(arguments, pairs).err().unwrap_or_default();
            assert!(refusal.contains(expected), "{refusal}");
        }
    }
}
