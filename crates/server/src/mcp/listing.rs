//! Tool list: the tools that one actor sees, paginated for `tools/list`.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use haft_catalog::export::{Format, export};
use haft_catalog::{Snapshot, Viewer};
use haft_model::{Actor, Digest, ToolKey};
use haft_runtime::Vista;
use rmcp::ErrorData;
use rmcp::model::{CacheScope, JsonObject, ListToolsResult, Tool};
use serde_json::Value;

use super::deferred;
use crate::deferred::Own;
use crate::{AppState, functions};

/// Page size, in tools.
const PAGE: usize = 200;

/// Cache lifetime for clients, in milliseconds: subscribers are notified of changes.
pub(super) const FRESH_MS: u64 = 60_000;

/// Most cached listings.
const MOST_LISTINGS: usize = 64;

/// The tools of one surface.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    tools: Vec<Tool>,
    /// Index of each tool in the list, by every name that it can be called by.
    places: HashMap<String, usize>,
    /// Tools whose arguments headers repeat.
    repeating: HashSet<String>,
    /// The contract id behind each name.
    names: HashMap<String, String>,
    /// Whether tools are deferred, so that our own tools are listed to find them.
    partial: bool,
}

/// Cache of listings; a new snapshot empties it.
#[derive(Default)]
pub(crate) struct Listings(Mutex<CachedList>);

#[derive(Default)]
struct CachedList {
    /// The snapshot they were made from.
    snapshot: Weak<Snapshot>,
    listings: HashMap<Digest, Arc<Listing>>,
}

impl AppState {
    /// The current listing of a viewer.
    pub(crate) fn listing(&self, viewer: &Viewer<'_>) -> Arc<Listing> {
        self.listed(&self.runtime.see(viewer))
    }

    /// The viewer's last listing if it has a tool of this name, which is cheaper, and else the
    /// current one. The call itself decides what may be called.
    pub(crate) fn listing_with(&self, viewer: &Viewer<'_>, name: &str) -> Arc<Listing> {
        let last = self.runtime.saw(viewer).map(|vista| self.listed(&vista));
        let last = last.filter(|listing| listing.find(name).is_some());
        last.unwrap_or_else(|| self.listing(viewer))
    }

    fn listed(&self, vista: &Vista) -> Arc<Listing> {
        let mut made = self.listings.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = std::ptr::eq(made.snapshot.as_ptr(), Arc::as_ptr(&vista.snapshot));
        if !same || made.listings.len() >= MOST_LISTINGS {
            let snapshot = Arc::downgrade(&vista.snapshot);
            *made = CachedList { snapshot, listings: HashMap::new() };
        }
        let listing = made.listings.entry(vista.revision.digest.clone());
        listing.or_insert_with(|| Arc::new(Listing::of(vista))).clone()
    }
}

impl Listing {
    fn of(vista: &Vista) -> Listing {
        let names = vista.snapshot.wire_names();
        let exported = export(Format::Mcp, &functions::offers(vista), names);
        let tools = exported.document.get("tools").cloned().unwrap_or_default();
        let mut tools: Vec<Tool> = serde_json::from_value(tools).unwrap_or_default();
        let partial = vista.view.defers();
        if partial {
            tools.splice(0..0, deferred::tools().iter().cloned());
        }
        let places = tools.iter().enumerate();
        let places = places.map(|(place, tool)| (tool.name.to_string(), place)).collect();
        let places = with_other_names(places, &exported.names, vista);
        let repeating = tools.iter().filter(|tool| has_headers(&tool.input_schema));
        let repeating = repeating.map(|tool| tool.name.to_string()).collect();
        Listing {
            tools,
            places,
            repeating,
            names: exported.names.into_iter().map(|(name, key)| (name, key.to_string())).collect(),
            partial,
        }
    }

    /// Our own tool that a name means here.
    pub(super) fn own(&self, name: &str) -> Option<Own> {
        Own::named(name).filter(|_| self.partial)
    }

    /// The declaration of a tool.
    pub(super) fn declared(&self, key: &ToolKey) -> Option<&Tool> {
        let key = key.to_string();
        let (name, _) = self.names.iter().find(|(_, of)| **of == key)?;
        self.tools.iter().find(|tool| tool.name == *name)
    }

