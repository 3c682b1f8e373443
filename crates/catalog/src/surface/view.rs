//! Surface view: a surface evaluated against a snapshot and the state of its providers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use haft_model::record::SCHEMA_VERSION;
use haft_model::{AuthState, Date, Digest, DriverId, ToolKey};
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::{Surface, Visibility};
use crate::state::{DriverStates, Probe};
use crate::{Binding, CatalogEntry, Snapshot};

/// The state of the world at the moment of a view.
#[derive(Clone, Copy)]
pub struct Moment<'m> {
    /// The day in UTC, which decides about lifecycles.
    pub today: Date,
    /// Unavailable providers; all others are available.
    pub providers: &'m BTreeMap<DriverId, Provider>,
    /// Open circuit breakers, as pairs of driver and tool.
    pub resting: Option<&'m BTreeSet<(DriverId, ToolKey)>>,
    /// The state of drivers, for the caller of this view.
    pub states: Option<&'m DriverStates>,
    /// The rules' denials for this caller whatever the input, with the reason.
    pub denied: &'m dyn Fn(&CatalogEntry) -> Option<&'static str>,
}

impl<'m> Moment<'m> {
    /// A day on which these providers are missing and no rule speaks.
    pub fn on(today: Date, providers: &'m BTreeMap<DriverId, Provider>) -> Moment<'m> {
        Moment { today, providers, resting: None, states: None, denied: &|_| None }
    }

    /// Why a driver is not there for a tool.
    fn missing(&self, driver: &DriverId, entry: &CatalogEntry) -> Option<Provider> {
        let rests = |resting: &BTreeSet<_>| {
            !resting.is_empty() && resting.contains(&(driver.clone(), entry.contract.key().clone()))
        };
        let gone = || self.resting.is_some_and(rests).then_some(Provider::Gone);
        self.providers.get(driver).copied().or_else(gone)
    }
}

/// Why a provider is unavailable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// It was started and has not answered yet.
    Connecting,
    /// It is slow, dead, or could not be started.
    Gone,
}

/// One tool in a view.
#[derive(Clone, Debug)]
pub struct ViewRow {
    /// The tool's catalog entry.
    pub entry: Arc<CatalogEntry>,
    /// The name that clients and models call it by.
    pub name: Arc<str>,
    /// The tool's visibility.
    pub shown: Visibility,
}

/// Everything that one scope of callers sees. Tools of other tenants are absent.
#[derive(Clone, Debug)]
pub struct View {
    pub(crate) today: Date,
    surface: Surface,
    rows: BTreeMap<ToolKey, ViewRow>,
    missing: BTreeMap<DriverId, Provider>,
    digest: Digest,
    defers: bool,
}

/// The revision number of a view: it changes if and only if the view does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Counts from one.
    pub number: u64,
    /// The digest of the whole view.
    pub digest: Digest,
}

impl Revision {
    /// The revision of a view that follows another of the same scope.
    pub fn after(before: Option<&Revision>, view: &View) -> Revision {
        let number = match before {
            None => 1,
            Some(before) if before.digest == view.digest => before.number,
            Some(before) => before.number + 1,
        };
        Revision { number, digest: view.digest.clone() }
    }
}

impl Surface {
    /// Evaluates the surface now.
    pub fn view(&self, snapshot: &Snapshot, moment: &Moment<'_>) -> View {
        let deferring = self.defers(snapshot);
        let mut rows = BTreeMap::new();
        let mut missing = BTreeMap::new();
        for entry in snapshot.entries() {
            let shown = match self.shows_where(entry, deferring, moment.today) {
                Visibility::Unknown => continue,
                excluded @ Visibility::Excluded(_) => excluded,
                shown => match blocked(entry, moment) {
                    Some(reason) => Visibility::Blocked(reason),
                    None if is_pending(entry, moment) => Visibility::Pending,
                    None => shown,
                },
            };
            if shown == Visibility::Pending {
                let named = usable(entry).map(|binding| &binding.driver.id);
                let gone = |id: &DriverId| Some((id.clone(), moment.missing(id, entry)?));
                missing.extend(named.filter_map(gone));
            }
            let key = entry.contract.key();
            let row = ViewRow { entry: entry.clone(), name: snapshot.wire_name(key), shown };
            rows.insert(key.clone(), row);
        }
        let digest = digest(self, &rows);
        let left_out = rows.values().any(|row| row.shown == Visibility::Deferred);
        let defers = deferring || left_out || !self.loaded.is_empty();
        View { today: moment.today, surface: self.clone(), rows, missing, digest, defers }
    }
}

/// The claims that hold.
fn usable(entry: &CatalogEntry) -> impl Iterator<Item = &Binding> {
    entry.bindings.iter().filter(|binding| binding.refused.is_none())
}

/// Whether every provider that could serve a tool is unavailable.
fn is_pending(entry: &CatalogEntry, moment: &Moment<'_>) -> bool {
    let mut drivers = usable(entry).map(|binding| &binding.driver.id).peekable();
    drivers.peek().is_some() && drivers.all(|id| moment.missing(id, entry).is_some())
}

