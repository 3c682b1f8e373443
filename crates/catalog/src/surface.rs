//! Tool surfaces: which tools a caller sees, and whose schemas have been loaded.
//!
//! Everything here is pure: the server keeps three things for each scope, the surface with the
//! loaded schemas, the last [`View`] and the last [`Revision`], and asks in this order:
//!
//! 1. [`Surface::for_viewer`] finds the surface of a caller among those of `haft.toml`, bound to
//!    its turn, task or session, and [`Surface::narrowed`] removes what its model cannot use and
//!    its role must not.
//! 2. [`Surface::view`] evaluates it against a snapshot and the state of the moment: each tool
//!    is loaded, deferred, pending, blocked or excluded, with its reason. A view is worth keeping
//!    until the world, the surface or the moment changes.
//! 3. [`Revision::after`] says whether that is another revision than the last.
//! 4. [`View::search`] answers a search, and [`Surface::load`] puts the schemas of names on the
//!    surface, which gives the next one.
//! 5. [`Surface::admit`] is asked for each call; it does not know providers, because a call to one
//!    that is slow waits, and to one that is gone fails in its own words.

mod load;
mod narrow;
mod view;
mod viewer;

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_model::{CauseDetail, Code, Date, Glob, Lifecycle, Stop, ToolKey};

use crate::{CatalogEntry, Snapshot};
pub use load::Loading;
pub(crate) use narrow::asks_a_person;
pub use narrow::{ModelAbilities, RoleConstraints};
pub use view::{Moment, Provider, Revision, View, ViewRow};
use viewer::Edge;
pub use viewer::Viewer;

/// The tools that one scope of callers sees, and the schemas loaded there.
#[derive(Clone, Debug)]
pub struct Surface {
    /// The surface's id.
    pub id: String,
    /// The scope: `workspace`, `role:agent`, `session:<id>` …
    pub scope: String,
    tools: Vec<Glob>,
    edge: Edge,
    /// Deferred loading above this number of tools; `None` on a surface that defers nothing.
    defer_above: Option<usize>,
    /// Deferred loading above this many bytes of schemas.
    defer_above_bytes: Option<usize>,
    model: ModelAbilities,
    role: RoleConstraints,
    loaded: BTreeSet<ToolKey>,
}

/// The visibility of a tool on a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// Its schema is visible and it can be called.
    Loaded,
    /// It can be found; its schema has to be loaded first.
    Deferred,
    /// It can be found; its provider is unavailable.
    Pending,
    /// It is hidden now, for a reason that could be lifted.
    Blocked(&'static str),
    /// It is not for this scope.
    Excluded(&'static str),
    /// It belongs to another tenant: this surface does not reveal that it exists.
    Unknown,
}

impl Visibility {
    /// The word for machines.
    pub fn name(self) -> &'static str {
        match self {
            Visibility::Loaded => "loaded",
            Visibility::Deferred => "deferred",
            Visibility::Pending => "pending_provider",
            Visibility::Blocked(_) => "blocked",
            Visibility::Excluded(_) => "excluded",
            Visibility::Unknown => "unknown",
        }
    }

    /// Why a tool cannot be called at once.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Visibility::Loaded | Visibility::Unknown => None,
            Visibility::Deferred => Some("deferred_until_discovered"),
            Visibility::Pending => Some("pending_provider"),
            Visibility::Blocked(reason) | Visibility::Excluded(reason) => Some(reason),
        }
    }
}

impl Surface {
    /// A surface on which everything is loaded, whatever its author wished.
    pub fn whole(scope: &str) -> Surface {
        Surface { defer_above: None, ..Surface::new(scope, &["*".to_owned()], 0) }
    }

    /// A surface with the tools of some globs; above `defer_above` of them, schemas are loaded on
    /// request only.
    pub fn new(scope: &str, tools: &[String], defer_above: usize) -> Surface {
        Surface {
            id: id_of(scope),
            scope: scope.to_owned(),
            tools: tools.iter().map(|glob| Glob::new(glob)).collect(),
            edge: Edge::default(),
            defer_above: Some(defer_above),
            defer_above_bytes: None,
            model: ModelAbilities::default(),
            role: RoleConstraints::default(),
            loaded: BTreeSet::new(),
        }
    }

    /// The surface with schemas deferred as well where all of them together are larger than this.
    pub fn deferring_above_bytes(mut self, most: usize) -> Surface {
        self.defer_above_bytes = Some(most);
        self
    }

    /// The surface with what was loaded on it before.
    pub fn holding(self, loaded: BTreeSet<ToolKey>) -> Surface {
        Surface { loaded, ..self }
    }

