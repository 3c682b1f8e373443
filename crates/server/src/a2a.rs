//! A2A 0.3 over JSON-RPC: serves the surface as an agent whose skills are tools, and calls as
//! tasks.

mod card;
mod task;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::HeaderMap;
use axum::routing::{get, post};
use axum::{Json, Router};
use haft_catalog::Viewer;
use haft_model::{Audience, Call, Envelope, JsonFlaw, JsonScope, Stop, ToolKey};
use haft_runtime::CancelAnswer;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::AppState;
use crate::app_state::told;
use crate::deferred::Own;
use crate::rest::{By, Errand, LARGEST_BODY, is_json, own, refs};
use crate::session::Session;

/// Routes of `/a2a` and of the agent card.
pub(crate) fn router() -> Router<Arc<AppState>> {
    Router::new()
        .route("/.well-known/agent-card.json", get(card::show))
        .route("/a2a", post(answer))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
}

/// JSON-RPC error: a code of JSON-RPC or A2A, and a message.
struct A2aFault(i32, String);

impl A2aFault {
    const UNREADABLE: i32 = -32700;
    const INVALID: i32 = -32600;
    const NO_METHOD: i32 = -32601;
    const BAD_PARAMS: i32 = -32602;
    const INTERNAL: i32 = -32603;
    const NO_TASK: i32 = -32001;
    const NOT_CANCELABLE: i32 = -32002;
    const UNSUPPORTED: i32 = -32004;

    fn params(words: impl Into<String>) -> A2aFault {
        A2aFault(A2aFault::BAD_PARAMS, words.into())
    }
}

#[derive(Deserialize)]
struct A2aRequest {
    jsonrpc: String,
    #[serde(default)]
    id: Value,
    method: String,
    #[serde(default)]
    params: Value,
}

impl A2aRequest {
    fn read(value: Value) -> Result<A2aRequest, A2aFault> {
        match serde_json::from_value::<A2aRequest>(value) {
            Ok(request) if request.jsonrpc == "2.0" => Ok(request),
            Ok(_) | Err(_) => {
                Err(A2aFault(A2aFault::INVALID, "this is no request of JSON-RPC 2.0".to_owned()))
            }
        }
    }
}

/// The skill and input of a call that A2A reads from a body, and the call's JSON flaw; `None` where
/// the body is refused. For fuzzing.
pub fn a2a_call(body: &[u8]) -> Option<(String, Value, Option<JsonFlaw>)> {
    let flaw = flaw_within(body);
    let request = A2aRequest::read(serde_json::from_slice(body).ok()?).ok()?;
    let (skill, input) = wanted(request.params.get("message")?).ok()?;
    Some((skill, input, flaw.map(flaw_of_input).transpose().ok()?))
}

fn flaw_within(body: &[u8]) -> Option<JsonFlaw> {
    JsonFlaw::within(body, JsonScope::Below(&[&["params", "message"]]))
}

async fn answer(
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    headers: HeaderMap,
    body: Bytes,
) -> Json<Value> {
    let told = |id: Value, fault: A2aFault| {
        let A2aFault(code, message) = fault;
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
    };
    // A browser page can send other content types without a CORS preflight.
    let value = is_json(&headers).then(|| serde_json::from_slice::<Value>(&body).ok()).flatten();
    let flaw = flaw_within(&body);
    let Some(value) = value else {
        let words = match flaw {
            Some(flaw) => flaw.to_string(),
            None => "the body is no `application/json`".to_owned(),
        };
        return Json(told(Value::Null, A2aFault(A2aFault::UNREADABLE, words)));
    };
    let request = match A2aRequest::read(value) {
        Ok(request) => request,
        Err(fault) => return Json(told(Value::Null, fault)),
    };
    let wire = A2aResponse { desk, actor, headers };
    let params = request.params;
    let result = match request.method.as_str() {
        "message/send" => wire.send(params, flaw, &request.id).await,
        "tasks/get" => wire.get(params).await,
        "tasks/cancel" => wire.cancel(params).await,
        "message/stream" | "tasks/resubscribe" => {
            let words = "there are no streams here: send `message/send` and look with `tasks/get`";
            Err(A2aFault(A2aFault::UNSUPPORTED, words.to_owned()))
        }
        other => Err(A2aFault(A2aFault::NO_METHOD, format!("there is no method `{other}`"))),
    };
    Json(match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": request.id, "result": result }),
        Err(fault) => told(request.id, fault),
    })
}

struct A2aResponse {
    desk: Arc<AppState>,
    actor: Arc<haft_model::Actor>,
    headers: HeaderMap,
}

impl A2aResponse {
    /// `message/send`: a message that names a skill is a call.
    async fn send(
        &self,
        params: Value,
        flaw: Option<JsonFlaw>,
        request: &Value,
    ) -> Result<Value, A2aFault> {
        let message =
            params.get("message").ok_or_else(|| A2aFault::params("there is no message"))?;
        let (skill, input) = wanted(message)?;
        let flaw = flaw.map(flaw_of_input).transpose()?;
        let context = task::context(message);
        if let Some(own) = self.own(&skill) {
            if let Some(flaw) = flaw {
                return Err(A2aFault::params(flaw.to_string()));
            }
            return self.found(own, input, &context).await;
        }
        let mut call = Call::new(self.actor.as_ref().clone(), skill.clone(), input);
        call.channel = "a2a";
        call.flaw = flaw;
        call.native = refs(&self.headers, "POST", "/a2a");
        call.native.insert(0, task::known_by(message, &skill, &context, request));
        let errand = Errand::begin(&self.desk, call, Session(None));
        let run = errand.run(&self.actor, &skill);
        let waits = params.pointer("/configuration/blocking").and_then(Value::as_bool);
        let envelope = match waits {
            Some(false) => {
                match errand.answer_within(Duration::ZERO, &self.desk, run.clone()).await {
                    Ok(envelope) => envelope,
                    Err(_) => return Ok(task::under_way(&run, &context)),
                }
            }
            Some(true) | None => errand.answer().await,
        };
        let lost = || A2aFault(A2aFault::INTERNAL, "the call was lost".to_owned());
        Ok(task::of(&envelope.ok_or_else(lost)?, &context))
    }

