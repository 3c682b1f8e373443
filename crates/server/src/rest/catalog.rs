//! What there is to call, as the caller sees it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use haft_catalog::{Index, Moment, Revision, Row, Shown, View};
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
struct Stand {
    world: Arc<World>,
    view: View,
    today: Date,
}

impl Stand {
    fn of(desk: &Desk, actor: &Actor) -> Stand {
        let (world, today) = (desk.world(), utc_day(Timestamp::now()));
        let all_are_there = BTreeMap::new();
        let moment = Moment::on(today, &all_are_there);
        let view = desk.runtime.surface_of(actor).view(&world.snapshot, &moment);
        Stand { world, view, today }
    }

    /// One contract in a list.
    fn row(&self, row: &Row) -> Value {
        let entry = &row.entry;
        let contract = &entry.contract;
        let (state, reason) = self.state(row);
        let drivers = entry.bindings.iter().map(|binding| {
            let driver = &binding.driver;
            json!({ "id": driver.id, "kind": driver.kind, "refused": binding.refused })
        });
        json!({
            "id": contract.key().id,
            "key": contract.key(),
            "version": contract.tool.version,
            "name": contract.title(),
            "description": contract.tool.description,
            "risk_level": contract.effects.risk,
            "state": state,
            "reason": reason,
            "drivers": drivers.collect::<Vec<_>>(),
        })
    }

    /// Whether a contract can be called now, and if not, why.
    fn state(&self, row: &Row) -> (&'static str, Option<String>) {
        let entry = &row.entry;
        let serves = entry.bindings.iter().any(|binding| binding.refused.is_none());
        match (row.shown, entry.blocked(self.today)) {
            (_, Some(block)) => ("blocked", Some(block.message)),
            (Shown::Loaded, None) if !serves => ("no route", Some("no driver serves it".into())),
            (Shown::Loaded, None) if entry.lifecycle(self.today) == Lifecycle::Deprecated => {
                ("deprecated", None)
            }
            (Shown::Loaded, None) => ("ready", None),
            (shown, None) => (shown.name(), shown.reason().map(str::to_owned)),
        }
    }
}

/// Whether somebody may know that a tool is there.
fn is_visible(row: &Row) -> bool {
    !matches!(row.shown, Shown::Excluded(_) | Shown::Unknown)
}

/// `GET /v1/catalog`.
pub(super) async fn list(
    State(desk): State<Arc<Desk>>,
    By(actor): By,
    headers: HeaderMap,
) -> Response {
    let stand = Stand::of(&desk, &actor);
    let visible = stand.view.rows().filter(|row| is_visible(row));
    let tools: Vec<Value> = visible.map(|row| stand.row(row)).collect();
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
    let Stand { world, view, .. } = Stand::of(&desk, &actor);
    let index = Index::new(&world.snapshot);
    Ok(Json(view.search(&words.q, &index, &world.snapshot, most).record()))
}

/// `GET /v1/catalog/{tool}`: one contract with what it inherits and who serves it.
pub(super) async fn show(
    State(desk): State<Arc<Desk>>,
    By(actor): By,
    Named(name): Named<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Stand { world, view, today } = Stand::of(&desk, &actor);
    let found = view.find(&name, &world.snapshot).filter(|row| is_visible(row));
    let row = found.ok_or_else(|| Problem::from(world.snapshot.unknown(&name)))?;
    Ok(tagged(&headers, &row.entry.told(today)))
}

/// `GET /v1/surfaces`: what the caller sees, and why not the rest.
pub(super) async fn surfaces(State(desk): State<Arc<Desk>>, By(actor): By) -> Json<Value> {
    let view = Stand::of(&desk, &actor).view;
    let revision = Revision { number: view.surface().revision, digest: view.digest().clone() };
    let record = view.record(&revision, &Timestamp::now().to_string());
    Json(json!({ "surfaces": [record] }))
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
