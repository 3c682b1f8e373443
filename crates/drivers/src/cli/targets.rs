//! Targets of a command line: the programs that it starts, the files that its input names, and the
//! paths that its manifest opens for writing.

use haft_driver::{TargetGuard, TargetKinds, Targets};
use haft_model::{Plan, Stop};

use super::Cli;
use super::command::Command;
use crate::targets;

/// The targets of a call. Programs start at the workspace root, so input paths are relative to it.
pub(super) fn of(
    cli: &Cli,
    command: &Command,
    args: &[String],
    plan: &Plan,
    kinds: TargetKinds,
) -> Result<Targets, Stop> {
    let place = &cli.place;
    let (root, mut told) = targets::of_call(plan, kinds, cli.manifest.typed()?, place);
    let Some(root) = root else { return Ok(told) };
    if kinds.commands {
        let argv: Vec<String> = std::iter::once(&command.bin).chain(args).cloned().collect();
        told.commands.push(targets::command(&argv, &command.driver, place, &root));
    }
    Ok(told)
}

/// Refuses a command line that differs from the authorized one, or that the policy denies.
pub(super) fn check(
    cli: &Cli,
    command: &Command,
    args: &[String],
    plan: &Plan,
    guard: &TargetGuard,
) -> Result<(), Stop> {
    let kinds = TargetKinds { paths: guard.watches_paths(), urls: false, commands: true };
    targets::check(&of(cli, command, args, plan, kinds)?, guard)
}
