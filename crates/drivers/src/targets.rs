//! Targets of confined programs: the commands that start them, and the files that an input names.
//!
//! Shared by the drivers of kind cli, mcp and sdk, so that a rule means the same for each of them.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use haft_contract::driver::manifest::DriverManifest;
use haft_driver::{
    CommandLine, PathTarget, ProgramFile, TargetGuard, TargetKinds, Targets, path_texts,
};
use haft_model::{Plan, Stop};

use crate::WorkingFolder;
use crate::cli::program;
use crate::sandbox_opening::writable_paths;

/// Most symlinks that a path may pass through.
const MOST_LINKS: usize = 40;

/// A command as it will be started, with every program by its real path.
pub(crate) fn command(
    argv: &[String],
    driver: &str,
    place: &WorkingFolder,
    root: &Path,
) -> CommandLine {
    CommandLine::of(argv, &|called| program_file(called, driver, place, root))
}

/// The command of a pooled process, which only its manifest determines.
pub(crate) fn kept(
    argv: &[String],
    driver: &str,
    place: &WorkingFolder,
    root: &Path,
) -> CommandLine {
    CommandLine::of_manifest(argv, &|called| program_file(called, driver, place, root))
}

fn program_file(called: &str, driver: &str, place: &WorkingFolder, root: &Path) -> ProgramFile {
    if called.contains('/') && is_of_kernel(&root.join(called)) {
        return ProgramFile::Missing;
    }
    let file = program::file(called, driver, place, root);
    let real = file.and_then(|file| fs::canonicalize(file).ok());
    real.map_or(ProgramFile::Missing, |real| ProgramFile::At(real.display().to_string()))
}

/// The resolved paths of an input, under the contract's field names and under the backend's.
fn paths(plan: &Plan, root: &Path) -> Vec<PathTarget> {
    let mapped = plan.mapped();
    let texts = path_texts(&plan.input).into_iter().chain(path_texts(&mapped));
    let mut paths: Vec<PathTarget> = texts.map(|text| resolved(root, &root.join(text))).collect();
    paths.dedup();
    paths
}

/// The workspace root, the targets that an input names, and the paths that the manifest opens for
/// writing. Without a root no path resolves, so the target may be anything: those are the only
/// targets then.
pub(crate) fn of_call(
    plan: &Plan,
    kinds: TargetKinds,
    manifest: &DriverManifest,
    place: &WorkingFolder,
) -> (Option<PathBuf>, Targets) {
    let root = place.real_root().ok();
    let mut told = Targets::default();
    match &root {
        None => told.paths.push(PathTarget::Unresolved),
        Some(root) if kinds.paths => {
            told.paths = paths(plan, root);
            // A manifest whose paths cannot be opened is refused when it is.
            let opened = writable_paths(manifest, &plan.effects, root, place);
            told.backend.paths = opened.unwrap_or_default();
        }
        Some(_) => {}
    }
    (root, told)
}

/// Refuses targets that differ from the authorized ones, or that the policy denies.
pub(crate) fn check(now: &Targets, guard: &TargetGuard) -> Result<(), Stop> {
    now.commands.iter().try_for_each(|command| guard.command(command))?;
    guard.backend(&now.backend)?;
    now.paths.iter().try_for_each(|path| match path {
        PathTarget::Resolved(path) => guard.named_path(path),
        // The path was unresolved when it was authorized, or it is another one now.
        PathTarget::Unresolved => guard.unresolved_path(),
    })
}

/// Resolves a path through every symlink; relative to the root if it lies below.
pub(crate) fn resolved(root: &Path, path: &Path) -> PathTarget {
    let Some(real) = real(path) else { return PathTarget::Unresolved };
    let inside = real.strip_prefix(root).unwrap_or(&real);
    match inside.to_str() {
        Some(path) => PathTarget::Resolved(path.to_owned()),
        None => PathTarget::Unresolved,
    }
}

/// The real path, whose end need not exist. `None` for a dangling symlink, because a later write
/// could create any target.
fn real(path: &Path) -> Option<PathBuf> {
    let mut missing: Vec<&OsStr> = Vec::new();
    let mut at = path;
    loop {
        match fs::canonicalize(at) {
            Ok(real) => return Some(missing.iter().rev().fold(real, |path, name| path.join(name))),
            Err(fault) if fault.kind() == ErrorKind::NotFound => {}
            Err(_) => return None,
        }
        if fs::symlink_metadata(at).is_ok() {
            return None;
        }
        missing.push(at.file_name()?);
        at = at.parent()?;
    }
}

/// Whether a path leads through `/dev` or `/proc`, where each process sees something else.
fn is_of_kernel(path: &Path) -> bool {
    let mut ahead: Vec<PathBuf> = parts(path);
    let (mut at, mut links) = (PathBuf::from("/"), 0);
    while let Some(part) = ahead.pop() {
        if part == Path::new("..") {
            at.pop();
            continue;
        }
        // A component that begins at the root replaces what was before.
        at.push(part);
        if at.starts_with("/dev") || at.starts_with("/proc") {
            return true;
        }
        let Ok(target) = fs::read_link(&at) else { continue };
        links += 1;
        if links > MOST_LINKS {
            return true;
        }
        at.pop();
        ahead.extend(parts(&target));
    }
    false
}

/// The components of a path, the first one last.
fn parts(path: &Path) -> Vec<PathBuf> {
    let parts = path.components().rev().filter(|part| *part != Component::CurDir);
    parts.map(|part| PathBuf::from(part.as_os_str())).collect()
}
