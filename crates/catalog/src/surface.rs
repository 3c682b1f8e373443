//! Surfaces: which tools a caller sees, and whose schemas have been loaded.

use std::collections::BTreeSet;

use haft_model::{Code, Date, Glob, Lifecycle, Stop, ToolKey};
use serde_json::json;

use crate::{Entry, Snapshot};

/// What one scope of callers sees. A change makes a new revision.
#[derive(Clone, Debug)]
pub struct Surface {
    /// Its id.
    pub id: String,
    /// How often it changed.
    pub revision: u64,
    /// For what: `workspace`, `role:agent`, `session:<id>` …
    pub scope: String,
    tools: Vec<Glob>,
    /// From how many tools on schemas are deferred; none on a surface that defers nothing.
    defer_above: Option<usize>,
    loaded: BTreeSet<ToolKey>,
}

/// Where a tool stands on a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Its schema is visible and it can be called.
    Loaded,
    /// It can be found; its schema has to be loaded first.
    Deferred,
    /// It is not for this scope.
    Excluded(&'static str),
}

impl Surface {
    /// A surface on which everything is loaded, whatever its author wished.
    pub fn whole(scope: &str) -> Surface {
        Surface { defer_above: None, ..Surface::new(scope, &["*".to_owned()], 0) }
    }

    /// A surface with the tools of some globs; with more than `defer_above` of them, schemas are
    /// loaded only when asked for.
    pub fn new(scope: &str, tools: &[String], defer_above: usize) -> Surface {
        Surface {
            id: format!("srf_{}", scope.replace(':', "_")),
            revision: 1,
            scope: scope.to_owned(),
            tools: tools.iter().map(|glob| Glob::new(glob)).collect(),
            defer_above: Some(defer_above),
            loaded: BTreeSet::new(),
        }
    }

    /// The surface once a tool's schema is loaded.
    pub fn with(&self, tool: &ToolKey) -> Surface {
        let mut next = self.clone();
        if next.loaded.insert(tool.clone()) {
            next.revision += 1;
        }
        next
    }

    /// Where a tool stands.
    pub fn shows(&self, entry: &Entry, snapshot: &Snapshot, today: Date) -> Shown {
        let key = entry.contract.key();
        if !self.tools.iter().any(|glob| glob.matches(key.id.as_str())) {
            return Shown::Excluded("role_not_allowed");
        }
        let Some(most) = self.defer_above else { return Shown::Loaded };
        let wished = entry.lifecycle(today) == Lifecycle::Deferred;
        if !self.loaded.contains(key) && (wished || self.count(snapshot) > most) {
            return Shown::Deferred;
        }
        Shown::Loaded
    }

    /// Refuses a tool that cannot be called from here.
    pub fn admit(&self, entry: &Entry, snapshot: &Snapshot, today: Date) -> Result<(), Stop> {
        let key = entry.contract.key();
        match self.shows(entry, snapshot, today) {
            Shown::Loaded => Ok(()),
            Shown::Deferred => Err(Stop::new(
                Code::ToolSchemaNotLoaded,
                format!("the schema of `{key}` was not loaded on this surface"),
            )
            .help(format!("search for `select:{key}` and load it, then call again"))
            .because(json!({ "reason": "deferred_until_discovered" }))),
            Shown::Excluded(reason) => Err(Stop::new(
                Code::ToolBlocked,
                format!("`{key}` is not among the tools of `{}`", self.scope),
            )
            .help("ask whoever runs the workspace to put it on the surface")
            .because(json!({ "reason": reason }))),
        }
    }

    /// How many tools are loaded, deferred, blocked and excluded.
    pub fn counts(&self, snapshot: &Snapshot, today: Date) -> [usize; 4] {
        let mut counts = [0; 4];
        for entry in snapshot.entries() {
            let slot = match (entry.blocked(today), self.shows(entry, snapshot, today)) {
                (_, Shown::Excluded(_)) => 3,
                (Some(_), Shown::Loaded | Shown::Deferred) => 2,
                (None, Shown::Deferred) => 1,
                (None, Shown::Loaded) => 0,
            };
            if let Some(count) = counts.get_mut(slot) {
                *count += 1;
            }
        }
        counts
    }

    fn count(&self, snapshot: &Snapshot) -> usize {
        let mine = |entry: &Entry| {
            let id = entry.contract.key().id.as_str();
            self.tools.iter().any(|glob| glob.matches(id))
        };
        snapshot.entries().filter(|entry| mine(entry)).count()
    }
}
