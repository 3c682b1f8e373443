//! Catalog over REST: the tools that the caller sees, with search and load.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use haft_catalog::{CatalogEntry, DriverStates, Outlook, ViewRow, Viewer, Visibility};
use haft_model::{Actor, Call, Date, DriverId, Timestamp, ToolKey};
use haft_runtime::{Vista, World};
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::flaw_of_call;
use super::extract::{By, FlawedBody, PathParams, QueryParams, StrictJson};
use super::invocations::tagged;
use super::problem::Problem;
use crate::AppState;
use crate::app_state::audience;
use crate::session::Session;

/// Default and largest number of search results.
const FOUND: usize = 50;
const MOST_FOUND: usize = 500;

/// Most schemas loaded at once.
const MOST_LOADED: usize = 500;

/// The catalog as one viewer sees it.
struct Stand {
    world: Arc<World>,
    vista: Arc<Vista>,
    today: Date,
}

impl Stand {
    fn of(desk: &AppState, viewer: &Viewer<'_>) -> Stand {
        let vista = desk.runtime.see(viewer);
        Stand { world: desk.world(), today: vista.view.today(), vista }
    }

    /// One contract in a list.
    async fn row(&self, row: &ViewRow, actor: &Actor) -> Value {
        let states = self.states(&row.entry, actor).await;
        let outlook = Outlook { states, ..Outlook::default() };
        let (state, reason) = match row.shown {
            Visibility::Loaded | Visibility::Blocked(_) => {
                self.vista.snapshot.standing(&row.entry, actor, self.today, &outlook)
            }
            shown => (shown.name(), shown.reason().map(str::to_owned)),
        };
        audience(actor).value(row.entry.listed(state, reason.as_deref(), &outlook.states))
    }

    /// The driver states of a contract.
    async fn states(&self, entry: &CatalogEntry, actor: &Actor) -> DriverStates {
        match &self.world.lookout {
            Some(lookout) => lookout.look(entry, actor, Timestamp::now()).await,
            None => DriverStates::default(),
        }
    }
}

/// Whether an actor may know that a tool exists.
fn is_visible(row: &ViewRow) -> bool {
    !matches!(row.shown, Visibility::Excluded(_) | Visibility::Unknown)
}

/// `GET /v1/catalog`.
pub(super) async fn list(
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    Session(session): Session,
    headers: HeaderMap,
) -> Response {
    let stand = Stand::of(&desk, &Viewer { actor: &actor, within: session.as_slice() });
    let mut tools = Vec::new();
    for row in stand.vista.view.rows().filter(|row| is_visible(row)) {
        tools.push(stand.row(row, &actor).await);
    }
    tagged(&headers, &json!({ "tools": tools }))
}

/// Query of a search.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    q: String,
    limit: Option<usize>,
}

/// `GET /v1/search`.
pub(super) async fn search(
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    Session(session): Session,
    QueryParams(words): QueryParams<Words>,
) -> Result<Json<Value>, Problem> {
    let most = words.limit.unwrap_or(FOUND);
    if !(1..=MOST_FOUND).contains(&most) {
        return Err(Problem::malformed(format!("`limit` is from 1 to {MOST_FOUND}")));
    }
    let viewer = Viewer { actor: &actor, within: session.as_slice() };
    let answer = desk.runtime.search(&viewer, &words.q, most).await?;
    let (stand, mut record) = (Stand::of(&desk, &viewer), answer.record());
    let mut tools = Vec::new();
    for row in answer.matches.iter().filter_map(|found| stand.vista.view.get(&found.tool)) {
        tools.push(stand.row(row, &actor).await);
    }
    if let Some(fields) = record.as_object_mut() {
        fields.insert("tools".to_owned(), Value::Array(tools));
    }
    Ok(Json(record))
}

/// `GET /v1/catalog/{tool}`: one contract with what it inherits and the drivers that serve it.
pub(super) async fn show(
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    Session(session): Session,
    PathParams(name): PathParams<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let stand = Stand::of(&desk, &Viewer { actor: &actor, within: session.as_slice() });
    let Vista { view, snapshot, .. } = &*stand.vista;
    let entry = view.surface().find(&name, snapshot)?;
    if !view.get(entry.contract.key()).is_some_and(is_visible) {
        return Err(view.surface().unknown(&name, snapshot).into());
    }
    let states = stand.states(entry, &actor).await;
    let told = audience(&actor).value(entry.told(stand.today, &states));
    Ok(tagged(&headers, &told))
}

/// `GET /v1/surfaces`: what the caller sees, and why not the rest.
pub(super) async fn surfaces(
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    Session(session): Session,
) -> Json<Value> {
    let vista = desk.runtime.see(&Viewer { actor: &actor, within: session.as_slice() });
    Json(audience(&actor).value(json!({ "surfaces": [vista.record()] })))
}

/// Body of a load.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LoadBody {
    names: Vec<String>,
}

/// `POST /v1/surfaces/load`: the schemas of tools, which are callable from then on.
pub(super) async fn load(
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    Session(session): Session,
    StrictJson(LoadBody { names }): StrictJson<LoadBody>,
) -> Result<Json<Value>, Problem> {
    if !(1..=MOST_LOADED).contains(&names.len()) {
        return Err(Problem::malformed(format!("`names` has from 1 to {MOST_LOADED} names")));
    }
    let viewer = Viewer { actor: &actor, within: session.as_slice() };
    let loading = desk.runtime.load(&viewer, &names).await?;
    let vista = desk.runtime.see(&viewer);
    let schema = |key: &ToolKey| {
        let contract = &vista.view.get(key)?.entry.contract;
        Some(json!({ "tool_id": key, "inputs": contract.model_schema() }))
    };
    Ok(Json(audience(&actor).value(loading.told(schema, vista.record()))))
}

/// A hypothetical call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WhyRequest {
    tool: String,
    input: Option<Value>,
    context: Option<Value>,
    pin: Option<String>,
    #[serde(default)]
    region: Vec<String>,
}

/// `POST /v1/why`: what would become of a call.
pub(super) async fn why(
    State(desk): State<Arc<AppState>>,
    By(actor): By,
    FlawedBody(supposed, flaw): FlawedBody<WhyRequest>,
) -> Result<Json<Value>, Problem> {
    let mut call = Call::new(actor.as_ref().clone(), supposed.tool, Value::Null);
    call.flaw = flaw_of_call(flaw);
    call.pinned = supposed.pin.as_deref().map(DriverId::from);
    call.region = supposed.region;
    if let Some(context) = supposed.context {
        call.context = context;
    }
    let told = desk.runtime.why(&call, supposed.input).await?.to_json();
    Ok(Json(audience(&actor).value(told)))
}
