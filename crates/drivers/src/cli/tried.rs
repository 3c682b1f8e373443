//! Sandbox violation of a call: explains its failure by the access that the sandbox refused.

use haft_model::governing::{Base, Governing, governing};
use haft_model::host::covers;
use haft_model::{Code, EffectProfile, Stop};
use haft_sandbox::RefusedAccess;
use serde_json::{Value, json};
use std::path::Path;

/// The refusal of a call whose program was denied access. An access that the contract does not
/// declare was never authorized; one that only the driver keeps closed is the driver's to open.
pub(super) fn violation(
    tried: &[RefusedAccess],
    driver: &str,
    effects: &EffectProfile,
    root: &Path,
) -> Option<Stop> {
    let undeclared = tried.iter().find(|tried| !is_declared(tried, effects, root));
    let first = undeclared.or(tried.first())?;
    let what = wish(first, root);
    if let Some(row) = governed(first, root) {
        let words = format!("the program wanted {what}, which governs: {}", row.reason);
        return Some(crate::failure::violation(words));
    }
    Some(match undeclared {
        Some(_) => {
            let words = format!("the program wanted {what}, which the contract does not declare");
            Stop::new(Code::EffectUndeclared, words).help(
                "if that is wanted, add it to `mutates` or `requires.network` of the contract",
            )
        }
        None => {
            let words = format!("the program wanted {what}, which driver `{driver}` keeps closed");
            Stop::new(Code::SandboxViolation, words)
                .help("if that is wanted, open it under `sandbox` of the driver")
        }
    })
}

/// The rule that governs a path of the workspace, which no driver and no contract opens.
fn governed(tried: &RefusedAccess, root: &Path) -> Option<&'static Governing> {
    let RefusedAccess::Path { path, .. } = tried else { return None };
    let names = path.strip_prefix(root).ok()?.components();
    let names: Vec<_> = names.map(|name| name.as_os_str().to_string_lossy()).collect();
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    governing(Base::Workspace, &names)
}

/// The refused accesses as JSON, for the record.
pub(super) fn listed(tried: &[RefusedAccess]) -> Value {
    let one = |tried: &RefusedAccess| match tried {
        RefusedAccess::Host { host, port, why } => json!({"host": host, "port": port, "why": why}),
        RefusedAccess::Path { path, wanted } => json!({"path": path, "wanted": wanted}),
    };
    tried.iter().map(one).collect()
}

fn wish(tried: &RefusedAccess, root: &Path) -> String {
    match tried {
        RefusedAccess::Host { host, port, .. } => format!("to reach `{host}:{port}`"),
        RefusedAccess::Path { path, wanted } => {
            let path = path.strip_prefix(root).unwrap_or(path);
            format!("to {wanted} `{}`", path.display())
        }
    }
}

fn is_declared(tried: &RefusedAccess, effects: &EffectProfile, root: &Path) -> bool {
    match tried {
        RefusedAccess::Host { host, port, .. } => {
            let host = format!("{}:{port}", host.to_ascii_lowercase());
            let listed = effects.requires.network.iter();
            listed.map(|listed| listed.to_ascii_lowercase()).any(|listed| covers(&listed, &host))
        }
        RefusedAccess::Path { path, .. } => match path.strip_prefix(root) {
            Err(_) => false,
            Ok(_) if !effects.mutates_stated => effects.may_mutate(),
            Ok(path) => effects.mutates.iter().any(|entry| holds(entry, path)),
        },
    }
}

/// Whether a `workspace:` entry covers a path: the path lies in the folder or file that the entry
/// begins with.
fn holds(entry: &str, path: &Path) -> bool {
    let Some(scope) = entry.strip_prefix("workspace:") else { return false };
    let plain = scope.split('/').filter(|step| !step.is_empty());
    let folder = plain.take_while(|step| !step.contains(['*', '?', '[', '{']));
    path.starts_with(folder.collect::<std::path::PathBuf>())
}

#[cfg(test)]
mod tests;
