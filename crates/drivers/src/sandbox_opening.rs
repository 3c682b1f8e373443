//! Sandbox profile of one call: opens what its contract and its driver both declare, and no more.
//!
//! Paths are opened as folders and files, because the kernel knows no patterns: `docs/*.md` opens
//! `docs`. Outside the workspace a driver sees what it declares to read, and writes only its own
//! state. The egress allowlist holds the hosts that both sides list.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use haft_contract::driver::manifest::{
    DriverManifest, RunnerField, RunnerLimits, SandboxEnvironment, SandboxExec,
};
use haft_model::governing::GIT_CONFIG;
use haft_model::host::covers;
use haft_model::{Code, EffectProfile, FactRule, Facts, Plan, Requires, Risk, Stop, Tri};
use haft_sandbox::{
    Access, Bounds, ConfinedProgram, Gate, MountedPath, NetworkAccess, Protection, Spawn,
};

use crate::WorkingFolder;

mod paths;
mod python;
#[cfg(test)]
mod tests;

use paths::Paths;
pub(crate) use paths::{state_targets, writable_paths};
pub(crate) use python::installations;

/// The sandbox profile of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SandboxOpening {
    /// The workspace, by its real path.
    pub(crate) root: PathBuf,
    pub(crate) shown: Vec<MountedPath>,
    pub(crate) hidden: Vec<PathBuf>,
    /// Hidden paths that may not be created either.
    pub(crate) denied: Vec<PathBuf>,
    /// Egress allowlist, as `host`, `host:port` or `*.host`.
    pub(crate) hosts: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) spawn: Spawn,
    pub(crate) bounds: Bounds,
    /// The files that govern inside the open paths.
    pub(crate) protection: Protection,
}

impl SandboxOpening {
    /// The profile of a driver's call.
    pub(crate) fn of(
        manifest: &DriverManifest,
        plan: &Plan,
        place: &WorkingFolder,
    ) -> Result<SandboxOpening, Stop> {
        SandboxOpening::within(manifest, &plan.effects, place)
    }

    /// The profile for the declared effects of a contract.
    pub(crate) fn within(
        manifest: &DriverManifest,
        effects: &EffectProfile,
        place: &WorkingFolder,
    ) -> Result<SandboxOpening, Stop> {
        let root = place.real_root().map_err(|fault| {
            Stop::new(Code::SetupRequired, format!("the workspace cannot be found: {fault}"))
        })?;
        let sandbox = manifest.sandbox.clone().unwrap_or_default();
        let login = manifest.auth.as_ref().map(|auth| auth.state.clone()).unwrap_or_default();
        let files = sandbox.fs;
        let protection = protection(&root, effects, place);
        let home = (place.variable)("HOME").map(PathBuf::from);
        let paths = Paths { root: &root, home, driver: &manifest.id };
        let mut shown = paths.read(files.read.as_deref())?;
        shown.extend(paths.write(files.write.as_deref(), effects, &protection)?);
        shown.extend(paths.state(&login.paths, effects)?);
        let mut hidden = place.hidden_in(&root);
        let denied = paths.places(&files.deny)?;
        hidden.extend(denied.iter().cloned());
        Ok(SandboxOpening {
            hosts: common(manifest.egress(), effects),
            env: environment(&sandbox.env, &login.env, place)?,
            spawn: match sandbox.exec {
                Some(SandboxExec { allow: false }) => Spawn::Nothing,
                Some(SandboxExec { allow: true }) | None => Spawn::Anything,
            },
            bounds: bounds(manifest.runner.as_ref()),
            root,
            shown,
            hidden,
            denied,
            protection,
        })
    }

