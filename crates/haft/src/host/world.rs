//! The living part of a host: what a workspace says, as the runtime wants it.

use std::collections::HashMap;
use std::sync::Arc;

use haft_catalog::Surface;
use haft_contract::settings::{Period, RateScope as Counted};
use haft_driver::Driver;
use haft_drivers::Builtin;
use haft_model::{DriverId, Glob, Timestamp};
use haft_policy::Rulebook;
use haft_runtime::{Rate, RateScope, World};

use super::{Given, hooks};
use crate::{BUILTIN_DRIVER, Workspace};

pub(super) fn build(workspace: &Workspace, given: &Given) -> World {
    let settings = workspace.settings();
    let surfaces = settings.surfaces.iter().map(|surface| {
        let most = usize::try_from(surface.defer_above).unwrap_or(usize::MAX);
        Surface::new(&surface.scope, &surface.tools, most)
    });
    World {
        snapshot: workspace.shared_snapshot(),
        rulebook: Arc::new(rulebook(workspace)),
        drivers: drivers(workspace, given),
        hooks: given.hooks.iter().cloned().chain(hooks::of(workspace, given)).collect(),
        surfaces: surfaces.collect(),
        rates: settings.limits.rates.iter().map(rate).collect(),
    }
}

fn drivers(workspace: &Workspace, given: &Given) -> HashMap<DriverId, Arc<dyn Driver>> {
    let builtin =
        Builtin::new(workspace.root().to_owned(), given.addresses.clone(), Timestamp::now);
    let mut drivers = workspace.code_drivers();
    drivers.extend(given.drivers.iter().map(|(id, driver)| (id.clone(), driver.clone())));
    drivers.insert(DriverId::from(BUILTIN_DRIVER), Arc::new(builtin));
    drivers
}

fn rulebook(workspace: &Workspace) -> Rulebook {
    let read = workspace.rulebook();
    let settings = workspace.settings();
    Rulebook {
        policies: read.policies.clone(),
        policy_rules: read.rules.clone(),
        governance: read.governance.clone(),
        rules: settings.rules.clone(),
        autonomy: settings.workspace.autonomy,
        complete: read.complete && workspace.settings_are_sound(),
    }
}

fn rate(written: &haft_contract::settings::RateLimit) -> Rate {
    Rate {
        tools: Glob::new(&written.tool),
        most: written.value,
        seconds: match written.per {
            Period::Second => 1,
            Period::Minute => 60,
            Period::Hour => 3600,
            Period::Day => 86_400,
        },
        scope: match written.scope {
            Counted::Actor => RateScope::Actor,
            Counted::Tenant => RateScope::Tenant,
            Counted::Workspace => RateScope::Workspace,
        },
    }
}
