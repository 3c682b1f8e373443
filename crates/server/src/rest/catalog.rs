//! What there is to call, as the caller sees it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use haft_catalog::{Entry, Index, Shown, Surface};
use haft_model::{Actor, Call, Date, DriverId, Lifecycle, Timestamp, utc_day};
use haft_runtime::World;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ask::{Asked, Body, By, Named};
use super::invocations::tagged;
use super::problem::Problem;
use crate::Desk;

/// How many a search finds unless said, and at most.
const FOUND: usize = 50;
const MOST_FOUND: usize = 500;

/// The catalog from where somebody stands.
struct View {
    world: Arc<World>,
    surface: Surface,
    today: Date,
}

impl View {
    fn of(desk: &Desk, actor: &Actor) -> View {
        let today = utc_day(Timestamp::now());
        View { world: desk.world(), surface: desk.runtime.surface_of(actor), today }
    }

    fn shown(&self, entry: &Entry) -> Shown {
        self.surface.shows(entry, &self.world.snapshot, self.today)
    }

    fn is_visible(&self, entry: &Entry) -> bool {
        !matches!(self.shown(entry), Shown::Excluded(_))
    }

    /// Whether a contract can be called now, and if not, why.
    fn state(&self, entry: &Entry) -> (&'static str, Option<String>) {
        let serves = entry.bindings.iter().any(|binding| binding.refused.is_none());
        match (entry.blocked(self.today), self.shown(entry)) {
            (Some(block), _) => ("blocked", Some(block.message)),
            (None, Shown::Deferred) => ("deferred", Some("its schema is not loaded".to_owned())),
            (None, _) if !serves => ("no route", Some("no driver serves it".to_owned())),
            (None, _) if entry.lifecycle(self.today) == Lifecycle::Deprecated => {
                ("deprecated", None)
            }
            (None, _) => ("ready", None),
        }
    }

    /// One contract in a list.
    fn row(&self, entry: &Entry, score: Option<f64>) -> Value {
        let contract = &entry.contract;
        let (state, reason) = self.state(entry);
        let drivers = entry.bindings.iter().map(|binding| {
            let driver = &binding.driver;
            json!({ "id": driver.id, "kind": driver.kind, "refused": binding.refused })
        });
        let mut row = json!({
            "id": contract.key().id,
            "key": contract.key(),
            "version": contract.tool.version,
            "name": contract.title(),
            "description": contract.tool.description,
            "risk_level": contract.effects.risk,
            "state": state,
            "reason": reason,
            "drivers": drivers.collect::<Vec<_>>(),
        });
        if let (Some(score), Some(fields)) = (score, row.as_object_mut()) {
            fields.insert("score".into(), json!(score));
        }
        row
    }
}

/// `GET /v1/catalog`.
pub(super) async fn list(
    State(desk): State<Arc<Desk>>,
    By(actor): By,
    headers: HeaderMap,
) -> Response {
    let view = View::of(&desk, &actor);
    let visible = view.world.snapshot.entries().filter(|entry| view.is_visible(entry));
    let tools: Vec<Value> = visible.map(|entry| view.row(entry, None)).collect();
    tagged(&headers, &json!({ "tools": tools }))
}

/// What is looked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    q: String,
    limit: Option<usize>,
}

/// `GET /v1/search`.
pub(super) async fn search(
    State(desk): State<Arc<Desk>>,
    By(actor): By,
    Asked(words): Asked<Words>,
) -> Result<Json<Value>, Problem> {
    let most = words.limit.unwrap_or(FOUND);
    if !(1..=MOST_FOUND).contains(&most) {
        return Err(Problem::malformed(format!("`limit` is from 1 to {MOST_FOUND}")));
    }
    let view = View::of(&desk, &actor);
    let index = Index::new(&view.world.snapshot);
    let found = index.search(&words.q, most, |entry| view.is_visible(entry)).into_iter();
    let tools: Vec<Value> =
        found.map(|hit| view.row(&hit.found, Some(f64::from(hit.score)))).collect();
    Ok(Json(json!({ "query": words.q, "tools": tools })))
}

/// `GET /v1/catalog/{tool}`: one contract with what it inherits and who serves it.
pub(super) async fn show(
    State(desk): State<Arc<Desk>>,
    By(actor): By,
    Named(name): Named<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let view = View::of(&desk, &actor);
    let found = view.world.snapshot.find(&name).filter(|entry| view.is_visible(entry));
    let entry = found.ok_or_else(|| Problem::from(view.world.snapshot.unknown(&name)))?;
    Ok(tagged(&headers, &entry.told(view.today)))
}

/// `GET /v1/surfaces`: what the caller sees, and why not the rest.
pub(super) async fn surfaces(State(desk): State<Arc<Desk>>, By(actor): By) -> Json<Value> {
    let view = View::of(&desk, &actor);
    let (mut loaded, mut deferred) = (Vec::new(), Vec::new());
    let (mut blocked, mut excluded) = (Vec::new(), Vec::new());
    for entry in view.world.snapshot.entries() {
        let key = json!(entry.contract.key());
        match (view.shown(entry), entry.blocked(view.today)) {
            (Shown::Unknown, _) => {}
            (Shown::Excluded(reason), _) => {
                excluded.push(json!({ "tool_id": key, "reason": reason }))
            }
            (Shown::Blocked(reason), None) => {
                blocked.push(json!({ "tool_id": key, "reason": reason }))
            }
            (_, Some(block)) => blocked.push(json!({ "tool_id": key, "reason": block.reason })),
            (Shown::Deferred | Shown::Pending, None) => deferred.push(key),
            (Shown::Loaded, None) => loaded.push(key),
        }
    }
    let surface = &view.surface;
    Json(json!({ "surfaces": [{
        "surface_id": surface.id,
        "revision": surface.revision,
        "scope": surface.scope,
        "loaded_tools": loaded,
        "deferred_tools": deferred,
        "blocked_tools": blocked,
        "excluded_tools": excluded,
    }] }))
}

/// A call that is only thought of.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Supposed {
    tool: String,
    input: Option<Value>,
    context: Option<Value>,
    pin: Option<String>,
    #[serde(default)]
    region: Vec<String>,
}

/// `POST /v1/why`: what would become of a call.
pub(super) async fn why(
    State(desk): State<Arc<Desk>>,
    By(actor): By,
    Body(supposed): Body<Supposed>,
) -> Result<Json<Value>, Problem> {
    let mut call = Call::new(actor.as_ref().clone(), supposed.tool, Value::Null);
    call.pinned = supposed.pin.as_deref().map(DriverId::from);
    call.region = supposed.region;
    if let Some(context) = supposed.context {
        call.context = context;
    }
    Ok(Json(desk.runtime.why(&call, supposed.input).await?.told()))
}
