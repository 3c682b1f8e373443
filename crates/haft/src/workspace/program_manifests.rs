//! Program-supplied manifests: contracts and drivers that are in a catalog without a file.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use haft_catalog::Parts;
use haft_contract::{Driver, Finding, Implements, ManifestKind, ToolManifest, rules};
use haft_model::{Digest, DriverKind, ToolKey};

use crate::define::{Definitions, DriverHandle};
use crate::files::CachedManifest;
use crate::{BUILTIN_DRIVER, builtin};

/// Adds what the program defines. A file of the same id wins, and says so where it says something
/// else. Gives the drivers whose code counts here.
pub(super) fn add_defined(
    parts: &mut Parts,
    definitions: &Definitions,
    known: &HashMap<String, CachedManifest>,
    findings: &mut Vec<Finding>,
) -> Vec<DriverHandle> {
    for defined in definitions.tools.iter().map(|defined| &defined.value) {
        let own = parts
            .tools
            .iter()
            .find(|tool| tool.key == defined.key && !parts.given.contains(&tool.key));
        if let Some(own) = own {
            findings.extend(conflict(&own.file, "/id", &told_apart(own, defined)));
        } else if !parts.unusable.contains_key(defined.key.id.as_str()) {
            parts.given.insert(defined.key.clone());
            parts.tools.push(defined.clone());
        }
    }
    let files = parts.drivers.len();
    let mut counting = Vec::new();
    for handle in &definitions.drivers {
        let defined = handle.manifest();
        let own = parts.drivers.iter().take(files).find(|driver| driver.id == defined.id);
        // The code of a driver whose file is of another kind is not what that file speaks of.
        let counts = match own {
            Some(own) => {
                findings.extend(conflict(&own.file, "/id", &differences(own, defined)));
                own.kind == DriverKind::Builtin
            }
            None if is_broken(known, defined.id.as_str()) => false,
            None => {
                parts.given_drivers.insert(defined.id.clone());
                parts.drivers.push(defined.clone());
                defined.id.as_str() != BUILTIN_DRIVER
            }
        };
        let first = counting.iter().all(|other: &DriverHandle| other.id() != handle.id());
        counting.extend((counts && first).then(|| handle.clone()));
    }
    counting
}

/// Whether there is a driver's file of an id that cannot be used.
fn is_broken(known: &HashMap<String, CachedManifest>, id: &str) -> bool {
    known.iter().any(|(file, known)| {
        matches!(ManifestKind::of(file), Some(ManifestKind::Driver | ManifestKind::Cli))
            && known.reading.manifest.is_none()
            && known.reading.id.as_deref() == Some(id)
    })
}

fn conflict(file: &Arc<str>, place: &str, fields: &[&str]) -> Option<Finding> {
    if fields.is_empty() {
        return None;
    }
    let message = format!("code defines the same id with another `{}`", fields.join("`, `"));
    Some(
        Finding::new(rules::Y013, file, place, message)
            .help("the file counts; let both say the same, or take one away"),
    )
}

/// The fields in which a contract of a file and one of code differ.
fn told_apart(file: &ToolManifest, code: &ToolManifest) -> Vec<&'static str> {
    let fields = [
        ("version", file.version != code.version),
        ("description", file.description != code.description),
        ("inputs", Digest::of(&file.inputs) != Digest::of(&code.inputs)),
        ("outputs", Digest::of(&file.outputs) != Digest::of(&code.outputs)),
        ("mutates", file.mutates != code.mutates),
        ("requires", file.requires != code.requires),
        ("approval", file.approval != code.approval),
        ("risk_level", file.risk != code.risk),
        ("timeout_ms", file.timeout_ms != code.timeout_ms),
        ("class", file.extras.classes != code.extras.classes),
    ];
    fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// The fields in which a driver of a file and one of code differ.
fn differences(file: &Driver, code: &Driver) -> Vec<&'static str> {
    let served = |driver: &Driver| {
        let entries = driver.implements.iter();
        entries.map(|entry| (entry.tool.clone(), entry.range_text.clone())).collect::<HashSet<_>>()
    };
    let fields = [
        ("kind", file.kind != code.kind),
        ("version", file.version != code.version),
        ("implements", served(file) != served(code)),
        ("region", file.region != code.region),
        ("policy_tags", file.policy_tags != code.policy_tags),
    ];
    fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// Adds the builtin contracts that the workspace has not its own of, and their driver.
pub(super) fn add_builtin(parts: &mut Parts) {
    let own: HashSet<ToolKey> = parts.tools.iter().map(|tool| tool.key.clone()).collect();
    // One that its author got wrong may be stricter than ours, which must not take its place.
    let free = |tool: &&Arc<ToolManifest>| {
        !own.contains(&tool.key) && !parts.unusable.contains_key(tool.key.id.as_str())
    };
    let tools: Vec<Arc<ToolManifest>> = builtin::tools().filter(free).cloned().collect();
    if let Some(driver) = builtin::driver() {
        // Its id is taken before any file can take it.
        parts.given_drivers.insert(driver.id.clone());
        parts.drivers.insert(0, serving(driver, &tools, &parts.tools));
    }
    parts.given.extend(tools.iter().map(|tool| tool.key.clone()));
    parts.tools.extend(tools);
}

/// Adds what reaches prompts and resources, where some driver has a backend that may have them.
pub(super) fn add_upstream(parts: &mut Parts, definitions: &Definitions) {
    let of_code = definitions.drivers.iter().any(|driver| driver.code().backend().is_some());
    let of_files = parts.drivers.iter().any(|driver| driver.kind == DriverKind::Mcp);
    let Some((tool, driver)) = builtin::upstream().filter(|_| of_code || of_files) else { return };
    let taken = parts.tools.iter().any(|own| own.key.id == tool.key.id)
        || parts.drivers.iter().any(|own| own.id == driver.id);
    if !taken {
        parts.given.insert(tool.key.clone());
        parts.tools.push(tool.clone());
        parts.given_drivers.insert(driver.id.clone());
        parts.drivers.push(driver.clone());
    }
}

/// The builtin driver with the entries that hold here: those for builtin contracts, and those for
/// contracts of the workspace that ask for it by name. Others of the same id may mean something else.
fn serving(
    driver: &Arc<Driver>,
    builtin: &[Arc<ToolManifest>],
    own: &[Arc<ToolManifest>],
) -> Arc<Driver> {
    let holds = |entry: &Implements| {
        let mut matching = own.iter().filter(|tool| {
            tool.key.id.as_str() == entry.tool && entry.range.contains(&tool.version)
        });
        match matching.next() {
            Some(first) => std::iter::once(first)
                .chain(matching)
                .all(|tool| tool.default_implementation.as_ref() == Some(&driver.id)),
            None => builtin.iter().any(|tool| tool.key.id.as_str() == entry.tool),
        }
    };
    if driver.implements.iter().all(holds) {
        return driver.clone();
    }
    let mut fewer = Driver::clone(driver);
    fewer.implements.retain(holds);
    Arc::new(fewer)
}
