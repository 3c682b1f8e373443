//! Surface state per scope of callers: loaded schemas (deferred loading), discovered tools and the
//! last view.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use haft_catalog::{
    CatalogEntry, DriverStates, Health, Index, Moment, Provider, Revision, Snapshot, Surface, View,
    Viewer,
};
use haft_model::{Actor, Date, DriverId, Event, Stop, SurfaceSeen, Timestamp, ToolKey, utc_day};
use haft_policy::Targets;
use haft_policy::rules::{Subject, denies_always};
use serde_json::Value as Json;

use crate::{Runtime, World};

/// Greatest number of scopes; beyond it the least recently used one is evicted.
const MOST_SCOPES: usize = 4096;

/// Greatest number of cached views, each as large as the catalog.
const MOST_VIEWS: usize = 64;

/// Seconds until an unused scope expires.
const IDLE: i64 = 12 * 60 * 60;

/// What one scope of callers sees, with its revision.
pub struct Vista {
    /// The visible tools and their availability.
    pub view: View,
    /// Revision of the view.
    pub revision: Revision,
    /// Catalog snapshot that the view is made from.
    pub snapshot: Arc<Snapshot>,
    /// Time at which the revision was created.
    since: Timestamp,
}

impl Vista {
    /// The view as an Agent Tool record (`tool_surface`).
    pub fn record(&self) -> Json {
        self.view.record(&self.revision, &self.since.to_string())
    }
}

/// Surface that a call is checked against.
#[derive(Clone)]
pub(crate) struct Ground {
    pub(crate) surface: Arc<Surface>,
    /// The surface defers schemas: it is too large to show them all.
    deferring: bool,
    /// Revision that the scope saw last.
    pub(crate) revision: u64,
}

impl Ground {
    /// Refuses a tool that the surface does not offer or has not loaded.
    pub(crate) fn admit(
        &self,
        entry: &CatalogEntry,
        snapshot: &Snapshot,
        today: Date,
    ) -> Result<(), Stop> {
        self.surface.admit_where(entry, snapshot, self.deferring, today)
    }
}

/// Surface states by scope, with the search index of the current snapshot.
#[derive(Default)]
pub(crate) struct SurfaceStates {
    all: Mutex<HashMap<String, Scope>>,
    index: Mutex<Option<(Weak<Snapshot>, Arc<Index>)>>,
}

/// Surface state of one scope.
#[derive(Default)]
pub(crate) struct Scope {
    used: Option<Timestamp>,
    /// Tools whose schemas were loaded, and tools that a search found.
    pub(crate) loaded: BTreeSet<ToolKey>,
    pub(crate) discovered: BTreeSet<ToolKey>,
    /// The ledger holds a record of the surface.
    pub(crate) recorded: bool,
    revision: Option<Revision>,
    /// Time at which the revision was created.
    since: Option<Timestamp>,
    ground: Option<(Weak<World>, Ground)>,
    vista: Option<(ViewInputs, Arc<Vista>)>,
    /// Tools that the rules deny for every input.
    denied: Option<(Weak<World>, Arc<BTreeSet<ToolKey>>)>,
    /// Actor and session scopes, to rebuild the view after a reload.
    whose: Option<(Actor, Vec<String>)>,
    /// Last view that was compared for changes.
    seen: Option<SurfaceSeen>,
}

/// Inputs of a view beside the world and the surface: the cache key.
#[derive(PartialEq)]
struct ViewInputs {
    today: Date,
    states: DriverStates,
    providers: BTreeMap<DriverId, Provider>,
    /// Open circuit breakers, by driver and tool.
    resting: BTreeSet<(DriverId, ToolKey)>,
    /// Tools whose every driver lacks a login.
    logged_out: BTreeSet<ToolKey>,
}

impl Scope {
    fn is_fresh(&self, now: Timestamp) -> bool {
        self.used.is_some_and(|used| now.as_second() - used.as_second() < IDLE)
    }

    /// Invalidates the cached surface and view.
    pub(crate) fn changed(&mut self) {
        (self.ground, self.vista) = (None, None);
    }

    fn ground(&mut self, world: &Arc<World>, viewer: &Viewer<'_>) -> Ground {
        if let Some((of, ground)) = &self.ground
            && std::ptr::eq(of.as_ptr(), Arc::as_ptr(world))
        {
            return ground.clone();
        }
        let mut surface = Surface::for_viewer(&world.surfaces, viewer);
        if viewer.within.is_empty() {
            // An agent's loaded schemas are not visible to another agent of the same role.
            surface = surface.bound_to(&format!("actor:{}", viewer.actor.id));
        }
        let surface = Arc::new(surface.holding(self.loaded.clone()));
        let revision = self.revision.as_ref().map_or(1, |revision| revision.number);
        let ground = Ground { deferring: surface.defers(&world.snapshot), surface, revision };
        self.ground = Some((Arc::downgrade(world), ground.clone()));
        self.vista = None;
        ground
    }

