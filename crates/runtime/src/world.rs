//! What can change while the runtime runs: contracts, rules, drivers, hooks, surfaces.

use std::collections::HashMap;
use std::sync::Arc;

use haft_catalog::{Binding, DriverState, DriverStates, Entry, Rested, Snapshot, Surface};
use haft_driver::{BoxFuture, Driver, Hook, Vault};
use haft_model::{Actor, CallRate, DriverId, DriverKind, Glob, Notice, Timestamp};
use haft_policy::Rulebook;

use crate::People;

/// Everything a call is held against, at one moment. A reload makes a whole new one.
#[derive(Default)]
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
    /// What is known of the drivers of a contract now, for an actor. It looks at no backend.
    fn look<'a>(
        &'a self,
        entry: &'a Entry,
        actor: &'a Actor,
        now: Timestamp,
    ) -> BoxFuture<'a, DriverStates>;

    /// What files say of one driver now, whoever asks: for those who cannot wait. Nothing of logins.
    fn glance(&self, binding: &Binding, now: Timestamp) -> Option<DriverState> {
        let _ = (binding, now);
        None
    }

    /// A driver begins to rest, or works again.
    fn rests(&self, driver: &DriverId, rest: Option<Rested>);
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
    /// What is known of the drivers of a contract, for whoever calls. A builtin is always there.
    pub(crate) async fn states(
        &self,
        entry: &Entry,
        actor: &Actor,
        now: Timestamp,
    ) -> DriverStates {
        let builtin = |kind: DriverKind| kind == DriverKind::Builtin;
        match &self.lookout {
            Some(lookout) if !entry.bindings.iter().all(|one| builtin(one.driver.kind)) => {
                lookout.look(entry, actor, now).await
            }
            Some(_) | None => DriverStates::default(),
        }
    }
}
