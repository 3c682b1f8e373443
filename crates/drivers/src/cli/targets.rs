//! What a command line touches: the programs that it starts, and the files that its input names.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use haft_driver::{CommandLine, PathTarget, TargetGuard, TargetKinds, Targets, path_texts};
use haft_model::{Plan, Stop};

use super::command::Command;
use super::program;
use crate::Place;

/// What a call touches. Programs start at the workspace's root, so paths of the input begin there.
pub(super) fn of(
    command: &Command,
    args: &[String],
    plan: &Plan,
    place: &Place,
    kinds: TargetKinds,
) -> Targets {
    let mut targets = Targets::default();
    let Ok(root) = place.real_root() else {
        // Without its workspace nothing runs, and until then it may be anything.
        targets.paths.push(PathTarget::Unresolved);
        return targets;
    };
    if kinds.commands {
        targets.commands.push(started(command, args, place, &root));
    }
    if kinds.paths {
        let mapped = plan.mapped();
        let texts = path_texts(&plan.input).into_iter().chain(path_texts(&mapped));
        targets.paths.extend(texts.map(|text| resolved(&root, text)));
        targets.paths.dedup();
    }
    targets
}

/// The refusal of a line that is not what was judged any more, or that the rules hold back.
pub(super) fn check(
    command: &Command,
    args: &[String],
    plan: &Plan,
    place: &Place,
    guard: &TargetGuard,
) -> Result<(), Stop> {
    let kinds = TargetKinds { paths: guard.watches_paths(), urls: false, commands: true };
    let now = of(command, args, plan, place, kinds);
    now.commands.iter().try_for_each(|command| guard.command(command))?;
    now.paths.iter().try_for_each(|path| match path {
        PathTarget::Resolved(path) => guard.named_path(path),
        // It was as little known when it was judged, or it is another one now.
        PathTarget::Unresolved => guard.unresolved_path(),
    })
}

fn started(command: &Command, args: &[String], place: &Place, root: &Path) -> CommandLine {
    let argv: Vec<String> = std::iter::once(&command.bin).chain(args).cloned().collect();
    CommandLine::of(&argv, &|program| {
        let file = program::file(program, &command.driver, place, root)?;
        Some(fs::canonicalize(file).ok()?.display().to_string())
    })
}

/// Where a path leads, all links followed; from the root, where it lies below.
fn resolved(root: &Path, text: &str) -> PathTarget {
    let Some(real) = real(&root.join(text)) else { return PathTarget::Unresolved };
    let inside = real.strip_prefix(root).unwrap_or(&real);
    match inside.to_str() {
        Some(path) => PathTarget::Resolved(path.to_owned()),
        None => PathTarget::Unresolved,
    }
}

/// The real name of a path of which the end need not exist. A link that leads to nothing leads
/// somewhere as soon as somebody writes there.
fn real(path: &Path) -> Option<std::path::PathBuf> {
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
