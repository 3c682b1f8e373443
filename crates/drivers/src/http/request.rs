//! Request rendering: turns the input of a call into URL, headers and body.
//!
//! INVARIANT: an input never becomes more than a value: it adds no path segment, header or cookie.

use std::borrow::Cow;

use haft_contract::driver::manifest::BodyEncoding;
use haft_driver::{TargetKinds, Targets};
use haft_model::{Code, Plan, Stop};
use haft_notation::{Piece, Scope, Template};
use haft_sandbox::CheckedUrl;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue,
};
use serde_json::Value;

use super::egress_allowlist;
use super::manifest::HttpManifest;
use super::operation::Operation;
use super::parts::UploadFiles;
use super::payload::{Payload, unfilled};
use super::secrets::{self, Secrets};
use super::style::{encode, encoded, simple};
use crate::builtin::Root;
use crate::template_context::Sources;
use crate::web::Outgoing;

/// The inputs of a request.
pub(super) struct RequestInput<'a> {
    pub(super) plan: &'a Plan,
    /// The idempotency key, for backends that accept one.
    pub(super) key: Option<&'a str>,
    pub(super) secrets: &'a Secrets,
    /// The page to request.
    pub(super) asked: &'a PageRequest,
}

/// A page: by query parameters, or by URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PageRequest {
    query: Vec<(String, String)>,
    pub(super) at: Option<String>,
}

impl PageRequest {
    /// Sets a query parameter, in place of an earlier value.
    pub(super) fn set(&mut self, param: &str, value: String) {
        self.query.retain(|(known, _)| known != param);
        self.query.push((param.to_owned(), value));
    }
}

/// A rendered request whose files are not read yet.
pub(super) struct Draft {
    operation: (reqwest::Method, BodyEncoding),
    url: CheckedUrl,
    headers: HeaderMap,
    payload: Payload,
}

impl Draft {
    /// Renders the request of a call.
    pub(super) fn of(
        manifest: &HttpManifest,
        operation: &Operation,
        given: &RequestInput<'_>,
    ) -> Result<Draft, Stop> {
        let scope = Sources::of(given.plan, Some(given.secrets.scope(operation)));
        let url = url(manifest, operation, &scope, given.asked)?;
        let payload = Payload::of(operation, &scope, given.plan)?;
        let headers = headers(operation, &scope, given)?;
        Ok(Draft { operation: (operation.method.clone(), operation.form), url, headers, payload })
    }

    /// The URL and the files that the request touches.
    pub(super) fn targets(&self, kinds: TargetKinds, files: Option<&Root>) -> Targets {
        let mut targets = Targets::default();
        if kinds.urls {
            targets.urls.push(self.url.as_str().to_owned());
        }
        if let Some(root) = files.filter(|_| kinds.paths) {
            targets.paths.extend(self.payload.places().map(|place| root.target(place)));
        }
        targets
    }

    /// Reads the files and completes the request.
    pub(super) async fn ready(self, files: impl FnOnce() -> UploadFiles) -> Result<Outgoing, Stop> {
        let Draft { operation: (method, form), url, mut headers, payload } = self;
        let sent = payload.gathered(form, files).await?;
        if let Some(sent) = &sent
            && (sent.fixed || !headers.contains_key(CONTENT_TYPE))
        {
            headers.insert(CONTENT_TYPE, header(&CONTENT_TYPE, &sent.media_type)?);
        }
        Ok(Outgoing { method, url, headers, body: sent.map(|sent| sent.bytes) })
    }
}

/// The URL: base, path and query, or the next page's URL, which must be on the same host.
fn url(
    manifest: &HttpManifest,
    operation: &Operation,
    scope: &dyn Scope,
    asked: &PageRequest,
) -> Result<CheckedUrl, Stop> {
    let path = path(&operation.endpoint, scope)?;
    let mut query = query(operation, scope, asked)?;
    // A query in the endpoint is fixed, and goes first.
    let (path, fixed) = path.split_once('?').unwrap_or((&path, ""));
    if !fixed.is_empty() {
        let mark = if query.is_empty() { "" } else { "&" };
        query.insert_str(0, &format!("{fixed}{mark}"));
    }
    let base = manifest.base()?;
    let root = base.path().trim_end_matches('/');
    let joint = if path.starts_with('/') || path.is_empty() { "" } else { "/" };
    let query = Some(query.as_str()).filter(|query| !query.is_empty());
    let url = base.at(&[root, joint, path].concat(), query);
    let Some(place) = &asked.at else { return Ok(url) };
    let next = manifest.guard.check_next(&url, place);
    let next = next.map_err(|forbidden| egress_allowlist::refused(&forbidden))?;
    if !egress_allowlist::same_host(base, &next) {
        let words = format!("the next page is at `{}`, another host", next.host());
        return Err(Stop::new(Code::SandboxViolation, words));
    }
    Ok(next)
}

