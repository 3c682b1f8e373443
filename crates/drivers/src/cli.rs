//! CLI driver (AIP-29): runs one confined process per call, without a shell.
//!
//! A call that may change something counts as submitted right before its process starts. Its
//! outcome is known only if the program exits with success, or with a code that the driver vouches
//! for; every other exit leaves the effect unknown.

mod answer;
mod command;
mod line;
mod listening;
mod login;
mod manifest;
pub(crate) mod program;
mod run;
mod targets;
mod tried;

use std::sync::LazyLock;

use haft_driver::{Attempt, BoxFuture, Driver, Failure, Output, TargetKinds, Targets};
use haft_model::{Plan, Stop};
use serde_json::Value;

use crate::failure::{unsent, while_running};
use crate::watch::Watch;
use crate::{DeclaredEntries, WorkingFolder};
use command::Command;
use line::ProgramCommand;
use manifest::CliManifest;
use run::Run;

/// Parses a YAML document that a program printed.
pub(crate) type ReadYaml = fn(&str) -> Result<Value, String>;

/// A driver of kind cli. It parses its manifest on first use.
pub struct Cli {
    manifest: LazyLock<CliManifest, Box<dyn FnOnce() -> CliManifest + Send>>,
    place: WorkingFolder,
    yaml: Option<ReadYaml>,
}

impl Cli {
    /// Builds a driver over a manifest, whose programs run in a working folder.
    pub fn new(
        declared: impl FnOnce() -> DeclaredEntries + Send + 'static,
        place: WorkingFolder,
    ) -> Cli {
        let read: Box<dyn FnOnce() -> CliManifest + Send> =
            Box::new(move || CliManifest::read(declared()));
        Cli { manifest: LazyLock::new(read), place, yaml: None }
    }

    /// Adds a YAML parser, for programs that print YAML.
    pub fn reading_yaml(self, yaml: fn(&str) -> Result<Value, String>) -> Cli {
        Cli { yaml: Some(yaml), ..self }
    }

    /// The command of a call, if it may run and its input fits into a command line.
    fn prepare(&self, plan: &Plan) -> Result<(&Command, ProgramCommand), Stop> {
        let command = self.manifest.command(plan)?;
        command.can_be_read(self.yaml)?;
        Ok((command, ProgramCommand::of(command, plan)?))
    }
}

impl Driver for Cli {
    fn preflight(&self, plan: &Plan) -> Result<(), Stop> {
        self.prepare(plan).map(drop)
    }

    fn targets(&self, plan: &Plan, kinds: TargetKinds) -> Targets {
        let prepared = self.prepare(plan);
        prepared
            .and_then(|(command, line)| targets::of(self, command, &line.args, plan, kinds))
            .unwrap_or_default()
    }

    fn reports_submission(&self, plan: &Plan) -> bool {
        plan.effects.may_mutate()
    }

    fn run<'a>(&'a self, attempt: Attempt<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(async move {
            Watch::of(&attempt).check().map_err(unsent)?;
            let prepared = self.prepare(attempt.plan).map_err(while_running);
            let (command, line) = prepared.map_err(unsent)?;
            let argv = line.digest(&command.bin);
            Run { cli: self, command, attempt: &attempt, argv }.carry_out(line).await
        })
    }
}
