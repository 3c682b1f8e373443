//! Sandbox profile of one call: opens what its contract and its driver both declare, and no more.
//!
//! Paths are opened as folders and files, because the kernel knows no patterns: `docs/*.md` opens
//! `docs`. Outside the workspace a driver sees what it declares to read, and writes only its own
//! login. The egress allowlist holds the hosts that both sides list.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use haft_contract::driver::manifest::{
    DriverManifest, RunnerField, RunnerLimits, SandboxEnvironment, SandboxExec,
};
use haft_model::governing::{Extent, GIT_CONFIG};
use haft_model::host::covers;
use haft_model::{Code, EffectProfile, FactRule, Facts, Plan, Requires, Risk, Stop, Tri};
use haft_sandbox::{
    Access, Bounds, ConfinedProgram, Gate, MountedPath, NetworkAccess, Protection, Spawn,
};

use crate::WorkingFolder;
use crate::failure::violation;

mod python;
#[cfg(test)]
mod tests;

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
        let home = (place.variable)("HOME");
        let paths = Paths { root: &root, home, driver: &manifest.id, protection: &protection };
        let mut shown = paths.read(files.read.as_deref())?;
        shown.extend(paths.write(files.write.as_deref(), effects)?);
        shown.extend(paths.existing(&login.paths, Access::Write)?);
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

/// Resolves the paths of a manifest.
struct Paths<'a> {
    root: &'a Path,
    home: Option<String>,
    driver: &'a str,
    protection: &'a Protection,
}

impl Paths<'_> {
    /// The readable paths: those that the driver declares, else the workspace.
    fn read(&self, declared: Option<&[String]>) -> Result<Vec<MountedPath>, Stop> {
        match declared {
            None => Ok(vec![MountedPath { path: self.root.to_owned(), access: Access::Read }]),
            Some(patterns) => self.existing(patterns, Access::Read),
        }
    }

    /// The writable paths of the workspace: those that the contract lets change and the driver
    /// declares.
    fn write(
        &self,
        declared: Option<&[String]>,
        effects: &EffectProfile,
    ) -> Result<Vec<MountedPath>, Stop> {
        let contract = self.mutable(effects)?;
        let places = match declared {
            None => contract,
            Some(patterns) => overlaps(&contract, &self.places(patterns)?),
        };
        places.into_iter().map(|path| self.writable(path)).collect()
    }

    /// The paths of the workspace that a contract lets change.
    fn mutable(&self, effects: &EffectProfile) -> Result<Vec<PathBuf>, Stop> {
        if !effects.mutates_stated && effects.may_mutate() {
            return Ok(vec![self.root.to_owned()]);
        }
        let scopes = effects.mutates.iter().filter_map(|entry| entry.strip_prefix("workspace:"));
        let places = scopes.map(|scope| self.place(scope.trim_start_matches('/')));
        let git = self.root.join(".git");
        let configured = effects.mutates.contains(GIT_CONFIG) && git.is_dir();
        places.chain(configured.then_some(Ok(git))).collect()
    }

    /// A writable path: it lies in the workspace and exists, because the kernel mounts only what
    /// exists.
    fn writable(&self, path: PathBuf) -> Result<MountedPath, Stop> {
        let relative = path.strip_prefix(self.root).unwrap_or(&path).display();
        let what = format!("driver `{}` would write `{relative}`", self.driver);
        if !path.starts_with(self.root) {
            let words = format!("{what}, which is not in the workspace");
            return Err(Stop::new(Code::SandboxViolation, words));
        }
        if let Some(row) = self.protection.governing(&path)
            && (row.extent == Extent::Whole || !path.is_dir())
        {
            return Err(violation(format!("{what}, which governs: {}", row.reason)));
        }
        if !path.exists() {
            let words = format!("{what}, and there is no such file or folder");
            let help = "create it: a sandbox can open only what is there";
            return Err(Stop::new(Code::SetupRequired, words).help(help));
        }
        Ok(MountedPath { path, access: Access::Write })
    }

    fn existing(&self, patterns: &[String], access: Access) -> Result<Vec<MountedPath>, Stop> {
        let places = self.places(patterns)?;
        // A workspace path opens only the workspace: a path beyond it must be declared by its own
        // name.
        let beyond = patterns.iter().zip(&places).find(|(pattern, path)| {
            !pattern.starts_with(['/', '~']) && !path.starts_with(self.root)
        });
        if let Some((pattern, _)) = beyond {
            let driver = self.driver;
            let words =
                format!("driver `{driver}` cannot open `{pattern}`: a link leads it out of here");
            return Err(Stop::new(Code::SandboxViolation, words).help("write where it leads to"));
        }
        let places = places.into_iter().filter(|path| path.exists());
        Ok(places.map(|path| MountedPath { path, access }).collect())
    }

    fn places(&self, patterns: &[String]) -> Result<Vec<PathBuf>, Stop> {
        patterns.iter().map(|pattern| self.place(pattern)).collect()
    }

    /// The folder or file that a pattern begins with.
    fn place(&self, pattern: &str) -> Result<PathBuf, Stop> {
        if pattern.split('/').any(|step| step == "..") {
            let words = format!("driver `{}` cannot open `{pattern}`: it leads up", self.driver);
            return Err(Stop::new(Code::SandboxViolation, words).help("write where it leads to"));
        }
        let (base, rest) = match pattern.strip_prefix("~/") {
            Some(rest) => (Path::new(self.home.as_deref().unwrap_or("/")), rest),
            None if pattern.starts_with('/') => (Path::new("/"), pattern),
            None => (self.root, pattern),
        };
        let is_plain = |step: &&str| !step.contains(['*', '?', '[', '{']);
        let steps = rest.split('/').take_while(is_plain);
        let steps = steps.filter(|step| !matches!(*step, "" | "."));
        let path = steps.fold(base.to_owned(), |path, step| path.join(step));
        Ok(std::fs::canonicalize(&path).unwrap_or(path))
    }
}

/// The intersection of two lists of folders.
fn overlaps(one: &[PathBuf], other: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for a in one {
        for b in other {
            let inner = match (a.starts_with(b), b.starts_with(a)) {
                (true, _) => a,
                (_, true) => b,
                (false, false) => continue,
            };
            if !found.contains(inner) {
                found.push(inner.clone());
            }
        }
    }
    found
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
