//! Targets of a command line: the programs that it starts, and the files that its input names.

use haft_driver::{TargetGuard, TargetKinds, Targets};
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
    let (root, mut told) = targets::of_input(plan, kinds, place);
    let Some(root) = root else { return told };
    if kinds.commands {
        let argv: Vec<String> = std::iter::once(&command.bin).chain(args).cloned().collect();
        told.commands.push(targets::command(&argv, &command.driver, place, &root));
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
