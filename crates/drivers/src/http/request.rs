//! From an input to the bytes of a request. What a caller gives never becomes more than a value.

use haft_model::{Code, Plan, Stop};
use haft_notation::{Fault, Piece, Template, fill};
use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::manifest::Manifest;
use super::operation::Operation;
use super::reach;
use crate::web::{MOST_BYTES, Outgoing};

/// What a call gives to its request.
pub(super) struct Given<'a> {
    pub(super) plan: &'a Plan,
    /// What the backend knows the call by.
    pub(super) key: Option<&'a str>,
}

/// The request of a call.
pub(super) fn build(
    manifest: &Manifest,
    operation: &Operation,
    given: &Given<'_>,
) -> Result<Outgoing, Stop> {
    let mapped = given.plan.mapped();
    let scope = scope(given.plan, &mapped);
    let path = path(&operation.endpoint, &scope)?;
    let query = query(operation, &scope)?;
    let base = manifest.base()?.as_str().trim_end_matches('/');
    let joint = if path.starts_with('/') || path.is_empty() { "" } else { "/" };
    let mark = match (query.is_empty(), path.contains('?')) {
        (true, _) => "",
        (false, true) => "&",
        (false, false) => "?",
    };
    let url = manifest.guard.check_url(&format!("{base}{joint}{path}{mark}{query}"));
    let url = url.map_err(|forbidden| reach::refused(&forbidden))?;
    let body = body(operation, &scope, &given.plan.input, mapped)?;
    let headers = headers(operation, &scope, given.key, body.is_some())?;
    Ok(Outgoing { method: operation.method.clone(), url, headers, body })
}

/// What templates can look at: the input and the context, and bare names as the backend has them.
fn scope(plan: &Plan, mapped: &Value) -> Value {
    let mut scope = mapped.as_object().cloned().unwrap_or_default();
    scope.insert("input".to_owned(), plan.input.clone());
    scope.insert("context".to_owned(), plan.context.clone());
    Value::Object(scope)
}

/// The path below the base, each value as one segment or a part of one.
fn path(endpoint: &Template, scope: &Value) -> Result<String, Stop> {
    let mut path = String::new();
    for piece in &endpoint.pieces {
        match piece {
            Piece::Literal(literal) => path.push_str(literal),
            Piece::Expression(expression) => {
                let lone = Template { pieces: vec![Piece::Expression(expression.clone())] };
                let value = text(&lone, scope, "endpoint")?;
                let name = expression.path.join(".");
                if value.is_empty() || value.contains(['/', '\\']) {
                    let words = format!("`{name}` cannot be one segment of a path");
                    return Err(wrong(words, expression.field()));
                }
                path.push_str(&encoded(&value));
            }
        }
    }
    let plain = path.split('?').next().unwrap_or_default().to_ascii_lowercase();
    let climbs = |segment: &str| matches!(segment.replace("%2e", ".").as_str(), "." | "..");
    match plain.split('/').any(climbs) {
        true => Err(wrong("the path would have a segment `.` or `..`".to_owned(), None)),
        false => Ok(path),
    }
}

fn query(operation: &Operation, scope: &Value) -> Result<String, Stop> {
    Ok(pairs(&operation.query, scope, "query_template")?.join("&"))
}

/// Names with their values; one whose value is null is left out.
fn pairs(named: &[(String, Template)], scope: &Value, field: &str) -> Result<Vec<String>, Stop> {
    let pair = |(name, template): &(String, Template)| {
        let value = some_text(template, scope, field)?;
        Ok(value.map(|value| format!("{}={}", encoded(name), encoded(&value))))
    };
    let pairs: Result<Vec<Option<String>>, Stop> = named.iter().map(pair).collect();
    Ok(pairs?.into_iter().flatten().collect())
}

/// The JSON that is sent: what the template says, the inputs that are named, or the whole input as
/// the backend names its fields.
fn body(
    operation: &Operation,
    scope: &Value,
    input: &Value,
    mapped: Value,
) -> Result<Option<Vec<u8>>, Stop> {
    let bodiless = operation.method == Method::GET || operation.method == Method::DELETE;
    let body = match (&operation.body, &operation.parts.body_inputs) {
        (Some(template), _) => {
            fill(template, scope).map_err(|fault| unfilled(&fault, "body_template"))?
        }
        (None, Some(inputs)) => match inputs.of(input) {
            Some(body) => body,
            None => return Ok(None),
        },
        (None, None) if bodiless => return Ok(None),
        (None, None) => mapped,
    };
    let bytes = body.to_string().into_bytes();
    if bytes.len() > MOST_BYTES {
        let size = bytes.len();
        let words = format!("the request would have {size} bytes, and {MOST_BYTES} can be sent");
        return Err(Stop::new(Code::InputValue, words));
    }
    Ok(Some(bytes))
}

fn headers(
    operation: &Operation,
    scope: &Value,
    key: Option<&str>,
    has_body: bool,
) -> Result<HeaderMap, Stop> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    if has_body {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    for (name, template) in &operation.headers {
        if let Some(value) = some_text(template, scope, "headers")? {
            headers.insert(name, header(name, &value)?);
        }
    }
    let cookies = pairs(&operation.cookies, scope, "cookies")?;
    if !cookies.is_empty() {
        let before = headers.get(COOKIE).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let all: Vec<String> = before.into_iter().chain(cookies).collect();
        headers.insert(COOKIE, header(&COOKIE, &all.join("; "))?);
    }
    if let (Some(name), Some(key)) = (&operation.key_header, key) {
        headers.insert(name, header(name, key)?);
    }
    Ok(headers)
}

fn header(name: &HeaderName, value: &str) -> Result<HeaderValue, Stop> {
    HeaderValue::from_str(value).map_err(|_| {
        let words = format!("the header `{name}` would hold a character that no header can carry");
        wrong(words, None)
    })
}

/// A template as text.
fn text(template: &Template, scope: &Value, field: &str) -> Result<String, Stop> {
    Ok(some_text(template, scope, field)?.unwrap_or_else(|| Value::Null.to_string()))
}

/// A template as text; nothing where it comes to null, as `default(null)` does.
fn some_text(template: &Template, scope: &Value, field: &str) -> Result<Option<String>, Stop> {
    let filled = template.render(scope).map_err(|fault| unfilled(&fault, field))?;
    Ok(match filled {
        Value::String(text) => Some(text),
        Value::Null => None,
        other => Some(other.to_string()),
    })
}

fn unfilled(fault: &Fault, field: &str) -> Stop {
    let stop = Stop::new(Code::InputValue, format!("`{field}` cannot be filled in: {fault}"));
    match &fault.help {
        Some(help) => stop.help(help.clone()),
        None => stop,
    }
}

fn wrong(words: String, field: Option<&str>) -> Stop {
    let stop = Stop::new(Code::InputValue, words);
    match field {
        Some(field) => stop.at(format!("/{field}")),
        None => stop,
    }
}

/// A text of which every byte that means something in an address is written as `%XX`.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
