//! World of the runtime: catalog, rules, drivers and surfaces of one workspace reading.

use std::collections::HashMap;
use std::sync::Arc;

use haft_catalog::{ModelAbilities, RoleConstraints, Surface};
use haft_contract::settings::SurfaceSettings;
use haft_contract::settings::{DriverLimit, RateLimit};
use haft_driver::Driver;
use haft_drivers::{Builtin, Upstream};
use haft_model::{Actor, CallRate, DriverId, Glob, Notice, Timestamp};
use haft_policy::rules::CompiledRule;
use haft_policy::{CompiledPolicyRule, Rulebook};
use haft_runtime::{People, Rate, World};

use super::declared::DeclaredDrivers;
use super::driver_readiness::{Sources, Watch};
use super::{HostParts, hooks, vault};
use crate::builtin::UPSTREAM_DRIVER;
use crate::{BUILTIN_DRIVER, Workspace};

/// A surface as haft.toml has it.
fn surface(written: &SurfaceSettings) -> Surface {
    let most = |most: u64| usize::try_from(most).unwrap_or(usize::MAX);
    let made = Surface::new(&written.scope, &written.tools, most(written.defer_above));
    let made = match written.defer_above_bytes {
        Some(bytes) => made.deferring_above_bytes(most(bytes)),
        None => made,
    };
    let model = ModelAbilities {
        needs_all_schemas: written.all_schemas,
        largest_schema: written.largest_schema.map(most),
        without_kinds: written.without_kinds.clone(),
    };
    let role =
        RoleConstraints { only_reads: written.only_reads, nobody_there: written.nobody_there };
    made.narrowed(&model, &role)
}

/// Builds the world, and the readiness of its drivers.
pub(super) fn build(
    workspace: &Workspace,
    given: &HostParts,
    declared: &DeclaredDrivers,
) -> (World, Arc<Watch>) {
    let settings = workspace.settings();
    let surfaces = settings.surfaces.iter().map(surface);
    let keeper = Arc::new(vault::keeper(workspace, given));
    let code = workspace.code_drivers().into_keys();
    let watch = Arc::new(Watch::new(Sources {
        root: workspace.root().to_owned(),
        keeper: given.vault.is_none().then(|| keeper.clone()),
        place: declared.place().clone(),
        code: code.chain(given.drivers.keys().cloned()).collect(),
    }));
    let world = World {
        snapshot: workspace.shared_snapshot(),
        rulebook: Arc::new(rulebook(workspace)),
        drivers: drivers(workspace, given, declared),
        vault: Some(given.vault.clone().unwrap_or_else(|| keeper.clone())),
        hooks: given.hooks.iter().cloned().chain(hooks::of(workspace, given, &keeper)).collect(),
        surfaces: surfaces.collect(),
        people: people(workspace),
        notices: notices(workspace),
        rates: settings.limits.rates.iter().map(rate).collect(),
        at_once: settings.limits.drivers.iter().map(at_once).collect(),
        lookout: Some(watch.clone()),
    };
    (world, watch)
}

fn people(workspace: &Workspace) -> People {
    let settings = workspace.settings();
    let folder = || workspace.root().canonicalize().ok()?.file_name()?.to_str().map(str::to_owned);
    let named = settings.workspace.name.clone();
    let tenant = named.or_else(folder).unwrap_or_else(|| "workspace".to_owned());
    let known = settings.actors.iter().map(|actor| {
        let of = actor.tenant.as_deref().unwrap_or(&tenant);
        Actor::new(actor.id.clone(), of, actor.roles.iter().copied())
    });
    let known = known.collect();
    People { tenant, default_actor: settings.workspace.default_actor.clone(), known }
}

/// The diagnostics of the workspace, as notices for outside observers.
pub(super) fn notices(workspace: &Workspace) -> Arc<[Notice]> {
    workspace.diagnostics().iter().map(|diagnostic| diagnostic.notice()).collect()
}

fn drivers(
    workspace: &Workspace,
    given: &HostParts,
    declared: &DeclaredDrivers,
) -> HashMap<DriverId, Arc<dyn Driver>> {
    let builtin =
        Builtin::new(workspace.root().to_owned(), given.addresses.clone(), Timestamp::now)
            .at_home(super::vault::variable)
            .protecting(declared.place());
    let mut drivers = declared.drivers();
    // The code of a driver takes precedence over its manifest.
    drivers.extend(workspace.code_drivers());
    drivers.extend(given.drivers.iter().map(|(id, driver)| (id.clone(), driver.clone())));
    drivers.insert(DriverId::from(BUILTIN_DRIVER), Arc::new(builtin));
    let upstream = Upstream::of(&drivers);
    drivers.insert(DriverId::from(UPSTREAM_DRIVER), Arc::new(upstream));
    drivers
}

fn rulebook(workspace: &Workspace) -> Rulebook {
    let read = workspace.rulebook();
    let settings = workspace.settings();
    Rulebook {
        policies: read.policies.clone(),
        policy_rules: read.rules.iter().cloned().map(CompiledPolicyRule::new).collect(),
        governance: read.governance.clone(),
        rules: settings.rules.iter().map(CompiledRule::new).collect(),
        autonomy: settings.workspace.autonomy,
        complete: read.complete && workspace.settings_are_sound(),
    }
}

fn at_once(written: &DriverLimit) -> (Glob, u64) {
    (Glob::new(&written.driver), written.max_parallel)
}

fn rate(written: &RateLimit) -> Rate {
    Rate {
        tools: Glob::new(&written.tool),
        driver: written.driver.as_deref().map(Glob::new),
        rate: CallRate { per: written.per, value: written.value, scope: written.scope },
    }
}
