//! The tools that one actor sees, as `tools/list` has them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use haft_catalog::Surface;
use haft_catalog::export::{Format, export};
use haft_model::{Actor, Date, Timestamp, utc_day};
use haft_runtime::World;
use rmcp::ErrorData;
use rmcp::model::{CacheScope, ListToolsResult, Tool};

use crate::{Desk, functions};

/// How many tools are told at once.
const PAGE: usize = 200;

/// How long a client may keep a list: changes are told to those who listen.
pub(super) const FRESH_MS: u64 = 60_000;

/// The tools that one surface shows.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    tools: Vec<Tool>,
    /// The contract behind each name.
    names: HashMap<String, String>,
}

/// The listings that were made, for as long as nothing changes.
#[derive(Default)]
pub(crate) struct Listings(Mutex<Made>);

#[derive(Default)]
struct Made {
    /// What they were made of.
    world: Weak<World>,
    day: Option<Date>,
    listings: HashMap<(String, u64), Arc<Listing>>,
}

impl Desk {
    /// What an actor sees.
    pub(crate) fn listing(&self, actor: &Actor) -> Arc<Listing> {
        let world = self.world();
        let surface = self.runtime.surface_of(actor);
        let today = utc_day(Timestamp::now());
        let mut made = self.listings.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::ptr::eq(made.world.as_ptr(), Arc::as_ptr(&world)) || made.day != Some(today) {
            *made =
                Made { world: Arc::downgrade(&world), day: Some(today), listings: HashMap::new() };
        }
        let key = (surface.id.clone(), surface.revision);
        let listing = made.listings.entry(key);
        listing.or_insert_with(|| Arc::new(Listing::of(&world, &surface, today))).clone()
    }
}

impl Listing {
    fn of(world: &World, surface: &Surface, today: Date) -> Listing {
        let offers = functions::offers(world, surface, today);
        let exported = export(Format::Mcp, &offers);
        let tools = exported.document.get("tools").cloned().unwrap_or_default();
        Listing {
            tools: serde_json::from_value(tools).unwrap_or_default(),
            names: exported.names.into_iter().map(|(name, key)| (name, key.to_string())).collect(),
        }
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

    /// Whether a tool promises a value of some schema.
    pub(super) fn promises(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name && tool.output_schema.is_some())
    }
}
