//! Invocations over REST: list with pagination, status, trace and cancellation.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use haft_ledger::{Run, RunFilter};
use haft_model::{Actor, Digest, InvocationId, Status};
use haft_runtime::CancelAnswer;
use serde::Deserialize;
use serde_json::{Value, json};

use super::extract::{By, PathParams, QueryParams};
use super::problem::Problem;
use crate::AppState;
use crate::app_state::audience;

/// Default and largest page size, in calls.
const PAGE: usize = 50;
const LARGEST_PAGE: usize = 500;

/// Filter of calls.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    tool: Option<String>,
    actor: Option<String>,
    status: Option<String>,
    #[serde(default)]
    open: bool,
    #[serde(default)]
    unknown: bool,
    limit: Option<usize>,
    cursor: Option<String>,
}

/// `GET /v1/invocations`.
pub(super) async fn list(
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    QueryParams(which): QueryParams<Which>,
) -> Result<Json<Value>, Problem> {
    let most = which.limit.unwrap_or(PAGE);
    if !(1..=LARGEST_PAGE).contains(&most) {
        return Err(Problem::malformed(format!("`limit` is from 1 to {LARGEST_PAGE}")));
    }
    let status = which.status.iter().flat_map(|words| words.split(',')).map(status);
    let filter = RunFilter {
        tenant: Some(actor.tenant.to_string()),
        tool: which.tool,
        actor: if actor.sees_all() { which.actor } else { Some(actor.id.to_string()) },
        status: status.collect::<Result<_, _>>()?,
        open: which.open,
        unknown: which.unknown,
        before: which.cursor.as_deref().map(InvocationId::from),
        // One more tells whether there is another page.
        most: most + 1,
        ..RunFilter::default()
    };
    let reader = desk.runtime.reader();
    // A read is answered before it is on record, and its caller may look at once.
    reader.caught_up().await?;
    let mut runs = reader.runs(&filter).await?;
    let more = runs.len() > most;
    runs.truncate(most);
    let next = runs.last().filter(|_| more).map(|run| run.invocation_id.clone());
    Ok(Json(json!({ "invocations": runs, "next_cursor": next })))
}

fn status(word: &str) -> Result<Status, Problem> {
    Status::parse(word).ok_or_else(|| {
        let all: Vec<&str> = Status::ALL.iter().map(|status| status.name()).collect();
        Problem::malformed(format!("`{word}` is no state; there are {}", all.join(", ")))
    })
}

/// `GET /v1/invocations/{id}`: its status, and its result once it has ended.
pub(super) async fn show(
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let run = own(&desk, &id, &actor).await?;
    let result = match run.status.is_terminal() {
        true => desk.runtime.reader().result(&run.invocation_id).await?,
        false => None,
    };
    // A caller at a terminal was told more.
    let result = result.map(|result| result.told_to(audience(&actor)));
    let mut body = json!(run);
    if let Some(fields) = body.as_object_mut() {
        fields.insert("result".to_owned(), json!(result));
    }
    Ok(tagged(&headers, &body))
}

/// A body with its ETag, or 304 where the client has it.
pub(super) fn tagged(headers: &HeaderMap, body: &Value) -> Response {
    let bytes = serde_json::to_vec(body).unwrap_or_default();
    let tag = format!("\"{}\"", Digest::of_bytes(&bytes));
    if is_known(headers, &tag) {
        return (StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response();
    }
    let kind = (header::CONTENT_TYPE, "application/json".to_owned());
    ([kind, (header::ETAG, tag)], bytes).into_response()
}

/// Whether the client has the version with this ETag.
pub(super) fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let seen = headers.get_all(header::IF_NONE_MATCH).iter();
    let mut seen = seen.filter_map(|value| value.to_str().ok()).flat_map(|tags| tags.split(','));
    seen.any(|one| one.trim() == "*" || one.trim().trim_start_matches("W/") == tag)
}

/// `GET /v1/invocations/{id}/trace`.
pub(super) async fn trace(
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, Problem> {
    let run = recorded(&desk, &id, &actor).await?;
    let told = desk.runtime.tell(&run.invocation_id).await?.json();
    Ok(Json(audience(&actor).value(told)))
}

/// `POST /v1/invocations/{id}/cancel`.
pub(super) async fn cancel(
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    PathParams(id): PathParams<String>,
) -> Result<Response, Problem> {
    let run = recorded(&desk, &id, &actor).await?;
    let id = run.invocation_id;
    let (status, state) = match desk.runtime.cancel(&id, &actor).await? {
        CancelAnswer::Over => (StatusCode::OK, "canceled"),
        CancelAnswer::Told => (StatusCode::ACCEPTED, "cancel_requested"),
    };
    Ok((status, Json(json!({ "invocation_id": id, "state": state }))).into_response())
}

/// A call that this actor may see, recorded or accepted; another actor's is not found.
pub(crate) async fn own(desk: &AppState, id: &str, by: &Actor) -> Result<Run, Problem> {
    let id = InvocationId::from(id);
    let reader = desk.runtime.reader();
    if let Some(run) = reader.run(&id, by).await? {
        return Ok(run);
    }
    if let Some(run) = desk.errands.accepted(&id, by) {
        return Ok(run);
    }
    // It may have ended between the two lookups, or have been answered a moment ago.
    reader.caught_up().await?;
    let id = desk.errands.stands_for(&id).unwrap_or(id);
    reader.run(&id, by).await?.ok_or_else(|| Problem::missing("call", id.as_str()))
}

/// The same for a recorded call.
async fn recorded(desk: &AppState, id: &str, by: &Actor) -> Result<Run, Problem> {
    let run = own(desk, id, by).await?;
    let known = desk.runtime.reader().run(&run.invocation_id, by).await?;
    known.ok_or_else(|| Problem::missing("record of call", id))
}