    /// A program confined to this profile.
    pub(crate) fn confined(
        &self,
        program: &str,
        args: Vec<String>,
        place: &WorkingFolder,
    ) -> ConfinedProgram {
        let program = place.program(&self.root, program);
        let mut shown = self.shown.clone();
        let is_shown = shown.iter().any(|shown| program.starts_with(&shown.path));
        if program.is_absolute() && !is_shown && program.exists() {
            shown.push(MountedPath { path: program.clone(), access: Access::Read });
        }
        let home = (place.variable)("HOME");
        for path in python::behind(&program, home.as_deref().map(Path::new)) {
            if !shown.iter().any(|shown| path.starts_with(&shown.path)) {
                shown.push(MountedPath { path, access: Access::Read });
            }
        }
        ConfinedProgram {
            program,
            args,
            env: self.env.clone(),
            shown,
            hidden: self.hidden.clone(),
            denied: self.denied.clone(),
            cwd: self.root.clone(),
            network: match self.hosts.is_empty() {
                true => NetworkAccess::None,
                false => NetworkAccess::Through(Gate::new(self.hosts.clone(), place.guard.clone())),
            },
            bounds: self.bounds,
            spawn: self.spawn,
            protection: Some(self.protection.clone()),
            ..ConfinedProgram::default()
        }
    }
}

/// The files that govern a workspace for a call with these effects.
fn protection(root: &Path, effects: &EffectProfile, place: &WorkingFolder) -> Protection {
    let protection = place.protection(root);
    match effects.mutates.contains(GIT_CONFIG) {
        true => protection.with_git_config(),
        false => protection,
    }
}

/// The effects of a read that reaches these hosts: nothing is writable.
pub(crate) fn looking(hosts: impl IntoIterator<Item = String>) -> EffectProfile {
    EffectProfile {
        mutates: Default::default(),
        mutates_stated: true,
        classes: Default::default(),
        risk: Risk::READ,
        requires: Requires { network: hosts.into_iter().collect(), ..Requires::default() },
        approval: Default::default(),
        facts: Facts {
            read_only: Tri::Yes,
            destructive: Tri::No,
            open_world: Tri::Unknown,
            concurrency_safe: FactRule::Unstated,
        },
        inferred: Vec::new(),
    }
}

/// The hosts that both sides list.
fn common(egress: &[String], effects: &EffectProfile) -> Vec<String> {
    let lower = |host: &String| host.to_ascii_lowercase();
    let driver: Vec<String> = egress.iter().map(lower).collect();
    let contract: Vec<String> = effects.requires.network.iter().map(lower).collect();
    let covered = |list: &[String], host: &String| list.iter().any(|listed| covers(listed, host));
    let mut both: Vec<String> =
        driver.iter().filter(|host| covered(&contract, host)).cloned().collect();
    both.extend(contract.iter().filter(|host| covered(&driver, host)).cloned());
    both.sort();
    both.dedup();
    both
}

/// The environment of a program: the variables that are set, and those passed on from Haft's. A
/// secret of the workspace comes from its vault, which checks who may have it, or not at all.
fn environment(
    declared: &SandboxEnvironment,
    login: &[String],
    place: &WorkingFolder,
) -> Result<BTreeMap<String, String>, Stop> {
    let (secret, plain): (Vec<&String>, Vec<&String>) =
        declared.pass.iter().partition(|name| place.secrets.contains(*name));
    if let Some(name) = secret.iter().find(|name| !login.contains(**name)) {
        let words = format!("`{name}` is a secret of this workspace, and is not passed on");
        let help = "take it out of `sandbox.env.pass` and list it under `auth.state.env`";
        return Err(Stop::new(Code::SandboxViolation, words).help(help));
    }
    let passed = plain.into_iter().filter_map(|name| {
        let value = (place.variable)(name)?;
        Some((name.clone(), value))
    });
    let set = declared.set.iter().map(|(name, value)| (name.clone(), value.clone()));
    Ok(passed.chain(set).collect())
}

/// The limits of a runner, capped by the defaults.
fn bounds(runner: Option<&RunnerField>) -> Bounds {
    let most = Bounds::default();
    let limits = match runner {
        Some(RunnerField::Block(block)) => block.limits,
        Some(RunnerField::Elsewhere(_)) | None => RunnerLimits::default(),
    };
    let memory = limits.memory_mb.map_or(most.memory, |mb| mb.saturating_mul(1 << 20));
    let cpu = limits.cpu_ms.map_or(most.cpu_seconds, |ms| ms.div_ceil(1000));
    let memory = memory.min(most.memory);
    let total_memory = memory.saturating_add(most.file_size);
    Bounds { memory, total_memory, cpu_seconds: cpu.min(most.cpu_seconds), ..most }
}
