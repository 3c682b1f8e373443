//! `http.fetch`: what lies at a public address.

mod connection;

use std::sync::Arc;

use haft_driver::{Attempt, Failure, Output};
use haft_model::{Code, EffectState, Plan, Stop, Tri};
use haft_sandbox::{AddressGuard, CheckedUrl, Forbidden};
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, LOCATION};
use serde_json::{Value, json};

use super::shown::{End, show};
use super::{Lookup, called_off, running, text, unsent, while_running};
use connection::{Sending, Stage, Way};

/// How often an answer may point elsewhere.
const MOST_REDIRECTS: usize = 5;

/// How much of a body is given out, unpacked.
const MOST_BYTES: usize = 5 * 1024 * 1024;

/// The address that an input asks for, as far as its letters can be judged.
pub(super) fn asked(input: &Value, guard: &AddressGuard) -> Result<CheckedUrl, Stop> {
    guard.check_url(text(input, "url")?).map_err(|forbidden| refused(&forbidden))
}

fn refused(forbidden: &Forbidden) -> Stop {
    let code = match forbidden {
        Forbidden::Address { .. } => Code::SandboxViolation,
        Forbidden::Nowhere(_) => Code::DependencyUnavailable,
        Forbidden::Malformed(_) | Forbidden::Scheme(_) | Forbidden::Credentials => Code::InputValue,
    };
    Stop::new(code, forbidden.to_string()).at("/url")
}

pub(super) async fn run(
    guard: &AddressGuard,
    lookup: Lookup,
    attempt: &Attempt<'_>,
) -> Result<Output, Failure> {
    let url = asked(&attempt.input, guard).map_err(while_running).map_err(unsent)?;
    let sending = Arc::new(Sending::new(attempt.link.clone()));
    let way = Way { guard, lookup, sending: &sending };
    let ended = tokio::select! {
        ended = fetch(way, url) => ended,
        () = attempt.cancel.cancelled() => {
            attempt.link.cancel_heard().await;
            Err(called_off())
        }
        () = tokio::time::sleep_until(attempt.deadline.into()) => Err(late(sending.stage())),
    };
    let effect = effect(sending.stage(), attempt.plan);
    match ended {
        Ok(value) => Ok(Output { effect, ..Output::read(value) }),
        Err(stop) => Err(sending.unrecorded().unwrap_or_else(|| Failure::new(stop, effect))),
    }
}

/// What is known of the effect. A contract that says there is none to have is taken at its word
/// once something was sent.
fn effect(stage: Stage, plan: &Plan) -> EffectState {
    let reads = plan.effects.facts.read_only == Tri::Yes;
    match stage {
        Stage::Unsent => EffectState::NotSubmitted,
        Stage::Announced => EffectState::NotCommitted,
        Stage::Sent | Stage::Answered if reads => EffectState::None,
        Stage::Sent => EffectState::Unknown,
        Stage::Answered => EffectState::Committed,
    }
}

fn late(stage: Stage) -> Stop {
    match stage {
        Stage::Unsent | Stage::Announced => super::late(),
        Stage::Sent | Stage::Answered => {
            running(Code::TimeoutUnknownCommit, "time ran out before the whole answer was there")
        }
    }
}

/// Asks, and asks again where the answer points elsewhere. Every address is checked like the first.
async fn fetch(way: Way<'_>, mut url: CheckedUrl) -> Result<Value, Stop> {
    for _ in 0..=MOST_REDIRECTS {
        let answer = way.send(&url).await?;
        let Some(next) = elsewhere(&answer) else { return given(&url, answer).await };
        let checked = way.guard.check_next(&url, &next);
        url = checked.map_err(|forbidden| while_running(refused(&forbidden)))?;
    }
    let message = format!("the answer points elsewhere more than {MOST_REDIRECTS} times");
    Err(running(Code::ExecutionFailed, message).at("/url"))
}

/// Where an answer points instead.
fn elsewhere(answer: &Response) -> Option<String> {
    if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let place = answer.headers().get(LOCATION)?;
    String::from_utf8(place.as_bytes().to_vec()).ok()
}

/// The answer as a value, its body up to the bound.
async fn given(url: &CheckedUrl, mut answer: Response) -> Result<Value, Stop> {
    let status = answer.status().as_u16();
    let media_type = media_type(&answer);
    let mut body = Vec::new();
    let mut end = End::Whole;
    while let Some(piece) = answer.chunk().await.map_err(|_| broken(url))? {
        body.extend_from_slice(&piece);
        if body.len() > MOST_BYTES {
            body.truncate(MOST_BYTES);
            end = End::Cut;
            break;
        }
    }
    let shown = show(body, end);
    Ok(json!({
        "url": url.as_str(),
        "status": status,
        "media_type": media_type,
        "content": shown.content,
        "encoding": shown.encoding,
        "size": shown.bytes,
        "more": end == End::Cut,
    }))
}

/// The media type without its parameters; what says nothing is only bytes.
fn media_type(answer: &Response) -> String {
    let stated = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let plain = stated.and_then(|stated| stated.split(';').next()).map(str::trim);
    plain
        .filter(|plain| !plain.is_empty())
        .unwrap_or("application/octet-stream")
        .to_ascii_lowercase()
}

fn broken(url: &CheckedUrl) -> Stop {
    let message = format!("the answer of `{}` broke off", url.host());
    running(Code::ExecutionFailed, message).at("/url")
}
