//! `http.fetch`: reads a public URL, with every redirect checked like the first URL.

use std::sync::Arc;

use haft_driver::{Attempt, Failure, Output, TargetGuard};
use haft_model::{Blame, Code, EffectState, Plan, Stop, Tri};
use haft_sandbox::{AddressGuard, CheckedUrl, Forbidden};
use serde_json::{Value, json};

use super::shown::{ByteEnd, show};
use super::{called_off, running, text, unsent, while_running};
use crate::failure::late_after_sending;
use crate::web::{
    ConnectRoute, DnsLookup, HttpResponse, MOST_BYTES, MOST_REDIRECTS, Outgoing, RequestFailure,
    SendStage, Sending, SubmissionPoint,
};

/// The URL of an input, checked by its text alone; addresses are checked on connect.
pub(super) fn asked(input: &Value, guard: &AddressGuard) -> Result<CheckedUrl, Stop> {
    guard.check_url(text(input, "url")?).map_err(|forbidden| refused(&forbidden))
}

fn refused(forbidden: &Forbidden) -> Stop {
    let code = match forbidden {
        Forbidden::Address { .. } => Code::SandboxViolation,
        Forbidden::Nowhere(_) => Code::DependencyUnavailable,
        Forbidden::Malformed(_) | Forbidden::Scheme(_) | Forbidden::Credentials => Code::InputValue,
    };
    // The caller chose the address, so the failure does not count against the tool.
    Stop::new(code, forbidden.to_string()).at("/url").blaming(Blame::Request)
}

pub(super) async fn run(
    guard: &AddressGuard,
    lookup: DnsLookup,
    attempt: &Attempt<'_>,
) -> Result<Output, Failure> {
    let url = asked(&attempt.input, guard).map_err(while_running).map_err(unsent)?;
    let sending = Arc::new(Sending::announced(attempt.link.clone()));
    let way =
        ConnectRoute { guard, lookup, sending: &sending, submitted: SubmissionPoint::OnWrite };
    let ended = tokio::select! {
        ended = fetch(way, url, &attempt.guard) => ended,
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

/// The effect state after a failure. Once the request is sent, a read-only contract counts as
/// having no effect.
fn effect(stage: SendStage, plan: &Plan) -> EffectState {
    let reads = plan.effects.facts.read_only == Tri::Yes;
    match stage {
        SendStage::Unsent => EffectState::NotSubmitted,
        SendStage::Announced | SendStage::InputRequired => EffectState::NotCommitted,
        SendStage::Sent | SendStage::Answered(_) if reads => EffectState::None,
        SendStage::Sent => EffectState::Unknown,
        SendStage::Answered(_) => EffectState::Committed,
    }
}

fn late(stage: SendStage) -> Stop {
    match stage {
        SendStage::Unsent | SendStage::Announced => super::late(),
        SendStage::Sent | SendStage::Answered(_) | SendStage::InputRequired => {
            late_after_sending("time ran out before the whole answer was there")
        }
    }
}

/// Sends the request and follows redirects. The guard and the policy check every URL like the
/// first.
async fn fetch(
    way: ConnectRoute<'_>,
    mut url: CheckedUrl,
    guard: &TargetGuard,
) -> Result<Value, Stop> {
    for redirects in 0..=MOST_REDIRECTS {
        guard.url(url.as_str()).map_err(|stop| stop.at("/url"))?;
        let answer = way.send(&Outgoing::get(url.clone())).await;
        let answer = answer.map_err(|fault| {
            let stop = unanswered(fault, &url);
            // The first host answered; the redirect target has its own circuit breaker.
            if redirects > 0 { stop.blaming(Blame::Request) } else { stop }
        })?;
        let Some(next) = answer.elsewhere() else { return given(&url, answer).await };
        let checked = way.guard.check_next(&url, &next);
        url = checked.map_err(|forbidden| while_running(refused(&forbidden)))?;
    }
    let message = format!("the answer points elsewhere more than {MOST_REDIRECTS} times");
    Err(running(Code::ExecutionFailed, message).at("/url"))
}

fn unanswered(fault: RequestFailure, url: &CheckedUrl) -> Stop {
    let host = url.host();
    let (code, message) = match fault {
        RequestFailure::Forbidden(forbidden) => return while_running(refused(&forbidden)),
        RequestFailure::Stopped(stop) => return stop,
        RequestFailure::Unready | RequestFailure::Unrecorded => {
            return running(Code::Internal, "the http client could not be set up");
        }
        RequestFailure::Unknown => {
            let words = format!("`{host}` cannot be looked up");
            let stop = running(Code::DependencyUnavailable, words).at("/url");
            return stop.blaming(Blame::Request);
        }
        RequestFailure::Unreachable | RequestFailure::Gone => {
            (Code::DependencyUnavailable, format!("`{host}` cannot be reached"))
        }
        RequestFailure::Broken => {
            (Code::ExecutionFailed, format!("`{host}` did not answer as a web server does"))
        }
    };
    running(code, message).at("/url")
}

/// The response as a value, with its body truncated at the size limit.
async fn given(url: &CheckedUrl, mut answer: HttpResponse<'_>) -> Result<Value, Stop> {
    let status = answer.status().as_u16();
    // A response without a media type counts as bytes.
    let media_type = answer.media_type();
    let media_type = media_type.unwrap_or_else(|| "application/octet-stream".to_owned());
    let body = answer.body(MOST_BYTES).await.map_err(|_| broken(url))?;
    let end = if body.cut { ByteEnd::Cut } else { ByteEnd::Whole };
    let shown = show(body.bytes, end);
    Ok(json!({
        "url": url.as_str(),
        "status": status,
        "media_type": media_type,
        "content": shown.content,
        "encoding": shown.encoding,
        "size": shown.bytes,
        "more": end == ByteEnd::Cut,
    }))
}

fn broken(url: &CheckedUrl) -> Stop {
    let message = format!("the answer of `{}` broke off", url.host());
    running(Code::ExecutionFailed, message).at("/url")
}
