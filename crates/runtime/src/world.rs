//! World: the reloadable part of a runtime: contracts, rules, drivers, hooks and surfaces.

use std::collections::HashMap;
use std::sync::Arc;

use haft_catalog::{
    Binding, CatalogEntry, Circuit, DriverState, DriverStates, OpenBreaker, Snapshot, Surface,
};
use haft_driver::{BoxFuture, Driver, Failure, Hook, Vault};
use haft_model::{
    Actor, CallRate, DriverId, DriverKind, Glob, LoginFailure, Notice, Plan, Timestamp,
};
use haft_policy::Rulebook;

use crate::People;

/// Snapshot that a call is checked against. A reload builds a new one.
#[derive(Clone, Default)]
pub struct World {
    /// Contracts and their driver bindings.
    pub snapshot: Arc<Snapshot>,
    /// Rules, grants and policies.
    pub rulebook: Arc<Rulebook>,
    /// Drivers by id.
    pub drivers: HashMap<DriverId, Arc<dyn Driver>>,
    /// Secret store; `None` means that no secret can be opened.
    pub vault: Option<Arc<dyn Vault>>,
    /// Hooks and classifiers, in order.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// Surfaces by scope; a scope without one sees everything.
    pub surfaces: Vec<Surface>,
    /// People and agents of the workspace, with their roles.
    pub people: People,
    /// Problems found while loading.
    pub notices: Arc<[Notice]>,
    /// Rate limits of haft.toml.
    pub rates: Vec<Rate>,
    /// Concurrency limits: calls in parallel over all drivers that match the pattern.
    pub at_once: Vec<(Glob, u64)>,
    /// Driver readiness; `None` assumes that every driver is ready.
    pub lookout: Option<Arc<dyn DriverReadiness>>,
}

/// Driver readiness: setup, login and health. Routing reads it before each call.
pub trait DriverReadiness: Send + Sync {
    /// Prepares the drivers of a contract: renews a login that is due, and reads the version of a
    /// program that was not probed yet.
    fn prepare<'a>(
        &'a self,
        entry: &'a CatalogEntry,
        actor: &'a Actor,
        now: Timestamp,
    ) -> BoxFuture<'a, ()>;

    /// Driver states of a contract for an actor. It starts nothing and asks no backend.
    fn look<'a>(
        &'a self,
        entry: &'a CatalogEntry,
        actor: &'a Actor,
        now: Timestamp,
    ) -> BoxFuture<'a, DriverStates>;

    /// State of one driver according to files, without logins and without waiting.
    fn glance(&self, binding: &Binding, now: Timestamp) -> Option<DriverState> {
        let _ = (binding, now);
        None
    }

    /// Returns true if a login that the driver needs is known to be missing or expired for the
    /// actor; does not wait.
    fn lacks_login(&self, binding: &Binding, actor: &Actor) -> bool {
        let _ = (binding, actor);
        false
    }

    /// A backend rejected the actor's login.
    fn ran_out(&self, driver: &DriverId, actor: &Actor);

    /// The actor's login lacks these scopes for a call.
    fn falls_short(&self, driver: &DriverId, actor: &Actor, scopes: &[String]);

    /// Open circuit breakers of other processes, according to files.
    fn resting(&self, now: Timestamp) -> Vec<Circuit> {
        let _ = now;
        Vec::new()
    }

    /// A circuit breaker opened, or closed with `None`.
    fn rests(&self, circuit: &Circuit, rest: Option<OpenBreaker>);
}

impl dyn DriverReadiness {
    /// Reports what a failure says about the caller's login: expired, or lacking scopes.
    pub(crate) fn told(&self, failure: &Failure, plan: &Plan) {
        let (driver, actor, cause) = (&plan.route.driver, &plan.actor, &failure.stop.cause);
        match cause.login() {
            Some(LoginFailure::Expired) => self.ran_out(driver, actor),
            Some(LoginFailure::Insufficient) => self.falls_short(driver, actor, cause.scopes()),
            Some(
                LoginFailure::UserCancelled
                | LoginFailure::UpstreamError
                | LoginFailure::AccessDenied
                | LoginFailure::CallbackFailed
                | LoginFailure::DiscoveryFailed,
            )
            | None => {}
        }
    }
}

/// A rate limit of haft.toml.
#[derive(Clone, Debug)]
pub struct Rate {
    /// Tools that the limit counts.
    pub tools: Glob,
    /// Drivers that the limit counts, by attempts; `None` counts calls.
    pub driver: Option<Glob>,
    /// Count, period and scope.
    pub rate: CallRate,
}

impl World {
    /// Driver states of a contract, after preparation.
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

    /// Driver states of a contract, for the calling actor.
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

    /// The readiness source; `None` where every driver is builtin and so always ready.
    fn lookout_for(&self, entry: &CatalogEntry) -> Option<&dyn DriverReadiness> {
        let builtin = |kind: DriverKind| kind == DriverKind::Builtin;
        let lookout = self.lookout.as_deref()?;
        (!entry.bindings.iter().all(|one| builtin(one.driver.kind))).then_some(lookout)
    }
}