    /// Our own tool that a skill means. A loaded tool is a skill by its own name, so the call tools
    /// are not needed here.
    fn own(&self, skill: &str) -> Option<Own> {
        let own = Own::named(skill).filter(|own| matches!(own, Own::Search | Own::Load))?;
        let vista = self.desk.runtime.see(&Viewer { actor: &self.actor, within: &[] });
        vista.view.defers().then_some(own)
    }

    /// A search or a load. It is no task: its answer is a message.
    async fn found(&self, own: Own, input: Value, context: &str) -> Result<Value, A2aFault> {
        let viewer = Viewer { actor: &self.actor, within: &[] };
        let fields = input.as_object().cloned().unwrap_or_default();
        let declared = |tool: &ToolKey| {
            let world = self.desk.world();
            let contract = &world.snapshot.find(&tool.to_string())?.contract;
            let skill = world.snapshot.wire_name(tool);
            Some(
                json!({ "skill": &*skill, "tool_id": tool, "description": contract.tool.description, "input_schema": contract.model_schema() }),
            )
        };
        let found = self.desk.found(own, fields, &viewer, declared).await;
        let found = found.map_err(|why| A2aFault::params(why.words()))?;
        Ok(task::message(found, context))
    }

    /// `tasks/get`.
    async fn get(&self, params: Value) -> Result<Value, A2aFault> {
        let run = self.task(&params).await?;
        let story = self.desk.runtime.tell(&run.invocation_id).await;
        let context = story.ok().and_then(|told| task::context_of(&told.story));
        let context = context.unwrap_or_else(|| run.invocation_id.to_string());
        let envelope: Option<Envelope> = match run.status.is_terminal() {
            true => {
                self.desk.runtime.reader().result(&run.invocation_id).await.map_err(internal)?
            }
            false => None,
        };
        Ok(match envelope {
            // A call made at a terminal may hold more than a model may read.
            Some(envelope) => task::of(&envelope.told_to(Audience::Agent), &context),
            None => task::under_way(&run, &context),
        })
    }

    /// `tasks/cancel`.
    async fn cancel(&self, params: Value) -> Result<Value, A2aFault> {
        let run = self.task(&params).await?;
        match self.desk.runtime.cancel(&run.invocation_id, &self.actor).await {
            Ok(CancelAnswer::Told | CancelAnswer::Over) => self.get(params).await,
            Err(stop) => Err(A2aFault(A2aFault::NOT_CANCELABLE, told(stop))),
        }
    }

    async fn task(&self, params: &Value) -> Result<haft_ledger::Run, A2aFault> {
        let id = params.get("id").and_then(Value::as_str);
        let id = id.ok_or_else(|| A2aFault::params("a task has an `id`"))?;
        let missing = |_| A2aFault(A2aFault::NO_TASK, format!("there is no task `{id}`"));
        own(&self.desk, id, &self.actor).await.map_err(missing)
    }
}

fn internal(stop: Stop) -> A2aFault {
    A2aFault(A2aFault::INTERNAL, told(stop))
}

/// The skill and input that a message asks for: from a data part `{skill, input}`, or from a data
/// part that is the input while the message's metadata names the skill.
fn wanted(message: &Value) -> Result<(String, Value), A2aFault> {
    let parts = message.get("parts").and_then(Value::as_array);
    let parts = parts.ok_or_else(|| A2aFault::params("a message has `parts`"))?;
    let data = parts.iter().find_map(|part| part.get("data")).filter(|data| data.is_object());
    let named = message.pointer("/metadata/skill").and_then(Value::as_str);
    match (named, data) {
        (Some(skill), data) => Ok((skill.to_owned(), data.cloned().unwrap_or_else(|| json!({})))),
        (None, Some(data)) => {
            let skill = data.get("skill").and_then(Value::as_str);
            let skill = skill.ok_or_else(unnamed)?;
            Ok((skill.to_owned(), data.get("input").cloned().unwrap_or_else(|| json!({}))))
        }
        (None, None) => Err(unnamed()),
    }
}

/// A flaw of a message, relative to its input; one elsewhere makes the message invalid.
fn flaw_of_input(flaw: JsonFlaw) -> Result<JsonFlaw, A2aFault> {
    let mut steps = flaw.pointer.splitn(6, '/').skip(3);
    let (parts, index, data) = (steps.next(), steps.next(), steps.next());
    match (parts, index, data.and_then(|data| data.strip_prefix("data"))) {
        (Some("parts"), Some(_), Some(rest)) => {
            let rest =
                rest.strip_prefix("/input").filter(|rest| rest.starts_with('/')).unwrap_or(rest);
            Ok(JsonFlaw { pointer: rest.to_owned(), kind: flaw.kind.clone() })
        }
        _ => Err(A2aFault::params(flaw.to_string())),
    }
}

fn unnamed() -> A2aFault {
    A2aFault::params("which skill? send a data part `{\"skill\": …, \"input\": {…}}`")
}
