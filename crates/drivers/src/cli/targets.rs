//! Targets of a command line: the programs that it starts, and the files that its input names.

use haft_driver::{PathTarget, TargetGuard, TargetKinds, Targets};
use haft_model::{Plan, Stop};

use super::command::Command;
use crate::{WorkingFolder, targets};

/// The targets of a call. Programs start at the workspace root, so input paths are relative to it.
pub(super) fn of(
    command: &Command,
    args: &[String],
    plan: &Plan,
    place: &WorkingFolder,
    kinds: TargetKinds,
) -> Targets {
    let mut told = Targets::default();
    let Ok(root) = place.real_root() else {
        // Without its workspace nothing runs, and until then the target may be anything.
        told.paths.push(PathTarget::Unresolved);
        return told;
    };
    if kinds.commands {
        let argv: Vec<String> = std::iter::once(&command.bin).chain(args).cloned().collect();
        told.commands.push(targets::command(&argv, &command.driver, place, &root));
    }
    if kinds.paths {
        told.paths = targets::paths(plan, &root);
    }
    told
}

/// Refuses a command line that differs from the authorized one, or that the policy denies.
pub(super) fn check(
    command: &Command,
    args: &[String],
    plan: &Plan,
    place: &WorkingFolder,
    guard: &TargetGuard,
) -> Result<(), Stop> {
    let kinds = TargetKinds { paths: guard.watches_paths(), urls: false, commands: true };
    targets::check(&of(command, args, plan, place, kinds), guard)
}