    fn last(&self, world: &Arc<World>) -> Option<Arc<Vista>> {
        let (of, _) = self.ground.as_ref()?;
        let same = std::ptr::eq(of.as_ptr(), Arc::as_ptr(world));
        self.vista.as_ref().filter(|_| same).map(|(_, vista)| vista.clone())
    }

    fn vista(&mut self, world: &Arc<World>, viewer: &Viewer<'_>, known: ViewInputs) -> Arc<Vista> {
        let ground = self.ground(world, viewer);
        if let Some((of, vista)) = &self.vista
            && *of == known
        {
            return vista.clone();
        }
        let forbidden = self.denied(world, viewer.actor);
        let denied = |entry: &CatalogEntry| {
            let key = entry.contract.key();
            let lacking = || known.logged_out.contains(key).then_some("credential_missing");
            forbidden.contains(key).then_some("policy_blocked").or_else(lacking)
        };
        let moment = Moment {
            states: Some(&known.states),
            resting: Some(&known.resting),
            denied: &denied,
            ..Moment::on(known.today, &known.providers)
        };
        let view = ground.surface.view(&world.snapshot, &moment);
        let revision = Revision::after(self.revision.as_ref(), &view);
        if let Some((_, ground)) = &mut self.ground {
            ground.revision = revision.number;
        }
        let same = self.revision.as_ref() == Some(&revision);
        let since = self.since.filter(|_| same).or(self.used).unwrap_or_default();
        (self.revision, self.since) = (Some(revision.clone()), Some(since));
        let vista = Arc::new(Vista { view, revision, snapshot: world.snapshot.clone(), since });
        self.vista = Some((known, vista.clone()));
        vista
    }
}

impl Scope {
    /// Tools that the rules deny to an actor for every input, cached per world.
    fn denied(&mut self, world: &Arc<World>, actor: &Actor) -> Arc<BTreeSet<ToolKey>> {
        if let Some((of, denied)) = &self.denied
            && std::ptr::eq(of.as_ptr(), Arc::as_ptr(world))
        {
            return denied.clone();
        }
        let denied = Arc::new(denied_always(world, actor));
        self.denied = Some((Arc::downgrade(world), denied.clone()));
        denied
    }

    /// Events about a changed view; the first change also records the surface as it was.
    fn news(&mut self, vista: &Vista) -> Vec<Event> {
        let now = SurfaceSeen::from(vista);
        let before = self.seen.replace(now.clone());
        let Some(before) = before.filter(|before| before.revision != now.revision) else {
            return Vec::new();
        };
        let first = !std::mem::replace(&mut self.recorded, true);
        let made = first.then_some(Event::SurfaceCreated(before));
        made.into_iter().chain([Event::SurfaceUpdated(now)]).collect()
    }
}

fn denied_always(world: &World, actor: &Actor) -> BTreeSet<ToolKey> {
    let rules = &world.rulebook.rules;
    let denied = |entry: &&Arc<CatalogEntry>| {
        let contract = &entry.contract;
        let grant = contract.grant_key();
        let action = contract.action.as_ref().map_or(&*grant, |action| action.id.as_str());
        let subject = Subject {
            tool: contract.key().id.as_str(),
            action: Some(action),
            classes: &contract.effects.classes,
            actor: Some(actor),
            input: &Json::Null,
            mapped: None,
            targets: &Targets::default(),
        };
        denies_always(rules, &subject)
    };
    let entries = world.snapshot.entries().filter(denied);
    entries.map(|entry| entry.contract.key().clone()).collect()
}

impl SurfaceStates {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Scope>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a closure on the scope of a viewer, created on first use.
    pub(crate) fn with<T>(
        &self,
        viewer: &Viewer<'_>,
        now: Timestamp,
        act: impl FnOnce(&mut Scope) -> T,
    ) -> T {
        let mut all = self.all();
        let name = name(viewer);
        if !all.get(&name).is_some_and(|scope| scope.is_fresh(now)) {
            make_room(&mut all, now);
        }
        let scope = all.entry(name).or_default();
        scope.used = Some(now);
        if scope.whose.is_none() {
            scope.whose = Some((viewer.actor.clone(), viewer.within.to_vec()));
        }
        act(scope)
    }

    /// Actors and scopes with a cached view.
    pub(crate) fn looking(&self) -> Vec<(Actor, Vec<String>)> {
        let all = self.all();
        let looking = all.values().filter(|scope| scope.vista.is_some());
        looking.filter_map(|scope| scope.whose.clone()).collect()
    }

    /// Evicts the least recently used views.
    fn forget_views(&self) {
        let mut all = self.all();
        let mut seen: Vec<Option<Timestamp>> =
            all.values().filter(|scope| scope.vista.is_some()).map(|scope| scope.used).collect();
        if seen.len() <= MOST_VIEWS {
            return;
        }
        seen.sort_unstable();
        let last = seen.get(seen.len() - MOST_VIEWS).copied().flatten();
        for scope in all.values_mut().filter(|scope| scope.used < last) {
            scope.vista = None;
        }
    }

