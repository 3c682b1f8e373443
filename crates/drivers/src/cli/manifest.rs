//! CLI manifest: compiles the command of each contract, once.

use std::collections::HashMap;

use haft_contract::driver::manifest::{CliFields, DriverManifest, RunnerField};
use haft_model::{Code, Plan, Stop, ToolKey};

use super::command::Command;
use crate::DeclaredEntries;
use crate::declared::{metadata, unreadable, unsupported};

/// The compiled manifest.
pub(super) struct CliManifest {
    /// The manifest, from which the sandbox profile is derived, or the refusal of every call.
    manifest: Result<DriverManifest, Stop>,
    commands: HashMap<ToolKey, Result<Command, Stop>>,
}

impl CliManifest {
    /// Compiles a manifest. A mistake in it is the answer to every call that it affects.
    pub(super) fn read(declared: DeclaredEntries) -> CliManifest {
        let DeclaredEntries { manifest, serves } = declared;
        let manifest = manifest.and_then(|manifest| runs(&manifest).map(|()| manifest));
        let compile = |index: usize| {
            let manifest = manifest.as_ref().map_err(Stop::clone)?;
            let fields = program(manifest)?;
            Command::compile(manifest, fields, metadata(manifest, index)?)
        };
        let commands = serves.into_iter().map(|(tool, index)| (tool, compile(index))).collect();
        CliManifest { manifest, commands }
    }

    /// The typed manifest.
    pub(super) fn typed(&self) -> Result<&DriverManifest, Stop> {
        self.manifest.as_ref().map_err(Stop::clone)
    }

    /// The command for a call.
    pub(super) fn command(&self, plan: &Plan) -> Result<&Command, Stop> {
        self.typed()?;
        let found = self.commands.get(&plan.tool).ok_or_else(|| {
            let driver = &plan.route.driver;
            let message = format!("driver `{driver}` has no command for `{}`", plan.tool);
            Stop::new(Code::RouteNone, message)
        })?;
        found.as_ref().map_err(Stop::clone)
    }
}

fn program(manifest: &DriverManifest) -> Result<&CliFields, Stop> {
    manifest.program().ok_or_else(|| unreadable(&manifest.id, "bin"))
}

/// Checks whether calls of a manifest can run at all.
fn runs(manifest: &DriverManifest) -> Result<(), Stop> {
    program(manifest)?;
    let refused = |what: &str| Err(unsupported(&manifest.id, what));
    if let Some(field) = manifest.unsupported() {
        return refused(&format!("`{field}`"));
    }
    match &manifest.runner {
        Some(RunnerField::Elsewhere(_)) => return refused("a `runner` in another file"),
        Some(RunnerField::Block(runner)) => {
            let engine = runner.engine.as_deref().unwrap_or("subprocess");
            if engine != "subprocess" || runner.image.is_some() {
                return refused("a `runner` that is no process of this machine");
            }
        }
        None => {}
    }
    let sandbox = manifest.sandbox.as_ref();
    if sandbox.is_some_and(|sandbox| sandbox.tty.required) {
        let words = format!("driver `{}` needs a terminal, and a call has none", manifest.id);
        return Err(Stop::new(Code::SetupRequired, words)
            .help("look for an option of the program that makes it ask nothing"));
    }
    let own = sandbox.and_then(|sandbox| sandbox.network.as_ref());
    if own.into_iter().chain([&manifest.network]).any(|network| !network.ingress.is_empty()) {
        return refused("`network.ingress`");
    }
    Ok(())
}