    /// Pagination: the tools after a cursor.
    pub(super) fn page(&self, cursor: Option<String>) -> Result<ListToolsResult, ErrorData> {
        let from = match cursor.as_deref() {
            None => 0,
            Some(text) => {
                text.parse().ok().filter(|from| *from <= self.tools.len()).ok_or_else(|| {
                    ErrorData::invalid_params(format!("there is no page `{text}`"), None)
                })?
            }
        };
        let tools: Vec<_> = self.tools.iter().skip(from).take(PAGE).cloned().collect();
        let next = from + tools.len();
        let more = next < self.tools.len();
        let mut result = ListToolsResult::with_all_items(tools);
        result.next_cursor = more.then(|| next.to_string());
        result.ttl_ms = Some(FRESH_MS);
        // Another actor may see other tools.
        result.cache_scope = Some(CacheScope::Private);
        Ok(result)
    }

    /// The contract id behind a name of this list; an unlisted name is looked up as it is.
    pub(super) fn tool(&self, name: &str) -> String {
        self.names.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    /// A tool by any name that it can be called by.
    pub(super) fn find(&self, name: &str) -> Option<&Tool> {
        self.tools.get(*self.places.get(name)?)
    }

    /// Whether a tool is read-only.
    pub(super) fn only_reads(&self, name: &str) -> bool {
        let said = self.find(name).and_then(|tool| tool.annotations.as_ref());
        said.is_some_and(|said| said.read_only_hint == Some(true))
    }

    /// Whether headers have to repeat arguments of a tool.
    pub(super) fn repeats_arguments(&self, name: &str) -> bool {
        self.find(name).is_some_and(|tool| self.repeating.contains(&*tool.name))
    }

    /// Whether a tool has an output schema.
    pub(super) fn promises(&self, name: &str) -> bool {
        self.find(name).is_some_and(|tool| tool.output_schema.is_some())
    }
}

/// The places of tools by their wire names, and by their ids and their backends' names as well.
fn with_other_names(
    mut places: HashMap<String, usize>,
    listed: &[(String, ToolKey)],
    vista: &Vista,
) -> HashMap<String, usize> {
    let mut others: HashMap<String, HashSet<usize>> = HashMap::new();
    for (name, key) in listed {
        let (Some(row), Some(&place)) = (vista.view.get(key), places.get(name)) else { continue };
        let backend = row.entry.backend_names().into_iter().map(str::to_owned);
        for other in backend.chain([key.to_string()]) {
            others.entry(other).or_default().insert(place);
        }
        if vista.snapshot.find(key.id.as_str()).is_some_and(|main| main.contract.key() == key) {
            others.entry(key.id.to_string()).or_default().insert(place);
        }
    }
    for (other, meant) in others {
        if let (1, Some(place)) = (meant.len(), meant.into_iter().next()) {
            places.entry(other).or_insert(place);
        }
    }
    places
}

/// Whether a schema has a property that a header repeats.
fn has_headers(schema: &JsonObject) -> bool {
    fn within(value: &Value) -> bool {
        match value {
            Value::Object(fields) => has_headers(fields),
            Value::Array(items) => items.iter().any(within),
            _ => false,
        }
    }
    schema.contains_key("x-mcp-header") || schema.values().any(within)
}

/// The list that a viewer saw last, to detect changes.
pub(super) struct LastSeenList {
    desk: Arc<AppState>,
    actor: Arc<Actor>,
    within: Option<String>,
    snapshot: Weak<Snapshot>,
    revision: u64,
}

impl LastSeenList {
    pub(super) fn new(
        desk: &Arc<AppState>,
        actor: Arc<Actor>,
        within: Option<String>,
    ) -> LastSeenList {
        let (desk, snapshot) = (desk.clone(), Weak::new());
        let mut seen = LastSeenList { desk, actor, within, snapshot, revision: 0 };
        seen.changed();
        seen
    }

    /// Whether the list changed since the last check.
    pub(super) fn changed(&mut self) -> bool {
        let viewer = Viewer { actor: &self.actor, within: self.within.as_slice() };
        let vista = self.desk.runtime.see(&viewer);
        let same = std::ptr::eq(self.snapshot.as_ptr(), Arc::as_ptr(&vista.snapshot))
            && self.revision == vista.revision.number;
        (self.snapshot, self.revision) = (Arc::downgrade(&vista.snapshot), vista.revision.number);
        !same
    }
}
