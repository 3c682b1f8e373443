//! What can change while the runtime runs: contracts, rules, drivers, hooks, surfaces.

use std::collections::HashMap;
use std::sync::Arc;

use haft_catalog::{DriverStates, Entry, Rested, Snapshot, Surface};
use haft_driver::{BoxFuture, Driver, Hook, Vault};
use haft_model::{Actor, CallRate, DriverId, DriverKind, Glob, Notice, Role, Timestamp};
use haft_policy::Rulebook;

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
    /// What is known of the drivers of a contract now, for an actor. It looks at no backend.
    fn look<'a>(
        &'a self,
        entry: &'a Entry,
        actor: &'a Actor,
        now: Timestamp,
    ) -> BoxFuture<'a, DriverStates>;

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

    /// The surface of an actor: the first whose scope they are in, or everything there is.
    pub(crate) fn surface_of(&self, actor: &Actor) -> Surface {
        let mine = |surface: &&Surface| in_scope(&surface.scope, actor);
        self.surfaces.iter().find(mine).cloned().unwrap_or_else(|| Surface::whole("workspace"))
    }
}

fn in_scope(scope: &str, actor: &Actor) -> bool {
    match scope.split_once(':') {
        Some(("role", role)) => {
            let named = match role {
                "agent" => Some(Role::Agent),
                "approver" => Some(Role::Approver),
                "admin" => Some(Role::Admin),
                "auditor" => Some(Role::Auditor),
                _ => None,
            };
            named.is_some_and(|role| actor.roles.contains(&role))
        }
        Some(("tenant", tenant)) => *actor.tenant == *tenant,
        Some(_) => false,
        None => scope == "workspace",
    }
}
