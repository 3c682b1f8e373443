//! From an answer to what came out of the call: its value, or its error and what became of the effect.

use haft_driver::{Failure, Output};
use haft_model::{Code, EffectState, Stop};
use reqwest::Response;
use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};

use super::exchange::{Exchange, is_success};
use super::operation::Named;
use super::patience;
use crate::ending::running;
use crate::web::{self, MOST_BYTES};

/// How much of a refusal's own words is kept.
const MOST_WORDS: usize = 4096;

/// Headers by which backends know a request.
const REQUEST_IDS: [&str; 5] =
    ["x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid", "x-trace-id"];

/// What an answer means.
pub(super) async fn taken(
    exchange: &Exchange<'_>,
    host: &str,
    head: Response,
) -> Result<Output, Failure> {
    let native = native(head.status().as_u16(), head.headers());
    let taken = match is_success(head.status().as_u16()) {
        true => given(exchange, host, head).await,
        false => Err(refused(exchange, host, head).await),
    };
    match taken {
        Ok(output) => Ok(Output { native: vec![native], ..output }),
        Err(failure) => Err(Failure { native: vec![native], ..failure }),
    }
}

/// What the backend knows the call by.
fn native(status: u16, headers: &HeaderMap) -> Value {
    let mut native = Map::new();
    native.insert("source".to_owned(), json!("http"));
    native.insert("status".to_owned(), json!(status));
    for name in REQUEST_IDS {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        if let Some(value) = value.filter(|value| value.len() <= 200) {
            native.insert(name.to_owned(), json!(value));
        }
    }
    Value::Object(native)
}

/// The value of a call that the backend says went well. Whatever is wrong with the answer, it did.
async fn given(exchange: &Exchange<'_>, host: &str, mut head: Response) -> Result<Output, Failure> {
    let effect = exchange.effect(EffectState::Committed);
    let status = head.status().as_u16();
    let failed = |code: Code, words: String| {
        let words = format!("`{host}` answered {status}, {words}");
        Failure::new(running(code, words), effect)
    };
    let media_type = web::media_type(&head);
    let body = web::body(&mut head, MOST_BYTES).await.map_err(|_| {
        // Nothing is lost by asking again for what was only looked up.
        let reads = effect == EffectState::None;
        let code = if reads { Code::DependencyUnavailable } else { Code::OutputInvalid };
        failed(code, "and its answer broke off".to_owned())
    })?;
    if body.cut {
        let words = format!("and its answer has more than {MOST_BYTES} bytes");
        return Err(failed(Code::ResultTooLarge, words));
    }
    if body.bytes.is_empty() {
        return Ok(Output { structured: None, effect, ..Output::read(Value::Null) });
    }
    let value = read(&body.bytes, media_type.as_deref(), exchange.operation.takes_all);
    let value = value.map_err(|words| failed(Code::OutputInvalid, words))?;
    let found = exchange.operation.extract.extract(&value).ok_or_else(|| {
        failed(Code::OutputInvalid, "and `response_extract` finds nothing in it".to_owned())
    })?;
    Ok(Output { effect, ..Output::read(exchange.operation.parts.wrapped(found)) })
}

/// A body as a value: JSON, or a text where the whole of it is wanted.
fn read(bytes: &[u8], media_type: Option<&str>, takes_all: bool) -> Result<Value, String> {
    match media_type {
        Some(stated) if stated.starts_with("text/") && takes_all => {
            let text = std::str::from_utf8(bytes).map_err(|_| "and its text is not UTF-8")?;
            Ok(json!(text))
        }
        Some(stated) if !is_json(stated) => Err(format!("and its answer is `{stated}`, not JSON")),
        Some(_) | None => {
            serde_json::from_slice(bytes).map_err(|_| "and its answer is not JSON".to_owned())
        }
    }
}

fn is_json(media_type: &str) -> bool {
    media_type == "application/json" || media_type.ends_with("+json")
}

/// Why a call that was answered came to nothing, as far as anybody knows.
async fn refused(exchange: &Exchange<'_>, host: &str, mut head: Response) -> Failure {
    let status = head.status();
    let retry_after = patience::asked(head.headers(), exchange.now());
    let words = web::body(&mut head, MOST_WORDS).await;
    let meaning = exchange.operation.meanings.get(&status.as_u16());
    let vouched = meaning.is_some_and(|meaning| meaning.not_committed);
    let effect = match (vouched, &words) {
        (true, _) => EffectState::NotCommitted,
        // A refusal that breaks off may be anybody's on the way.
        (false, Err(_)) => EffectState::Unknown,
        (false, Ok(_)) => known(status.as_u16()),
    };
    let mut cause = Map::new();
    let mut add = |name: &str, value: Value| cause.insert(name.to_owned(), value);
    add("phase", json!("run"));
    add("http_status", json!(status.as_u16()));
    if let Ok(body) = &words {
        add("answer", told(&body.bytes));
    }
    if let Some(retry_after) = retry_after {
        add("retry_after_ms", json!(retry_after));
    }
    let mut message = format!("`{host}` answered {status}");
    let code = match meaning.and_then(|meaning| meaning.error.as_ref()) {
        Some(Named::Ours(code)) => *code,
        Some(Named::Own(name)) => {
            add("native", json!(name));
            message = format!("`{host}` answered {status}, which is `{name}`");
            Code::ExecutionFailed
        }
        None => code(status.as_u16()),
    };
    let stop = Stop::new(code, message).because(Value::Object(cause));
    Failure::new(stop, exchange.effect(effect))
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
fn told(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(bytes)))
}