    /// The tool that a name means to callers on this surface. A name of another tenant's tool
    /// counts as unknown.
    pub fn find<'s>(
        &self,
        name: &str,
        snapshot: &'s Snapshot,
    ) -> Result<&'s Arc<CatalogEntry>, Stop> {
        let known = |entry: &&Arc<CatalogEntry>| self.edge.has(entry.contract.key().id.as_str());
        let found = snapshot.find_called(name, |entry| self.lists(entry));
        found.filter(known).ok_or_else(|| self.unknown(name, snapshot))
    }

    /// The refusal of a name that is unknown on this surface.
    pub fn unknown(&self, name: &str, snapshot: &Snapshot) -> Stop {
        let here = |name: &&str| snapshot.find(name).is_some_and(|entry| self.lists(entry));
        snapshot.unknown_among(name, snapshot.names().filter(here))
    }

    /// The visibility of a tool, ignoring the state of its providers.
    pub fn shows(&self, entry: &CatalogEntry, snapshot: &Snapshot, today: Date) -> Visibility {
        self.shows_where(entry, self.defers(snapshot), today)
    }

    /// Refuses a call of a tool that this surface does not admit.
    pub fn admit(
        &self,
        entry: &CatalogEntry,
        snapshot: &Snapshot,
        today: Date,
    ) -> Result<(), Stop> {
        self.admit_where(entry, snapshot, self.defers(snapshot), today)
    }

    /// Like `admit`, for a caller that already knows whether schemas are deferred.
    pub fn admit_where(
        &self,
        entry: &CatalogEntry,
        snapshot: &Snapshot,
        deferring: bool,
        today: Date,
    ) -> Result<(), Stop> {
        let key = entry.contract.key();
        match self.shows_where(entry, deferring, today) {
            Visibility::Loaded | Visibility::Pending => Ok(()),
            Visibility::Deferred => Err(Stop::new(
                Code::ToolSchemaNotLoaded,
                format!("the schema of `{key}` was not loaded on this surface"),
            )
            .help(format!(
                "load the schema of `{}` (`tool_load`), then call again",
                snapshot.wire_name(key)
            ))
            .because(CauseDetail::Reason("deferred_until_discovered".to_owned()))),
            Visibility::Blocked(reason) | Visibility::Excluded(reason) => Err(Stop::new(
                Code::ToolBlocked,
                format!("`{key}` is not among the tools of `{}`", self.scope),
            )
            .help("ask an admin of the workspace to put it on the surface")
            .because(CauseDetail::Reason(reason.to_owned()))),
            // The same answer as for an unknown name, without a suggestion.
            Visibility::Unknown => {
                Err(Stop::new(Code::ToolUnknown, format!("there is no tool `{}`", key.id))
                    .help("`haft tools` lists those that there are"))
            }
        }
    }

    /// How many tools are loaded, deferred, blocked and excluded.
    pub fn counts(&self, snapshot: &Snapshot, today: Date) -> [usize; 4] {
        let deferring = self.defers(snapshot);
        let mut counts = [0; 4];
        for entry in snapshot.entries() {
            let slot = match (entry.blocked(today), self.shows_where(entry, deferring, today)) {
                (_, Visibility::Unknown) => continue,
                (_, Visibility::Excluded(_)) => 3,
                (Some(_), _) | (None, Visibility::Blocked(_)) => 2,
                (None, Visibility::Deferred | Visibility::Pending) => 1,
                (None, Visibility::Loaded) => 0,
            };
            if let Some(count) = counts.get_mut(slot) {
                *count += 1;
            }
        }
        counts
    }

    /// The visibility of a tool, once it is known whether schemas are deferred.
    fn shows_where(&self, entry: &CatalogEntry, deferring: bool, today: Date) -> Visibility {
        let key = entry.contract.key();
        if !self.edge.has(key.id.as_str()) {
            return Visibility::Unknown;
        }
        if !self.lists(entry) {
            return Visibility::Excluded("role_not_allowed");
        }
        if let Some(reason) = self.role.excludes(entry).or_else(|| self.model.excludes(entry)) {
            return Visibility::Excluded(reason);
        }
        let wished = entry.lifecycle(today) == Lifecycle::Deferred && self.defer_above.is_some();
        let always = entry.contract.tool.extras.always_load;
        if (wished || deferring) && !always && !self.loaded.contains(key) {
            return Visibility::Deferred;
        }
        Visibility::Loaded
    }

    /// Whether the surface is large enough for deferred loading.
    pub fn defers(&self, snapshot: &Snapshot) -> bool {
        let Some(most) = self.defer_above else { return false };
        let mine = || snapshot.entries().filter(|entry| self.lists(entry));
        let many = mine().count() > most;
        many || self.defer_above_bytes.is_some_and(|most| {
            let mut bytes = mine().map(|entry| narrow::schema_bytes(entry));
            let larger = bytes.try_fold(0, |sum, next| Some(sum + next).filter(|sum| *sum <= most));
            larger.is_none()
        })
    }

    fn lists(&self, entry: &CatalogEntry) -> bool {
        let id = entry.contract.key().id.as_str();
        self.edge.has(id) && self.tools.iter().any(|glob| glob.matches(id))
    }
}

fn id_of(scope: &str) -> String {
    format!("srf_{}", scope.replace(':', "_"))
}
