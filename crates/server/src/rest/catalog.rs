//! What there is to call, as the caller sees it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use haft_catalog::{DriverStates, Entry, Index, Moment, Outlook, Revision, Row, Shown, View};
use haft_model::{Actor, Call, Date, DriverId, Timestamp, utc_day};
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
    async fn row(&self, row: &Row, actor: &Actor) -> Value {
        let states = self.states(&row.entry, actor).await;
        let outlook = Outlook { states, ..Outlook::default() };
        let (state, reason) = match row.shown {
            Shown::Loaded | Shown::Blocked(_) => {
                self.world.snapshot.standing(&row.entry, actor, self.today, &outlook)
            }
            shown => (shown.name(), shown.reason().map(str::to_owned)),
        };
        row.entry.listed(state, reason.as_deref(), &outlook.states)
    }

    /// What is known of the drivers of a contract.
    async fn states(&self, entry: &Entry, actor: &Actor) -> DriverStates {
        match &self.world.lookout {
            Some(lookout) => lookout.look(entry, actor, Timestamp::now()).await,
            None => DriverStates::default(),
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
    let mut tools = Vec::new();
    for row in stand.view.rows().filter(|row| is_visible(row)) {
        tools.push(stand.row(row, &actor).await);
    }
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
    let stand = Stand::of(&desk, &actor);
    let snapshot = &stand.world.snapshot;
    let found = stand.view.find(&name, snapshot).filter(|row| is_visible(row));
    let entry = &found.ok_or_else(|| Problem::from(snapshot.unknown(&name)))?.entry;
    let states = stand.states(entry, &actor).await;
    Ok(tagged(&headers, &entry.told(stand.today, &states)))
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
