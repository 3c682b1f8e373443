//! Batch calls over REST, answered in the order of the request.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use haft_driver::Cancel;
use haft_model::{Code, Stop, Tier};
use haft_runtime::{Batch, BatchDocument, CallOptions, Patience};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::extract::{By, FlawedBody};
use super::native;
use super::problem::Problem;
use crate::AppState;
use crate::session::Session;

/// Most calls in one batch.
const MOST_CALLS: usize = 256;

/// `POST /v1/batch`: each result as the command line prints it, the context modifiers after them.
pub(super) async fn make(
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    headers: HeaderMap,
    FlawedBody(wanted, flaw): FlawedBody<BatchDocument>,
) -> Result<Json<Value>, Problem> {
    if wanted.calls.len() > MOST_CALLS {
        return Err(Problem::malformed(format!("a batch has at most {MOST_CALLS} calls")));
    }
    let native = native::refs(&headers, "POST", "/v1/batch");
    let mut batch = wanted.batch(&actor, "http", &native);
    if flaw.is_some() {
        // Only the first flaw is known, so no call of the batch is known to be without one.
        batch.calls.iter_mut().for_each(|member| member.call.flaw.clone_from(&flaw));
    }
    let ids: Vec<Option<String>> = batch.calls.iter().map(|call| call.id.clone()).collect();
    let (results, modifiers) =
        run(&desk, batch, Session::of(&headers).0, None).await.map_err(contradicted)?;
    let id = |index: usize| ids.get(index).cloned().flatten();
    let results = results
        .into_iter()
        .map(|(index, envelope)| json!({ "index": index, "id": id(index), "result": envelope }));
    let modifiers = modifiers.into_iter().map(|(index, modifiers)| {
        json!({ "index": index, "id": id(index), "context_modifiers": modifiers })
    });
    Ok(Json(json!({
        "results": results.collect::<Vec<_>>(),
        "context_modifiers": modifiers.collect::<Vec<_>>(),
    })))
}

/// The refusal of calls that contradict each other, though each is valid.
fn contradicted(stop: Stop) -> Problem {
    match stop.code {
        Code::InputValue => Problem::from(Stop { code: Code::Conflict, ..stop }),
        _ => Problem::from(stop),
    }
}

/// Results and context modifiers of a batch, each with the index of its call.
type BatchOutcome = (Vec<(usize, haft_model::Envelope)>, Vec<(usize, Vec<Value>)>);

/// Runs a batch beside its request. A client that stops waiting cancels what may be cancelled.
pub(crate) async fn run(
    desk: &Arc<AppState>,
    batch: Batch,
    surface: Option<String>,
    tier: Option<Tier>,
) -> Result<BatchOutcome, Stop> {
    let (sender, done) = oneshot::channel();
    let wish = Cancel::new();
    let interest = wish.clone().drop_guard();
    let desk = desk.clone();
    tokio::spawn(async move {
        let options = CallOptions {
            patience: Patience::Leave,
            cancel: wish,
            surface,
            tier,
            ..CallOptions::default()
        };
        let _ = sender.send(made(&desk, batch, options).await);
    });
    let outcome = done.await;
    interest.disarm();
    outcome.map_err(|_| Stop::new(Code::Internal, "the batch was lost"))?
}

async fn made(
    desk: &AppState,
    batch: Batch,
    options: CallOptions<'_>,
) -> Result<BatchOutcome, Stop> {
    let mut released = desk.runtime.batch(batch, options)?;
    let mut results = Vec::new();
    while let Some(result) = released.next().await {
        results.push(result);
    }
    Ok((results, released.context_modifiers().await))
}