/// Renders the path below the base URL; each input fills one segment or a part of one.
fn path(endpoint: &Template, scope: &dyn Scope) -> Result<String, Stop> {
    let mut path = String::new();
    for piece in &endpoint.pieces {
        match piece {
            Piece::Literal(literal) => path.push_str(literal),
            Piece::Expression(expression) => {
                let value = expression.value(scope).map_err(|fault| unfilled(&fault, "endpoint"));
                let value = value?;
                let parts: Vec<Cow<'_, str>> = match &*value {
                    Value::String(text) => vec![text.into()],
                    other => {
                        let parts = simple(&expression.path.join("."), other)?;
                        parts.into_iter().map(Cow::Owned).collect()
                    }
                };
                let is_nothing = parts.iter().all(|part| part.is_empty());
                if is_nothing || parts.iter().any(|part| part.contains(['/', '\\'])) {
                    let name = expression.path.join(".");
                    let words = format!("`{name}` cannot be one segment of a path");
                    return Err(wrong(words, expression.field()));
                }
                for (place, part) in parts.iter().enumerate() {
                    path.push_str(if place == 0 { "" } else { "," });
                    encode(part, &mut path);
                }
            }
        }
    }
    let plain = path.split('?').next().unwrap_or_default();
    match plain.contains(['.', '%']) && plain.split('/').any(climbs) {
        true => Err(wrong("the path would have a segment `.` or `..`".to_owned(), None)),
        false => Ok(path),
    }
}

/// Whether a path segment is `.` or `..`, percent-encoded or not.
fn climbs(segment: &str) -> bool {
    // `%2e%2e`, the longest such segment, has six bytes.
    segment.len() <= 6
        && matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..")
}

/// Renders the query; page parameters override the template, and null values are left out.
fn query(operation: &Operation, scope: &dyn Scope, asked: &PageRequest) -> Result<String, Stop> {
    let mut query = String::new();
    for (name, template) in &operation.query {
        if asked.query.iter().any(|(param, _)| param == name) {
            continue;
        }
        let value = rendered(template, scope, "query_template")?;
        match operation.styles.get(name) {
            Some(style) => {
                for pair in style.pairs(name, &value)? {
                    part(&mut query).push_str(&pair);
                }
            }
            None if value.is_null() => {}
            None => pair(&mut query, name, &text(&value)),
        }
    }
    asked.query.iter().for_each(|(name, value)| pair(&mut query, name, value));
    Ok(query)
}

/// Appends a separator where the query is not empty.
fn part(query: &mut String) -> &mut String {
    if !query.is_empty() {
        query.push('&');
    }
    query
}

fn pair(query: &mut String, name: &str, value: &str) {
    let query = part(query);
    encode(name, query);
    query.push('=');
    encode(value, query);
}

fn headers(
    operation: &Operation,
    scope: &dyn Scope,
    given: &RequestInput<'_>,
) -> Result<HeaderMap, Stop> {
    let mut headers = HeaderMap::new();
    let accepts = operation.stream.as_ref().map_or("application/json", |stream| stream.accepts());
    headers.insert(ACCEPT, HeaderValue::from_static(accepts));
    if let Some(login) = given.secrets.login() {
        headers.insert(AUTHORIZATION, login);
    }
    for (name, template) in &operation.headers {
        let value = rendered(template, scope, "headers")?;
        if value.is_null() {
            continue;
        }
        if *name == COOKIE {
            one_cookie_each(template, scope)?;
        }
        let value = header(name, &simple(name.as_str(), &value)?.join(","))?;
        let value = if secrets::are_in(template) { secrets::sensitive(value) } else { value };
        headers.insert(name, value);
    }
    let cookies = cookies(operation, scope)?;
    if !cookies.is_empty() {
        let before = headers.get(COOKIE).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let all: Vec<String> = before.into_iter().chain(cookies).collect();
        let value = header(&COOKIE, &all.join("; "))?;
        headers.insert(COOKIE, secrets::sensitive(value));
    }
    if let (Some(name), Some(key)) = (&operation.key_header, given.key) {
        headers.insert(name, header(name, key)?);
    }
    Ok(headers)
}

/// Renders the cookies, without null values.
fn cookies(operation: &Operation, scope: &dyn Scope) -> Result<Vec<String>, Stop> {
    let mut cookies = Vec::new();
    for (name, template) in &operation.cookies {
        let value = rendered(template, scope, "cookies")?;
        if !value.is_null() {
            cookies.push(format!("{}={}", encoded(name), encoded(&text(&value))));
        }
    }
    Ok(cookies)
}

/// Refuses a value that would start another cookie.
fn one_cookie_each(template: &Template, scope: &dyn Scope) -> Result<(), Stop> {
    for expression in template.expressions() {
        let value = expression.value(scope).map_err(|fault| unfilled(&fault, "headers"))?;
        if text(&value).contains(';') {
            let words = format!("`{}` cannot be one cookie", expression.path.join("."));
            return Err(wrong(words, expression.field()));
        }
    }
    Ok(())
}

fn header(name: &HeaderName, value: &str) -> Result<HeaderValue, Stop> {
    HeaderValue::from_str(value).map_err(|_| {
        let words = format!("the header `{name}` would hold a character that no header can carry");
        wrong(words, None)
    })
}

fn rendered<'a>(
    template: &Template,
    scope: &'a dyn Scope,
    field: &str,
) -> Result<Cow<'a, Value>, Stop> {
    template.render(scope).map_err(|fault| unfilled(&fault, field))
}

fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

fn wrong(words: String, field: Option<&str>) -> Stop {
    let stop = Stop::new(Code::InputValue, words);
    match field {
        Some(field) => stop.at(format!("/{field}")),
        None => stop,
    }
}
