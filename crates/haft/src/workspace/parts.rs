//! Snapshot parts: sorts what was read into the parts of a snapshot, and findings into diagnostics.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use haft_catalog::{Parts, RoutingPolicy, Snapshot};
use haft_contract::settings::Settings;
use haft_contract::{
    Diagnostic, Driver, Finding, Interface, Lock, ManifestKind, ParsedManifest, Severity, Syntax,
    ToolManifest, agent_tool, beside, rules,
};
use rayon::prelude::*;

use crate::define::{Definitions, DriverHandle};
use crate::files::CachedManifest;
use crate::workspace::{BrokenContract, LoadOptions, program_manifests};

/// The parts of a snapshot, from the workspace's files and its program.
pub(super) struct WorkspaceParts {
    pub(super) parts: Parts,
    pub(super) findings: Vec<Finding>,
    /// The drivers whose code counts.
    pub(super) code: Vec<DriverHandle>,
}

/// The parts of a snapshot, in the order of their files, so that the same workspace always gives
/// the same snapshot.
pub(super) fn gather(
    root: &Path,
    known: &HashMap<String, CachedManifest>,
    lock: &Arc<Lock>,
    settings: &Settings,
    options: &LoadOptions,
) -> WorkspaceParts {
    let mut parts = Parts { lock: lock.clone(), routing: routing(settings), ..Parts::default() };
    let mut findings = Vec::new();
    let mut interfaces = Vec::new();
    let mut files: Vec<(&String, &CachedManifest)> = known.iter().collect();
    files.sort_by_key(|(file, _)| *file);
    for (file, known) in files {
        if let Some(broken) = broken(file, known) {
            parts.unusable.insert(broken.id, known.reading.source.file().clone());
        }
        match &known.reading.manifest {
            Some(ParsedManifest::Tool(tool)) => parts.tools.push(tool.clone()),
            Some(ParsedManifest::Action(action)) => parts.actions.push(action.clone()),
            Some(ParsedManifest::Driver(driver)) => match secrets_reference(root, driver) {
                Some(finding) if finding.rule.severity == Severity::Error => findings.push(finding),
                finding => {
                    findings.extend(finding);
                    parts.drivers.push(driver.clone());
                }
            },
            Some(ParsedManifest::Interface(interface)) => interfaces.push(interface.clone()),
            Some(
                ParsedManifest::Policy(_)
                | ParsedManifest::PolicyRule(_)
                | ParsedManifest::Governance(_)
                | ParsedManifest::Secrets(_)
                | ParsedManifest::Auth(_)
                | ParsedManifest::Block(_),
            )
            | None => {}
        }
    }
    let code =
        program_manifests::add_defined(&mut parts, &options.definitions, known, &mut findings);
    program_manifests::add_builtin(&mut parts);
    program_manifests::add_upstream(&mut parts, &options.definitions);
    for interface in interfaces {
        findings.extend(describe(&mut parts.tools, &interface));
    }
    WorkspaceParts { parts, findings, code }
}

/// The routing constraints of the workspace.
fn routing(settings: &Settings) -> RoutingPolicy {
    let workspace = &settings.workspace;
    let list = |tags: &BTreeSet<String>| tags.iter().cloned().collect();
    RoutingPolicy {
        allowed_tags: list(&workspace.policy_tags),
        denied_tags: list(&workspace.denied_tags),
        region: list(&workspace.region),
        global_matches: workspace.region_global_matches,
    }
}

/// Lets an interface tighten the tool it describes.
fn describe(tools: &mut [Arc<ToolManifest>], interface: &Interface) -> Option<Finding> {
    match tools.iter_mut().find(|tool| interface.describes(tool)) {
        Some(tool) => {
            *tool = Arc::new(agent_tool::apply(interface, tool));
            None
        }
        None => Some(Finding::new(
            rules::J046,
            &interface.file,
            "/tool_id",
            format!("the interface describes `{}`, which does not exist", interface.tool_id),
        )),
    }
}

/// Whether a driver's `auth.ref` leads to a file, and to one inside the workspace.
fn secrets_reference(root: &Path, driver: &Arc<Driver>) -> Option<Finding> {
    let reference = driver.auth.as_ref()?.reference.as_ref()?;
    if reference.starts_with('@') || reference.contains("://") {
        return None;
    }
    let Some(own) = beside(&driver.file, reference) else {
        let message = format!("`auth.ref` `{reference}` leaves the workspace");
        return Some(
            Finding::new(rules::Y010, &driver.file, "/auth/ref", message)
                .help("name a file below the workspace's root"),
        );
    };
    let from_root = beside("", reference);
    if [Some(own), from_root].into_iter().flatten().any(|place| root.join(place).is_file()) {
        return None;
    }
    let message = format!("there is no file `{reference}`");
    Some(Finding::new(rules::D060, &driver.file, "/auth/ref", message).help(
        "list its secrets in any SECRETS.md of the workspace; one that none lists stays closed",
    ))
}

/// Every diagnostic: those of the files and those of the files against each other.
pub(super) fn report(
    known: &HashMap<String, CachedManifest>,
    definitions: &Definitions,
    findings: &[Finding],
    snapshot: &Snapshot,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for known in known.values() {
        diagnostics.extend(known.reading.diagnostics.iter().cloned());
    }
    diagnostics.extend(definitions.diagnostics().cloned());
    let across: Vec<&Finding> = findings.iter().chain(snapshot.findings()).collect();
    let located =
        across.par_iter().filter_map(|finding| {
            let file = &*finding.file;
            let written = known.get(file).map(|known| &known.reading.source);
            let source = written.or_else(|| definitions.source(file))?;
            Some(finding.locate(
                source,
                ManifestKind::of(file).map_or(Syntax::Markdown, ManifestKind::syntax),
            ))
        });
    diagnostics.extend(located.collect::<Vec<_>>());
}

/// A contract's file that gave no contract.
pub(super) fn broken(file: &str, known: &CachedManifest) -> Option<BrokenContract> {
    let reading = &known.reading;
    let holds_tool =
        matches!(ManifestKind::of(file), Some(ManifestKind::Tool | ManifestKind::Json));
    if !holds_tool || reading.manifest.is_some() {
        return None;
    }
    let folder = file.rsplit('/').nth(1).unwrap_or(file);
    let error = reading.diagnostics.iter().find(|found| found.severity == Severity::Error);
    Some(BrokenContract {
        id: reading.id.clone().unwrap_or_else(|| folder.to_owned()),
        file: file.to_owned(),
        reason: error.map(|error| error.message.clone()).unwrap_or_default(),
    })
}
