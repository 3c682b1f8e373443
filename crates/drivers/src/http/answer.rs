//! Response mapping: turns an HTTP response into an output, or into a failure with its code and
//! effect state.

use haft_driver::{Failure, Output};
use haft_model::{Cause, CauseDetail, Code, EffectState, Stop};
use reqwest::header::{HeaderMap, HeaderName};
use serde_json::{Map, Value, json};

use super::exchange::{Exchange, is_success};
use super::meaning::NamedError;
use super::{error_message, pages, reading, retry_after};
use crate::exact;
use crate::failure::while_running;
use crate::login::{LoginSignal, ran_out};
use crate::web::HttpResponse;

/// How many bytes of an error response are kept.
const MOST_WORDS: usize = 4096;

/// Response headers that carry the backend's request id.
static REQUEST_IDS: [HeaderName; 5] = [
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("request-id"),
    HeaderName::from_static("x-correlation-id"),
    HeaderName::from_static("x-amzn-requestid"),
    HeaderName::from_static("x-trace-id"),
];

/// A successful response, read to its end.
pub(super) struct ResponsePage {
    pub(super) host: String,
    /// The next page by the `Link` header.
    pub(super) next: Option<String>,
    pub(super) value: Value,
    pub(super) bytes: usize,
    status: u16,
    native: Value,
}

impl ResponsePage {
    /// Maps the response to the output of its call.
    pub(super) fn output(self, exchange: &Exchange<'_>) -> Result<Output, Failure> {
        let effect = exchange.effect(EffectState::Committed);
        if self.bytes == 0 {
            let native = vec![self.native];
            return Ok(Output { structured: None, effect, native, ..Output::read(Value::Null) });
        }
        if exchange.operation.takes_all {
            let value = exchange.operation.wrap.around(self.value);
            let output = Output { effect, native: vec![self.native], ..Output::read(value) };
            return Ok(exact::settled(output));
        }
        let Some(found) = exchange.operation.extract.extract(&self.value) else {
            let (host, status) = (&self.host, self.status);
            let words =
                format!("`{host}` answered {status}, and `response_extract` finds nothing in it");
            return Err(self.failed(exchange, Stop::new(Code::OutputInvalid, words)));
        };
        let found = exchange.operation.wrap.around(found);
        let output = Output { effect, native: vec![self.native], ..Output::read(found) };
        Ok(exact::settled(output))
    }

    /// Maps an unusable response to a failure. The status was a success, so a write is committed.
    pub(super) fn failed(&self, exchange: &Exchange<'_>, stop: Stop) -> Failure {
        let effect = exchange.effect(EffectState::Committed);
        Failure { native: vec![self.native.clone()], ..Failure::new(while_running(stop), effect) }
    }
}

/// Reads a response, and fails where its status is no success.
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

/// The native record: the status and the backend's request ids.
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

/// Maps an error response to a failure, its `Retry-After` and its effect state.
async fn refused(exchange: &Exchange<'_>, host: &str, mut answer: HttpResponse<'_>) -> Failure {
    let status = answer.status();
    let retry_after = retry_after::asked(answer.head.headers(), exchange.now());
    let words = answer.body(MOST_WORDS).await;
    let meaning = exchange.operation.meanings.get(&status.as_u16());
    let vouched = meaning.and_then(|meaning| meaning.effect);
    let effect = match (vouched, &words) {
        (Some(vouched), _) => vouched,
        // An intermediary may have sent a response that breaks off.
        (None, Err(_)) => EffectState::Unknown,
        (None, Ok(_)) => known(status.as_u16()),
    };
    let mut cause = Cause::running().with(CauseDetail::HttpStatus(status.as_u16()));
    if let Ok(body) = &words {
        cause.insert(CauseDetail::Answer(said(&body.bytes)));
    }
    if let Some(retry_after) = retry_after {
        cause.insert(CauseDetail::RetryAfterMs(retry_after));
    }
    let mut message = format!("`{host}` answered {status}");
    let said = words.as_ref().ok().and_then(|body| error_message::read(&body.bytes));
    let code = match meaning.and_then(|meaning| meaning.error.as_ref()) {
        Some(NamedError::Ours(code)) => *code,
        Some(NamedError::Own(name)) => {
            cause.insert(CauseDetail::Native(name.clone()));
            message = format!("`{host}` answered {status}, which is `{name}`");
            Code::ExecutionFailed
        }
        None => code(status.as_u16()),
    };
    if let Some(said) = said {
        message = format!("{message}: {said}");
    }
    let stop = Stop::new(code, message).because(cause);
    let stop = match has_run_out(exchange, status.as_u16(), answer.head.headers()) {
        true => ran_out(stop, exchange.driver()),
        false => stop,
    };
    Failure::new(stop, exchange.effect(effect))
}

/// Whether a response matches the driver's declared sign of an expired login.
fn has_run_out(exchange: &Exchange<'_>, status: u16, headers: &HeaderMap) -> bool {
    let headers: Vec<(&str, &str)> = headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
        .collect();
    let seen =
        LoginSignal { http_status: Some(status), headers: &headers, ..LoginSignal::default() };
    exchange.operation.expired.as_ref().is_some_and(|sign| sign.is_in(&seen))
}

/// The default error code of an HTTP status.
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

/// The default effect state of an HTTP status. A 4xx response is a refusal; a 408, a 5xx response
/// or a redirect does not tell whether the effect was committed.
fn known(status: u16) -> EffectState {
    match status {
        408 => EffectState::Unknown,
        400..=499 => EffectState::NotCommitted,
        _ => EffectState::Unknown,
    }
}

/// The body of an error response, as JSON where it is JSON.
fn said(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(bytes)))
}