/// Why a tool is hidden though it is for this scope.
fn blocked(entry: &CatalogEntry, moment: &Moment<'_>) -> Option<&'static str> {
    let own = entry.blocked(moment.today).map(|block| block.reason);
    own.or_else(|| (moment.denied)(entry)).or_else(|| {
        let mut reasons = usable(entry).map(|binding| not_ready(binding, moment)).peekable();
        match reasons.peek() {
            None => Some("setup_required"),
            Some(first) => first.filter(|_| reasons.all(|reason| reason.is_some())),
        }
    })
}

/// Why a driver is not ready.
fn not_ready(binding: &Binding, moment: &Moment<'_>) -> Option<&'static str> {
    let state = moment.states?.get(&binding.driver.id)?;
    let failed = |probe: &Probe| matches!(probe, Probe::Failed(_));
    if failed(&state.installed) || failed(&state.version) {
        Some("setup_required")
    } else if matches!(state.auth, AuthState::LoggedOut | AuthState::Expired) {
        Some("credential_missing")
    } else {
        None
    }
}

fn digest(surface: &Surface, rows: &BTreeMap<ToolKey, ViewRow>) -> Digest {
    let seen = rows.iter().map(|(key, ViewRow { entry, name, shown })| {
        // A part of a tool that the view hides can change without a new revision.
        let schema = (*shown == Visibility::Loaded).then(|| entry.schema_digest().as_str());
        (key.to_string(), &**name, shown.name(), shown.reason(), schema)
    });
    let seen: Vec<_> = seen.collect();
    Digest::of(&(&surface.scope, &surface.model, &surface.role, seen))
}

impl View {
    /// The surface that is seen.
    pub fn surface(&self) -> &Surface {
        &self.surface
    }

    /// One tool, if it is known here.
    pub fn get(&self, tool: &ToolKey) -> Option<&ViewRow> {
        self.rows.get(tool)
    }

    /// All tools that are known here, by id and major.
    pub fn rows(&self) -> impl Iterator<Item = &ViewRow> {
        self.rows.values()
    }

    /// The tools whose schemas are shown.
    pub fn loaded(&self) -> impl Iterator<Item = &Arc<CatalogEntry>> {
        self.rows().filter(|row| row.shown == Visibility::Loaded).map(|row| &row.entry)
    }

    /// The providers of pending tools that are not there.
    pub fn missing_providers(&self) -> &BTreeMap<DriverId, Provider> {
        &self.missing
    }

    /// The day on which it is seen.
    pub fn today(&self) -> Date {
        self.today
    }

    /// Whether schemas are, or were, loaded on request only.
    pub fn defers(&self) -> bool {
        self.defers
    }

    /// The digest of everything that is seen.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// How many tools are loaded, deferred, blocked and excluded; pending ones are deferred.
    pub fn counts(&self) -> [usize; 4] {
        let [mut loaded, mut deferred, mut blocked, mut excluded] = [0; 4];
        for row in self.rows() {
            match row.shown {
                Visibility::Loaded => loaded += 1,
                Visibility::Deferred | Visibility::Pending => deferred += 1,
                Visibility::Blocked(_) => blocked += 1,
                Visibility::Excluded(_) => excluded += 1,
                Visibility::Unknown => {}
            }
        }
        [loaded, deferred, blocked, excluded]
    }

    /// The record of Agent Tool (`tool_surface`): four sets that have no tool in common.
    pub fn record(&self, revision: &Revision, created_at: &str) -> Json {
        let rows_of = |name: &'static [&'static str]| {
            self.rows.iter().filter(move |(_, row)| name.contains(&row.shown.name()))
        };
        let ids = |rows: &mut dyn Iterator<Item = (&ToolKey, &ViewRow)>| -> Vec<String> {
            rows.map(|(key, _)| key.to_string()).collect()
        };
        let with_reasons = |name: &'static [&'static str]| -> Vec<Json> {
            let reason = |(key, row): (&ToolKey, &ViewRow)| json!({ "tool_id": key.to_string(), "reason": row.shown.reason() });
            rows_of(name).map(reason).collect()
        };
        let deferred: Vec<Json> = rows_of(&["deferred", "pending_provider"])
            .map(|(_, row)| self.deferred_ref(row))
            .collect();
        json!({
            "schema_version": SCHEMA_VERSION,
            "surface_id": self.surface.id,
            "revision": revision.number,
            "digest": self.digest.as_str(),
            "scope": self.surface.scope,
            "created_at": created_at,
            "producer": "haft",
            "tool_refs": ids(&mut self.rows.iter()),
            "loaded_tools": ids(&mut rows_of(&["loaded"])),
            "deferred_tools": deferred,
            "blocked_tools": with_reasons(&["blocked"]),
            "excluded_tools": with_reasons(&["excluded"]),
            "selection_policy": {
                "defer_above": self.surface.defer_above,
                "defer_above_bytes": self.surface.defer_above_bytes,
            },
            "default_tool_choice": "auto",
            "model_capabilities": self.surface.model,
            "role_constraints": self.surface.role,
        })
    }

    /// A tool that can be found and has no schema here (`deferred_tool_ref`).
    pub(crate) fn deferred_ref(&self, row: &ViewRow) -> Json {
        let key = row.entry.contract.key();
        let (namespace, name) = key.id.as_str().rsplit_once('.').unwrap_or(("", key.id.as_str()));
        let missing: BTreeSet<&str> = usable(&row.entry)
            .map(|binding| &binding.driver.id)
            .filter(|id| row.shown == Visibility::Pending && self.missing.contains_key(*id))
            .map(DriverId::as_str)
            .collect();
        let mut record = json!({
            "schema_version": SCHEMA_VERSION,
            "tool_id": key.to_string(),
            "name": name,
            "namespace": namespace,
            "search_hint": row.entry.contract.tool.extras.search_hint,
            "schema_visibility": "deferred",
            "loading_state": row.shown.name(),
            "reason": row.shown.reason(),
            "pending_provider_or_server": missing.first(),
            "selection_ref": format!("select:{key}"),
            "native_ref": { "wire_name": &*row.name },
        });
        if let Some(fields) = record.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        record
    }
}
