//! Hooks of haft.toml: the tools they match, the sandbox they run in, and the secret that signs
//! requests.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::settings::{Hook as Wished, HookEvent, HookTarget, Sandbox};
use haft_driver::Hook;
use haft_drivers::{Concern, HttpHook, Keeper, Post, ProgramHook, WorkingFolder};
use haft_model::{Glob, HookPoint, Plan, Timestamp, ToolKey};
use haft_sandbox::{Launcher, Walls};

use super::{HostParts, vault};
use crate::Workspace;

/// Every hook of the workspace, in the order of the file.
pub(super) fn of(
    workspace: &Workspace,
    given: &HostParts,
    vault: &Arc<Keeper>,
) -> Vec<Arc<dyn Hook>> {
    let aliases = Arc::new(aliases(workspace));
    let place = place(workspace, given);
    let hooks = workspace.settings().hooks.iter();
    hooks.map(|wished| hook(wished, &aliases, &place, vault)).collect()
}

fn hook(
    wished: &Wished,
    aliases: &Arc<HashMap<ToolKey, Vec<String>>>,
    place: &WorkingFolder,
    vault: &Arc<Keeper>,
) -> Arc<dyn Hook> {
    let post = Post {
        name: name(wished, place),
        point: point(wished.event),
        concerns: concern(&wished.tool, aliases.clone()),
        timeout: Duration::from_millis(wished.timeout_ms),
        may_allow: wished.may_allow,
    };
    match &wished.target {
        HookTarget::Run(command) => {
            Arc::new(ProgramHook::new(post, command.clone(), place.clone()))
        }
        HookTarget::Url(url) => {
            let secret = wished.secret.clone().map(|slug| (vault.clone(), slug));
            Arc::new(HttpHook::new(post, url.clone(), secret, Timestamp::now))
        }
    }
}

/// The name of a hook; an unconfined hook says so wherever it is named.
fn name(wished: &Wished, place: &WorkingFolder) -> String {
    match (&wished.target, &place.walls) {
        (HookTarget::Run(command), Walls::Off) => format!("{} (unconfined)", command.join(" ")),
        (HookTarget::Run(command), Walls::By(_) | Walls::Bubblewrap(..) | Walls::Missing) => {
            command.join(" ")
        }
        (HookTarget::Url(url), _) => url.clone(),
    }
}

fn point(event: HookEvent) -> HookPoint {
    match event {
        HookEvent::PreToolUse => HookPoint::PreToolUse,
        HookEvent::PostToolUse => HookPoint::PostToolUse,
        HookEvent::PostToolUseFailure => HookPoint::PostToolUseFailure,
        HookEvent::PermissionRequest => HookPoint::PermissionRequest,
        HookEvent::PermissionDecision => HookPoint::PermissionDecision,
        HookEvent::ResultPersistence => HookPoint::ResultPersistence,
    }
}

/// Whether a pattern matches a tool, by its id or by any of its aliases. Whichever name a caller
/// uses, the hook runs.
fn concern(tools: &str, aliases: Arc<HashMap<ToolKey, Vec<String>>>) -> Concern {
    let tools = Glob::new(tools);
    Arc::new(move |plan: &Plan| {
        let others = aliases.get(&plan.tool).into_iter().flatten();
        tools.matches(plan.tool.id.as_str()) || others.into_iter().any(|name| tools.matches(name))
    })
}

/// The other names of every tool, also those that mean another tool when they are called.
fn aliases(workspace: &Workspace) -> HashMap<ToolKey, Vec<String>> {
    let entries = workspace.snapshot().entries();
    let named = entries
        .map(|entry| (entry.contract.key().clone(), entry.contract.tool.extras.aliases.clone()));
    named.filter(|(_, aliases)| !aliases.is_empty()).collect()
}

/// The working folder of programs: the workspace, without Haft's own state.
pub(super) fn place(workspace: &Workspace, given: &HostParts) -> WorkingFolder {
    let own = || given.launcher.clone().or_else(Launcher::own);
    let walls = match workspace.settings().workspace.sandbox {
        Sandbox::On => Walls::here(own()),
        Sandbox::Off => Walls::Off,
    };
    let mut hidden = vec![PathBuf::from(".haft")];
    hidden.extend(workspace.state_files());
    hidden.extend(vault::hidden(given));
    let inside =
        |path: PathBuf| path.strip_prefix(workspace.root()).map_or(path.clone(), Into::into);
    let hidden = hidden.into_iter().map(inside).collect();
    WorkingFolder {
        root: workspace.root().to_owned(),
        hidden,
        programs: workspace.executed_files().into_iter().map(PathBuf::from).collect(),
        walls,
        guard: given.addresses.clone(),
        variable: vault::variable,
        secrets: vault::variables(workspace),
    }
}