    /// Invalidates every cached surface and view after a reload.
    pub(crate) fn reset(&self) {
        self.all().values_mut().for_each(Scope::changed);
    }

    /// Search index of a snapshot, built at the first search.
    pub(crate) fn index(&self, snapshot: &Arc<Snapshot>) -> Arc<Index> {
        let mut kept = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, index)) = &*kept
            && std::ptr::eq(of.as_ptr(), Arc::as_ptr(snapshot))
        {
            return index.clone();
        }
        let index = Arc::new(Index::new(snapshot));
        *kept = Some((Arc::downgrade(snapshot), index.clone()));
        index
    }
}

/// Key of a scope: it includes tenant and actor, so equal session names do not share loaded
/// schemas.
fn name(viewer: &Viewer<'_>) -> String {
    let actor = viewer.actor;
    let mut name = format!("{}\n{}", actor.tenant, actor.id);
    for scope in viewer.within {
        name.push('\n');
        name.push_str(scope);
    }
    name
}

/// Evicts expired scopes, and the least recently used ones beyond the limit.
fn make_room(all: &mut HashMap<String, Scope>, now: Timestamp) {
    all.retain(|_, scope| scope.is_fresh(now));
    while all.len() >= MOST_SCOPES {
        let oldest = all.iter().min_by_key(|(_, scope)| scope.used).map(|(name, _)| name.clone());
        let Some(oldest) = oldest else { return };
        all.remove(&oldest);
    }
}

impl Runtime {
    /// What a viewer sees now. It asks no backend and does not wait; a change is recorded in the
    /// background.
    pub fn see(&self, viewer: &Viewer<'_>) -> Arc<Vista> {
        let (vista, news) = self.look(viewer);
        self.tell_of(viewer, news);
        vista
    }

    /// The last view of a viewer in the current world; driver states may have changed since.
    pub fn saw(&self, viewer: &Viewer<'_>) -> Option<Arc<Vista>> {
        let world = self.world();
        self.surface_states.with(viewer, self.clock.now(), |scope| scope.last(&world))
    }

    /// What a viewer sees now, with the events to record.
    pub(crate) fn look(&self, viewer: &Viewer<'_>) -> (Arc<Vista>, Vec<Event>) {
        let (world, now) = (self.world(), self.clock.now());
        let known = self.known(&world, viewer.actor, now);
        let seen = self.surface_states.with(viewer, now, |scope| {
            let vista = scope.vista(&world, viewer, known);
            let news = scope.news(&vista);
            (vista, news)
        });
        self.surface_states.forget_views();
        seen
    }

    /// The surface that a viewer's calls are checked against.
    pub(crate) fn ground(&self, world: &Arc<World>, viewer: &Viewer<'_>) -> Ground {
        self.surface_states.with(viewer, self.clock.now(), |scope| scope.ground(world, viewer))
    }

    /// Driver states, as far as files and this process know them.
    fn known(&self, world: &World, actor: &Actor, now: Timestamp) -> ViewInputs {
        let (mut states, mut providers) = (DriverStates::default(), BTreeMap::new());
        let elsewhere = world.lookout.iter().flat_map(|lookout| lookout.resting(now));
        // An open breaker for one host leaves the tool to the other hosts.
        let whole =
            self.breakers.open(now).into_iter().chain(elsewhere).filter(|one| one.host.is_none());
        let resting = whole.map(|circuit| (circuit.driver, circuit.tool)).collect();
        let mut looked = HashSet::new();
        let bindings = world.snapshot.entries().flat_map(|entry| &entry.bindings);
        for binding in bindings.filter(|binding| looked.insert(&binding.driver.id)) {
            let id = &binding.driver.id;
            let state = world.lookout.as_ref().and_then(|lookout| lookout.glance(binding, now));
            let fails =
                state.as_ref().is_some_and(|state| matches!(state.health, Health::Failed(_)));
            let connects = world.drivers.get(id).is_some_and(|driver| driver.is_connecting());
            if fails {
                providers.insert(id.clone(), Provider::Gone);
            } else if connects {
                providers.insert(id.clone(), Provider::Connecting);
            }
            states.extend(state.map(|state| (id.clone(), state)));
        }
        let logged_out = world.lookout.as_ref().map(|lookout| {
            let without = |entry: &&Arc<CatalogEntry>| {
                let mut claims =
                    entry.bindings.iter().filter(|claim| claim.refused.is_none()).peekable();
                claims.peek().is_some() && claims.all(|claim| lookout.lacks_login(claim, actor))
            };
            let entries = world.snapshot.entries().filter(without);
            entries.map(|entry| entry.contract.key().clone()).collect()
        });
        ViewInputs {
            today: utc_day(now),
            states,
            providers,
            resting,
            logged_out: logged_out.unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests;
