//! Paths of a manifest: resolves those that a driver may read and write, and refuses the rest.
//!
//! A driver writes in the workspace what its contract lets change. Beyond it, it writes its own
//! state, such as a login, which no contract states.

use std::path::{Path, PathBuf};

use haft_contract::driver::manifest::DriverManifest;
use haft_driver::{PathTarget, WritablePath};
use haft_model::governing::{Extent, GIT_CONFIG};
use haft_model::{Code, EffectProfile, Stop, fixed_steps};
use haft_sandbox::{Access, MountedPath, Protection};

use crate::failure::violation;
use crate::{WorkingFolder, targets};

/// Resolves the paths of a manifest.
pub(super) struct Paths<'a> {
    pub(super) root: &'a Path,
    pub(super) home: Option<PathBuf>,
    pub(super) driver: &'a str,
}

/// The paths that a manifest opens for writing in a call with these effects, whether or not they
/// exist: what rules judge before the call runs.
pub(crate) fn writable_paths(
    manifest: &DriverManifest,
    effects: &EffectProfile,
    root: &Path,
    place: &WorkingFolder,
) -> Result<Vec<WritablePath>, Stop> {
    let home = (place.variable)("HOME").map(PathBuf::from);
    let paths = Paths { root, home, driver: &manifest.id };
    let write = manifest.sandbox.as_ref().and_then(|sandbox| sandbox.fs.write.as_deref());
    let state = manifest.auth.as_ref().map(|auth| auth.state.paths.as_slice());
    let written = paths.written(write, effects)?;
    let mut found: Vec<WritablePath> = written
        .into_iter()
        .map(|path| WritablePath {
            stated: path.strip_prefix(root).unwrap_or(&path).display().to_string(),
            target: targets::resolved(root, &path),
        })
        .collect();
    found.extend(state_targets(state.unwrap_or_default(), root, paths.home.as_deref()));
    Ok(found)
}

/// The targets of a driver's own state, as its manifest states it.
pub(crate) fn state_targets<'a>(
    stated: &'a [String],
    root: &'a Path,
    home: Option<&'a Path>,
) -> impl Iterator<Item = WritablePath> + 'a {
    stated.iter().map(move |stated| {
        let path = fixed(stated, root, home);
        let climbs = stated.split('/').any(|step| step == "..");
        let target = if climbs { PathTarget::Unresolved } else { targets::resolved(root, &path) };
        WritablePath { stated: stated.clone(), target }
    })
}

/// The folder or file that a pattern begins with, symlinks not resolved.
fn fixed(pattern: &str, root: &Path, home: Option<&Path>) -> PathBuf {
    let (base, rest) = match pattern.strip_prefix("~/") {
        Some(rest) => (home.unwrap_or(Path::new("/")), rest),
        None if pattern.starts_with('/') => (Path::new("/"), pattern),
        None => (root, pattern),
    };
    fixed_steps(rest).fold(base.to_owned(), |path, step| path.join(step))
}

impl Paths<'_> {
    /// The readable paths: those that the driver declares, else the workspace.
    pub(super) fn read(&self, declared: Option<&[String]>) -> Result<Vec<MountedPath>, Stop> {
        match declared {
            None => Ok(vec![MountedPath { path: self.root.to_owned(), access: Access::Read }]),
            Some(patterns) => self.existing(patterns, Access::Read),
        }
    }

    /// The writable paths of the workspace, which exist and do not govern.
    pub(super) fn write(
        &self,
        declared: Option<&[String]>,
        effects: &EffectProfile,
        protection: &Protection,
    ) -> Result<Vec<MountedPath>, Stop> {
        let places = self.written(declared, effects)?.into_iter();
        places.map(|path| self.writable(path, protection)).collect()
    }

    /// The driver's own state, as far as it exists: beyond the workspace and not all of a home, or
    /// in what the contract lets change.
    pub(super) fn state(
        &self,
        stated: &[String],
        effects: &EffectProfile,
    ) -> Result<Vec<MountedPath>, Stop> {
        let opened = self.existing(stated, Access::Write)?;
        let declared = self.mutable(effects)?;
        for MountedPath { path, .. } in &opened {
            if declared.iter().any(|scope| path.starts_with(scope)) {
                continue;
            }
            self.own_state(path)?;
        }
        Ok(opened)
    }

    fn own_state(&self, path: &Path) -> Result<(), Stop> {
        let home =
            self.home.as_deref().map(|home| std::fs::canonicalize(home).unwrap_or(home.into()));
        let what = format!("driver `{}` would write `{}`", self.driver, path.display());
        // A home may be a workspace, or lie in one.
        let at_home = home.as_ref().is_some_and(|home| path != home && path.starts_with(home));
        let holds = |folder: &Path| folder.starts_with(path);
        if !at_home && (holds(self.root) || home.as_deref().is_some_and(holds)) {
            let words = format!("{what}, which is more than its own state");
            return Err(Stop::new(Code::SandboxViolation, words)
                .help("name the file or folder that holds the login in `auth.state.paths`"));
        }
        if path.starts_with(self.root)
            && !(at_home && home.is_some_and(|home| home.starts_with(self.root)))
        {
            let words = format!("{what} in every call, which the contract does not declare");
            return Err(Stop::new(Code::EffectUndeclared, words)
                .help("keep the login beyond the workspace, or declare the path in `mutates`"));
        }
        Ok(())
    }

    /// The paths of the workspace that the contract lets change and the driver declares.
    fn written(
        &self,
        declared: Option<&[String]>,
        effects: &EffectProfile,
    ) -> Result<Vec<PathBuf>, Stop> {
        let contract = self.mutable(effects)?;
        match declared {
            None => Ok(contract),
            Some(patterns) => Ok(overlaps(&contract, &self.places(patterns)?)),
        }
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
    fn writable(&self, path: PathBuf, protection: &Protection) -> Result<MountedPath, Stop> {
        let relative = path.strip_prefix(self.root).unwrap_or(&path).display();
        let what = format!("driver `{}` would write `{relative}`", self.driver);
        if !path.starts_with(self.root) {
            let words = format!("{what}, which is not in the workspace");
            return Err(Stop::new(Code::SandboxViolation, words));
        }
        if let Some(row) = protection.governing(&path)
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

    pub(super) fn places(&self, patterns: &[String]) -> Result<Vec<PathBuf>, Stop> {
        patterns.iter().map(|pattern| self.place(pattern)).collect()
    }

    /// The folder or file that a pattern begins with.
    fn place(&self, pattern: &str) -> Result<PathBuf, Stop> {
        if pattern.split('/').any(|step| step == "..") {
            let words = format!("driver `{}` cannot open `{pattern}`: it leads up", self.driver);
            return Err(Stop::new(Code::SandboxViolation, words).help("write where it leads to"));
        }
        let path = fixed(pattern, self.root, self.home.as_deref());
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
