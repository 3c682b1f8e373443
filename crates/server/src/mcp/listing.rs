//! The tools that one actor sees, as `tools/list` has them.

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
use crate::{Desk, functions};

/// How many tools are told at once.
const PAGE: usize = 200;

/// How long a client may keep a list: changes are told to those who listen.
pub(super) const FRESH_MS: u64 = 60_000;

/// How many listings are kept made.
const MOST_LISTINGS: usize = 64;

/// The tools that one surface shows.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    tools: Vec<Tool>,
    /// Where each tool stands in the list.
    places: HashMap<String, usize>,
    /// The tools of which headers repeat arguments.
    repeating: HashSet<String>,
    /// The contract behind each name.
    names: HashMap<String, String>,
    /// Whether something is left out, so that ours are there to find it by.
    partial: bool,
}

/// The listings that were made, for as long as nothing changes.
#[derive(Default)]
pub(crate) struct Listings(Mutex<CachedList>);

#[derive(Default)]
struct CachedList {
    /// What they were made of.
    snapshot: Weak<Snapshot>,
    listings: HashMap<Digest, Arc<Listing>>,
}

impl Desk {
    /// What somebody sees.
    pub(crate) fn listing(&self, viewer: &Viewer<'_>) -> Arc<Listing> {
        self.listed(&self.runtime.see(viewer))
    }

    /// What somebody saw last where that has a tool of this name, which is cheaper, and what they see
    /// now where it has not. What may be called is decided by the call.
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
        let exported = export(Format::Mcp, &functions::offers(vista));
        let tools = exported.document.get("tools").cloned().unwrap_or_default();
        let mut tools: Vec<Tool> = serde_json::from_value(tools).unwrap_or_default();
        let partial = vista.view.defers();
        if partial {
            // A contract that has the name of one of ours is called by its id.
            tools.retain(|tool| Own::named(&tool.name).is_none());
            tools.splice(0..0, deferred::tools().iter().cloned());
        }
        let places = tools.iter().enumerate();
        let places = places.map(|(place, tool)| (tool.name.to_string(), place)).collect();
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

    /// The tool of ours that a name means here.
    pub(super) fn own(&self, name: &str) -> Option<Own> {
        Own::named(name).filter(|_| self.partial)
    }

    /// A tool as the list has it.
    pub(super) fn declared(&self, key: &ToolKey) -> Option<&Tool> {
        let key = key.to_string();
        let (name, _) = self.names.iter().find(|(_, of)| **of == key)?;
        self.tools.iter().find(|tool| tool.name == *name)
    }

    /// The tools from a place on.
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
        // Somebody else may see other tools.
        result.cache_scope = Some(CacheScope::Private);
        Ok(result)
    }

    /// The tool that a name on this list means; another name is looked up as it is.
    pub(super) fn tool(&self, name: &str) -> String {
        self.names.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    /// One tool, as it is listed.
    pub(super) fn find(&self, name: &str) -> Option<&Tool> {
        self.tools.get(*self.places.get(name)?)
    }

    /// Whether a tool only reads.
    pub(super) fn only_reads(&self, name: &str) -> bool {
        let said = self.find(name).and_then(|tool| tool.annotations.as_ref());
        said.is_some_and(|said| said.read_only_hint == Some(true))
    }

    /// Whether headers have to repeat arguments of a tool.
    pub(super) fn repeats_arguments(&self, name: &str) -> bool {
        self.repeating.contains(name)
    }

    /// Whether a tool promises a value of some schema.
    pub(super) fn promises(&self, name: &str) -> bool {
        self.find(name).is_some_and(|tool| tool.output_schema.is_some())
    }
}

/// Whether anything in a schema is to be repeated in a header.
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

/// What somebody saw last, for whoever has to tell them that it is something else now.
pub(super) struct LastSeenList {
    desk: Arc<Desk>,
    actor: Arc<Actor>,
    within: Option<String>,
    snapshot: Weak<Snapshot>,
    revision: u64,
}

impl LastSeenList {
    pub(super) fn new(desk: &Arc<Desk>, actor: Arc<Actor>, within: Option<String>) -> LastSeenList {
        let (desk, snapshot) = (desk.clone(), Weak::new());
        let mut seen = LastSeenList { desk, actor, within, snapshot, revision: 0 };
        seen.changed();
        seen
    }

    /// Whether it is something else than the last time.
    pub(super) fn changed(&mut self) -> bool {
        let viewer = Viewer { actor: &self.actor, within: self.within.as_slice() };
        let vista = self.desk.runtime.see(&viewer);
        let same = std::ptr::eq(self.snapshot.as_ptr(), Arc::as_ptr(&vista.snapshot))
            && self.revision == vista.revision.number;
        (self.snapshot, self.revision) = (Arc::downgrade(&vista.snapshot), vista.revision.number);
        !same
    }
}
