//! Approval inbox over REST.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use haft_ledger::{QuestionFilter, QuestionRecord};
use haft_model::{Actor, Code, QuestionId, QuestionState, Stop, Timestamp};
use haft_runtime::{Led, Reply};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::extract::{By, FlawedBody, PathParams, QueryParams};
use super::problem::Problem;
use crate::AppState;

/// Filter of questions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    #[serde(default)]
    all: bool,
}

/// `GET /v1/approvals`.
pub(super) async fn list(
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    QueryParams(Which { all }): QueryParams<Which>,
) -> Result<Json<Value>, Problem> {
    let now = Timestamp::now();
    let filter = QuestionFilter { open: !all, ..of(&actor) };
    let found = desk.runtime.questions(&filter).await?.into_iter();
    let mine = found.filter(|record| may_see(&actor, record));
    // An expired question is open until that is recorded, and no approver can answer it any more.
    let mine = mine.filter(|record| all || record.state_at(now) == QuestionState::Open);
    let told: Vec<Value> = mine.map(|record| record.told(now)).collect();
    Ok(Json(json!({ "approvals": told })))
}

/// Body of an answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerBody {
    decision: Decision,
    reason: Option<String>,
    input: Option<Value>,
    content: Option<Map<String, Value>>,
    #[serde(default)]
    always: bool,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Approve,
    Reject,
}

/// `POST /v1/approvals/{id}`.
pub(super) async fn answer(
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    PathParams(id): PathParams<String>,
    FlawedBody(said, flaw): FlawedBody<AnswerBody>,
) -> Result<Json<Value>, Problem> {
    let record = one(&desk, &actor, &id).await?;
    if let Some(flaw) = flaw {
        return Err(Problem::conflicting(flaw.stop()));
    }
    let approves = matches!(said.decision, Decision::Approve);
    let reply = Reply {
        by: actor.as_ref().clone(),
        approves,
        reason: said.reason,
        edited_input: said.input,
        content: said.content.map(Value::Object),
        always: said.always,
        channel: "http".to_owned(),
    };
    let (question, invocation) =
        (record.question.id.clone(), record.question.bound.invocation.clone());
    // The answer may run the call, and a client that disconnects must not cancel it.
    let led = tokio::spawn(async move { desk.runtime.reply(&record, reply).await }).await;
    let led = led.map_err(|_| Stop::new(Code::Internal, "the answer was lost"))??;
    let (id, state) = match &led {
        _ if !approves => (&question, QuestionState::Rejected),
        Led::ToAnother(another) => (another, QuestionState::Open),
        Led::ToOthers => (&question, QuestionState::Open),
        Led::On | Led::To(_) => (&question, QuestionState::Approved),
    };
    let result = match &led {
        Led::To(envelope) => json!(envelope),
        Led::On | Led::ToOthers | Led::ToAnother(_) => Value::Null,
    };
    Ok(Json(json!({
        "approval_id": id, "invocation_id": invocation, "state": state, "result": result,
    })))
}

async fn one(desk: &AppState, actor: &Actor, id: &str) -> Result<QuestionRecord, Problem> {
    let filter = QuestionFilter { id: Some(QuestionId::from(id)), ..of(actor) };
    let mut found = desk.runtime.questions(&filter).await?.into_iter();
    let found = found.find(|record| may_see(actor, record));
    found.ok_or_else(|| Problem::missing("question", id))
}

fn of(actor: &Actor) -> QuestionFilter {
    QuestionFilter { tenant: Some(actor.tenant.to_string()), ..QuestionFilter::default() }
}

/// Whether an actor may see a question: plain agents see those about their own calls.
fn may_see(actor: &Actor, record: &QuestionRecord) -> bool {
    actor.sees_all() || record.question.bound.actor == actor.id
}

#[cfg(test)]
mod tests;
