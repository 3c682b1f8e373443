//! What can change while the runtime runs: contracts, rules, drivers, hooks, surfaces.

use std::collections::HashMap;
use std::sync::Arc;

use haft_catalog::{
    Binding, CatalogEntry, Circuit, DriverState, DriverStates, OpenBreaker, Snapshot, Surface,
};
use haft_driver::{BoxFuture, Driver, Failure, Hook, Vault};
use haft_model::{Actor, CallRate, DriverId, DriverKind, Glob, Notice, Plan, Timestamp};
use haft_policy::Rulebook;
use serde_json::Value;

use crate::People;

/// Everything a call is held against, at one moment. A reload makes a whole new one.
#[derive(Clone, Default)]
pub struct World {
    /// Contracts and drivers.
    pub snapshot: Arc<Snapshot>,
    /// Who may do what.
    pub rulebook: Arc<Rulebook>,
    /// What carries calls out.
    pub drivers: HashMap<DriverId, Arc<dyn Driver>>,
    /// Where secrets are kept.
    pub vault: Option<Arc<dyn Vault>>,
    /// Who is heard.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// Who sees what; a scope of nobody here sees everything.
    pub surfaces: Vec<Surface>,
    /// Who is known.
    pub people: People,
    /// What is wrong with what was read.
    pub notices: Arc<[Notice]>,
    /// How often things may be done.
    pub rates: Vec<Rate>,
    /// How many calls drivers carry out at once, together.
    pub at_once: Vec<(Glob, u64)>,
    /// Who knows how drivers are.
    pub lookout: Option<Arc<dyn Lookout>>,
}

/// Knows how drivers are: set up, logged in, working. A call is told before it is routed.
pub trait Lookout: Send + Sync {
    /// Does what has to be done before the drivers of a contract are used: renews a login that is due,
    /// and asks a program that nobody asked yet for its version.
    fn prepare<'a>(
        &'a self,
        entry: &'a CatalogEntry,
        actor: &'a Actor,
        now: Timestamp,
    ) -> BoxFuture<'a, ()>;

    /// What is known of the drivers of a contract now, for an actor. It starts and asks nothing.
    fn look<'a>(
        &'a self,
        entry: &'a CatalogEntry,
        actor: &'a Actor,
        now: Timestamp,
    ) -> BoxFuture<'a, DriverStates>;

    /// What files say of one driver now, whoever asks: for those who cannot wait. Nothing of logins.
    fn glance(&self, binding: &Binding, now: Timestamp) -> Option<DriverState> {
        let _ = (binding, now);
        None
    }

    /// Whether a login that a driver needs for a contract is known to be missing, or to have run out,
    /// for an actor: for those who cannot wait.
    fn lacks_login(&self, binding: &Binding, actor: &Actor) -> bool {
        let _ = (binding, actor);
        false
    }

    /// A backend no longer takes the login of somebody.
    fn ran_out(&self, driver: &DriverId, actor: &Actor);

    /// The login of somebody does not reach as far as a call needs: it lacks these scopes.
    fn falls_short(&self, driver: &DriverId, actor: &Actor, scopes: &[String]);

    /// The circuits that processes leave alone now, as far as files tell.
    fn resting(&self, now: Timestamp) -> Vec<Circuit> {
        let _ = now;
        Vec::new()
    }

    /// A circuit begins to rest, or works again.
    fn rests(&self, circuit: &Circuit, rest: Option<OpenBreaker>);
}

impl dyn Lookout {
    /// Tells what a failure says of the caller's login: that the backend no longer takes it, or that
    /// it does not reach far enough.
    pub(crate) fn told(&self, failure: &Failure, plan: &Plan) {
        let (driver, actor, cause) = (&plan.route.driver, &plan.actor, &failure.stop.cause);
        match cause.get("login").and_then(Value::as_str) {
            Some("expired") => self.ran_out(driver, actor),
            Some("insufficient") => {
                let scopes = cause.get("scopes").and_then(Value::as_array).into_iter().flatten();
                let scopes: Vec<String> =
                    scopes.filter_map(Value::as_str).map(str::to_owned).collect();
                self.falls_short(driver, actor, &scopes);
            }
            Some(_) | None => {}
        }
    }
}

/// A rate of haft.toml.
#[derive(Clone, Debug)]
pub struct Rate {
    /// Of which tools.
    pub tools: Glob,
    /// Of which drivers; then their attempts are counted.
    pub driver: Option<Glob>,
    /// How often.
    pub rate: CallRate,
}

impl World {
    /// The same, after what has to be done before they are used.
    pub(crate) async fn states_for_use(
        &self,
        entry: &CatalogEntry,
        actor: &Actor,
        now: Timestamp,
    ) -> DriverStates {
        if let Some(lookout) = self.lookout_for(entry) {
            lookout.prepare(entry, actor, now).await;
        }
        self.states(entry, actor, now).await
    }

    /// What is known of the drivers of a contract, for whoever calls.
    pub(crate) async fn states(
        &self,
        entry: &CatalogEntry,
        actor: &Actor,
        now: Timestamp,
    ) -> DriverStates {
        match self.lookout_for(entry) {
            Some(lookout) => lookout.look(entry, actor, now).await,
            None => DriverStates::default(),
        }
    }

    /// Who knows; nobody has to where every driver is builtin, and always there.
    fn lookout_for(&self, entry: &CatalogEntry) -> Option<&dyn Lookout> {
        let builtin = |kind: DriverKind| kind == DriverKind::Builtin;
        let lookout = self.lookout.as_deref()?;
        (!entry.bindings.iter().all(|one| builtin(one.driver.kind))).then_some(lookout)
    }
}
