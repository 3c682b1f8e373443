//! From an answer to what came out of the call: its value, or its error and what became of the effect.

use haft_driver::{Failure, Output};
use haft_model::{Code, EffectState, Stop};
use reqwest::header::{HeaderMap, HeaderName};
use serde_json::{Map, Value, json};

use super::exchange::{Exchange, is_success};
use super::meaning::NamedError;
use super::{pages, reading, retry_after};
use crate::exact;
use crate::failure::while_running;
use crate::login::{LoginSignal, ran_out};
use crate::web::HttpResponse;

/// How much of a refusal's own words is kept.
const MOST_WORDS: usize = 4096;

/// Headers by which backends know a request.
static REQUEST_IDS: [HeaderName; 5] = [
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("request-id"),
    HeaderName::from_static("x-correlation-id"),
    HeaderName::from_static("x-amzn-requestid"),
    HeaderName::from_static("x-trace-id"),
];

/// An answer that says that the call went well, read whole.
pub(super) struct ResponsePage {
    pub(super) host: String,
    /// What its header `Link` calls the next page.
    pub(super) next: Option<String>,
    pub(super) value: Value,
    pub(super) bytes: usize,
    status: u16,
    native: Value,
}

impl ResponsePage {
    /// The output of a call that this is the answer to.
    pub(super) fn output(self, exchange: &Exchange<'_>) -> Result<Output, Failure> {
        let effect = exchange.effect(EffectState::Committed);
        if self.bytes == 0 {
            let native = vec![self.native];
            return Ok(Output { structured: None, effect, native, ..Output::read(Value::Null) });
        }
        if exchange.operation.takes_all {
            let value = exchange.operation.beyond.wrap.around(self.value);
            let output = Output { effect, native: vec![self.native], ..Output::read(value) };
            return Ok(exact::settled(output));
        }
        let Some(found) = exchange.operation.extract.extract(&self.value) else {
            let (host, status) = (&self.host, self.status);
            let words =
                format!("`{host}` answered {status}, and `response_extract` finds nothing in it");
            return Err(self.failed(exchange, Stop::new(Code::OutputInvalid, words)));
        };
        let found = exchange.operation.beyond.wrap.around(found);
        let output = Output { effect, native: vec![self.native], ..Output::read(found) };
        Ok(exact::settled(output))
    }

    /// The failure of a call that this is the answer to. Whatever is wrong with it, it went well.
    pub(super) fn failed(&self, exchange: &Exchange<'_>, stop: Stop) -> Failure {
        let effect = exchange.effect(EffectState::Committed);
        Failure { native: vec![self.native.clone()], ..Failure::new(while_running(stop), effect) }
    }
}

/// What an answer holds, if it says that the call went well.
pub(super) async fn page(
    exchange: &Exchange<'_>,
    host: &str,
    mut answer: HttpResponse<'_>,
) -> Result<ResponsePage, Failure> {
    let status = answer.status().as_u16();
    let native = native(status, answer.head.headers());
    if !is_success(status) {
        let refused = refused(exchange, host, answer).await;
        return Err(Failure { native: vec![native], ..refused });
    }
    let next = exchange.operation.pages.as_ref();
    let next = next.and_then(|_| pages::next_link(answer.head.headers()));
    let read = reading::read(exchange.operation, exchange.link(), &mut answer).await;
    let mut page =
        ResponsePage { host: host.to_owned(), next, value: Value::Null, bytes: 0, status, native };
    match read {
        Ok((value, bytes)) => {
            (page.value, page.bytes) = (value, bytes);
            Ok(page)
        }
        Err(spoilt) => {
            let reads = exchange.effect(EffectState::Committed) == EffectState::None;
            let (code, words) = spoilt.told(reads);
            let words = format!("`{host}` answered {status}, {words}");
            Err(page.failed(exchange, Stop::new(code, words)))
        }
    }
}

/// What the backend knows the call by.
fn native(status: u16, headers: &HeaderMap) -> Value {
    let mut native = Map::with_capacity(3);
    native.insert("source".to_owned(), json!("http"));
    native.insert("status".to_owned(), json!(status));
    for (name, value) in headers.iter().filter(|(name, _)| REQUEST_IDS.contains(name)) {
        if let Some(value) = value.to_str().ok().filter(|value| value.len() <= 200) {
            native.entry(name.as_str()).or_insert_with(|| json!(value));
        }
    }
    Value::Object(native)
}

/// Why a call that was answered came to nothing, as far as anybody knows.
async fn refused(exchange: &Exchange<'_>, host: &str, mut answer: HttpResponse<'_>) -> Failure {
    let status = answer.status();
    let retry_after = retry_after::asked(answer.head.headers(), exchange.now());
    let words = answer.body(MOST_WORDS).await;
    let meaning = exchange.operation.meanings.get(&status.as_u16());
    let vouched = meaning.and_then(|meaning| meaning.effect);
    let effect = match (vouched, &words) {
        (Some(vouched), _) => vouched,
        // A refusal that breaks off may be anybody's on the way.
        (None, Err(_)) => EffectState::Unknown,
        (None, Ok(_)) => known(status.as_u16()),
    };
    let mut cause = Map::new();
    let mut add = |name: &str, value: Value| cause.insert(name.to_owned(), value);
    add("phase", json!("run"));
    add("http_status", json!(status.as_u16()));
    if let Ok(body) = &words {
        add("answer", said(&body.bytes));
    }
    if let Some(retry_after) = retry_after {
        add("retry_after_ms", json!(retry_after));
    }
    let mut message = format!("`{host}` answered {status}");
    let code = match meaning.and_then(|meaning| meaning.error.as_ref()) {
        Some(NamedError::Ours(code)) => *code,
        Some(NamedError::Own(name)) => {
            add("native", json!(name));
            message = format!("`{host}` answered {status}, which is `{name}`");
            Code::ExecutionFailed
        }
        None => code(status.as_u16()),
    };
    let stop = Stop::new(code, message).because(Value::Object(cause));
    let stop = match has_run_out(exchange, status.as_u16(), answer.head.headers()) {
        true => ran_out(stop, exchange.driver()),
        false => stop,
    };
    Failure::new(stop, exchange.effect(effect))
}

/// Whether an answer shows what the driver declares as the sign of a login that has run out.
fn has_run_out(exchange: &Exchange<'_>, status: u16, headers: &HeaderMap) -> bool {
    let headers: Vec<(&str, &str)> = headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
        .collect();
    let seen =
        LoginSignal { http_status: Some(status), headers: &headers, ..LoginSignal::default() };
    exchange.operation.expired.as_ref().is_some_and(|sign| sign.is_in(&seen))
}

/// What HTTP says of a status.
fn code(status: u16) -> Code {
    match status {
        401 => Code::CredentialMissing,
        403 => Code::PermissionDenied,
        404 => Code::ResourceNotFound,
        409 => Code::Conflict,
        429 => Code::RateLimited,
        408 | 500..=599 => Code::DependencyUnavailable,
        _ => Code::ExecutionFailed,
    }
}

/// What a status says of the effect. A refusal is one; a server or a gateway that failed says
/// nothing about what it did before, and neither does an answer that points elsewhere.
fn known(status: u16) -> EffectState {
    match status {
        408 => EffectState::Unknown,
        400..=499 => EffectState::NotCommitted,
        _ => EffectState::Unknown,
    }
}

/// The backend's own words, as JSON where they are.
fn said(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(bytes)))
}
