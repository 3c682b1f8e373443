//! Single call over REST, synchronous or in the background.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use haft_ledger::Run;
use haft_model::{
    Call, Code, DriverId, Envelope, InvocationId, JsonFlaw, Stop, TRACEPARENT, Trace,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::background_calls::Errand;
use super::extract::{By, FlawedBody, PathParams};
use super::native;
use super::problem::Problem;
use crate::AppState;
use crate::error_mapping::call_status;
use crate::session::Session;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const PREFER: HeaderName = HeaderName::from_static("prefer");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// Longest wait that a client may prefer before a call goes to the background.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Length in characters from which an idempotency key is too long.
const LONGEST_KEY: usize = 256;

/// Body of `POST /v1/call`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallRequest {
    tool: String,
    #[serde(default = "nothing")]
    input: Value,
    key: Option<String>,
    context: Option<Value>,
    pin: Option<String>,
    #[serde(default)]
    region: Vec<String>,
    #[serde(default, rename = "async")]
    detached: bool,
}

/// The flaw of a request as that of its call, so that the refusal is answered and recorded like
/// every other. A pointer into the input starts there.
pub(super) fn flaw_of_call(flaw: Option<JsonFlaw>) -> Option<JsonFlaw> {
    flaw.map(|flaw| flaw.seen_from("/input"))
}

pub(super) fn nothing() -> Value {
    json!({})
}

/// `POST /v1/call`.
pub(super) async fn make(
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    headers: HeaderMap,
    FlawedBody(wanted, flaw): FlawedBody<CallRequest>,
) -> Result<Response, Problem> {
    let key = key(&headers, wanted.key)?;
    let mut call = Call::new(actor.as_ref().clone(), wanted.tool, wanted.input);
    call.flaw = flaw_of_call(flaw);
    call.key = key;
    call.pinned = wanted.pin.as_deref().map(DriverId::from);
    call.region = wanted.region;
    if let Some(context) = wanted.context {
        call.context = context;
    }
    call.channel = "http";
    call.native = native::refs(&headers, "POST", "/v1/call");
    let patience = wanted.detached.then_some(Duration::ZERO).or(preferred(&headers));
    answered(&desk, call, patience, &headers).await
}

/// `POST /v1/invocations/{id}/compensate`.
pub(super) async fn compensate(
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    headers: HeaderMap,
    PathParams(id): PathParams<String>,
) -> Result<Response, Problem> {
    let run = super::invocations::own(&desk, &id, &actor).await?;
    let mut call = desk.runtime.compensation(&run.invocation_id, &actor).await?;
    call.key = key(&headers, None)?;
    call.channel = "http";
    call.native = native::refs(&headers, "POST", "/v1/invocations/{id}/compensate");
    answered(&desk, call, preferred(&headers), &headers).await
}

/// Makes a call and answers with its result, or with the location of the result.
async fn answered(
    desk: &Arc<AppState>,
    call: Call,
    patience: Option<Duration>,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let trace = native::traced(headers);
    let (actor, tool) = (call.actor.clone(), call.tool.clone());
    let errand = Errand::begin(desk, call, Session::of(headers));
    let run = errand.run(&actor, &tool);
    let answer = match patience {
        None => errand.answer().await,
        Some(patience) => match errand.answer_within(patience, desk, run.clone()).await {
            Ok(answer) => answer,
            Err(id) => {
                return Ok(accepted(run, trace.and_then(|trace| native::continued(&trace, &id))));
            }
        },
    };
    let lost = || Stop::new(Code::Internal, "the call was lost");
    let envelope = answer.ok_or_else(lost)?;
    Ok(response(&envelope, trace.as_ref()))
}

/// The answer to a call: 200 whatever the result, 202 where it waits for approval.
fn response(envelope: &Envelope, trace: Option<&Trace>) -> Response {
    let status = envelope.situation().map_or(StatusCode::OK, call_status);
    let mut response = (status, Json(envelope)).into_response();
    if status == StatusCode::ACCEPTED {
        place(&mut response, &envelope.invocation_id);
    }
    if let Some(continued) =
        trace.and_then(|trace| native::continued(trace, &envelope.invocation_id))
    {
        response.headers_mut().insert(TRACEPARENT, continued);
    }
    response
}

/// The answer to a background call.
fn accepted(run: Run, continued: Option<HeaderValue>) -> Response {
    let id = run.invocation_id.clone();
    let mut response = (StatusCode::ACCEPTED, Json(run)).into_response();
    place(&mut response, &id);
    let headers = response.headers_mut();
    headers.insert(PREFERENCE_APPLIED, HeaderValue::from_static("respond-async"));
    let name = HeaderName::from_static(TRACEPARENT);
    headers.extend(continued.map(|continued| (name, continued)));
    response
}

/// Sets the location of a call.
fn place(response: &mut Response, id: &InvocationId) {
    if let Ok(place) = HeaderValue::from_str(&format!("/v1/invocations/{id}")) {
        response.headers_mut().insert(header::LOCATION, place);
    }
}

/// The idempotency key of a call, from the header or the body.
fn key(headers: &HeaderMap, said: Option<String>) -> Result<Option<String>, Problem> {
    let plain = |value: &HeaderValue| {
        let text = value.to_str().ok();
        let text = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_graphic()));
        let other =
            || Problem::malformed("`Idempotency-Key` is letters, digits and signs of ASCII");
        text.map(str::to_owned).ok_or_else(other)
    };
    let header = headers.get(IDEMPOTENCY_KEY).map(plain).transpose()?;
    match (header, said) {
        (Some(header), Some(said)) if header != said => {
            let words = "`key` is another than the header `Idempotency-Key`";
            Err(Stop::new(Code::Conflict, words).into())
        }
        (header, said) => {
            let key = said.or(header);
            match key.as_ref().map(|key| key.chars().count()) {
                Some(0 | LONGEST_KEY..) => {
                    Err(Problem::malformed("a key has from 1 to 255 characters"))
                }
                Some(_) | None => Ok(key),
            }
        }
    }
}

/// How long a client prefers to wait (RFC 7240); `None` where it waits to the end.
fn preferred(headers: &HeaderMap) -> Option<Duration> {
    let said: Vec<String> = headers
        .get_all(PREFER)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|one| one.trim().to_ascii_lowercase())
        .collect();
    if !said.iter().any(|one| one == "respond-async") {
        return None;
    }
    let seconds = said.iter().find_map(|one| one.strip_prefix("wait=")?.trim().parse().ok());
    Some(Duration::from_secs(seconds.unwrap_or(0)).min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefer_header_sets_async_and_wait_time() {
        let patience = |prefer: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in prefer {
                headers.append(PREFER, HeaderValue::from_static(value));
            }
            preferred(&headers).map(|patience| patience.as_secs())
        };
        assert_eq!(patience(&[]), None);
        assert_eq!(patience(&["wait=5"]), None);
        assert_eq!(patience(&["respond-async"]), Some(0));
        assert_eq!(patience(&["return=minimal, Respond-Async", "wait=5"]), Some(5));
        assert_eq!(patience(&["respond-async, wait=99999"]), Some(60));
    }

    #[test]
    fn two_keys_that_differ_are_refused() {
        let mut headers = HeaderMap::new();
        headers.insert(IDEMPOTENCY_KEY, HeaderValue::from_static("a"));
        let said = |text: &str| key(&headers, Some(text.to_owned())).ok().flatten();
        assert_eq!((said("a").as_deref(), said("b")), (Some("a"), None));
        assert_eq!(key(&headers, None).ok().flatten().as_deref(), Some("a"));
    }
}
