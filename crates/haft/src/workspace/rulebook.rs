//! Rulebook: policies, rules, governance and the secret inventory of a workspace.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use haft_catalog::Snapshot;
use haft_contract::governance::{merge, resolve_chain};
use haft_contract::{
    AuthFile, Diagnostic, Finding, GovernanceFile, ManifestKind, ParsedManifest, SecretsFile,
    beside, did_you_mean, rules,
};
use haft_model::{Governance, Policy, PolicyRule};

use crate::files::CachedManifest;

/// The root file of the governance.
const ROOT: &str = "GOVERNANCE.md";

/// The governing documents, read and checked; authorization happens elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Rulebook {
    /// AIP-38 grants, in the order of their files.
    pub policies: Vec<Arc<Policy>>,
    /// AIP-7 rules, in the order of their files.
    pub rules: Vec<Arc<PolicyRule>>,
    /// The governance with its parents merged in.
    pub governance: Governance,
    /// Whether every governing document could be read. Where one could not, its denials are
    /// unknown, and authorization fails closed.
    pub complete: bool,
    /// The secret inventories; never a value.
    pub secrets: Vec<Arc<SecretsFile>>,
    /// The login flows of services.
    pub auth: Vec<Arc<AuthFile>>,
}

/// Sorts the governing documents out of what was read.
pub(super) fn gather(
    root: &Path,
    known: &HashMap<String, CachedManifest>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Rulebook, Vec<Finding>) {
    let mut rulebook = Rulebook { complete: true, ..Rulebook::default() };
    let mut findings = Vec::new();
    let mut names = PolicyNames::default();
    let mut governance: BTreeMap<String, Arc<GovernanceFile>> = BTreeMap::new();
    let mut files: Vec<(&String, &CachedManifest)> = known.iter().collect();
    files.sort_by_key(|(file, _)| *file);
    for (file, known) in files {
        let governs =
            matches!(ManifestKind::of(file), Some(ManifestKind::Policy | ManifestKind::Governance));
        rulebook.complete &= known.reading.manifest.is_some() || !governs;
        match &known.reading.manifest {
            Some(ParsedManifest::Policy(policy)) => {
                findings.extend(names.repeated(known, "/id", &policy.id));
                rulebook.policies.push(policy.clone());
            }
            Some(ParsedManifest::PolicyRule(rule)) => {
                findings.extend(names.repeated(known, "/slug", &rule.slug));
                rulebook.rules.push(rule.clone());
            }
            Some(ParsedManifest::Secrets(secrets)) => rulebook.secrets.push(secrets.clone()),
            Some(ParsedManifest::Auth(auth)) => rulebook.auth.push(auth.clone()),
            Some(ParsedManifest::Governance(file_of)) => {
                governance.insert(file.clone(), file_of.clone());
            }
            Some(
                ParsedManifest::Tool(_)
                | ParsedManifest::Driver(_)
                | ParsedManifest::Action(_)
                | ParsedManifest::Interface(_)
                | ParsedManifest::Block(_),
            )
            | None => {}
        }
    }
    let (chain, found) = resolve_chain(ROOT, &governance);
    rulebook.complete &= found.is_empty();
    diagnostics.extend(found);
    let chain: Vec<&GovernanceFile> = chain.iter().map(|file| &**file).collect();
    let (merged, found) = merge(&chain);
    diagnostics.extend(found);
    rulebook.governance = merged;
    findings.extend(repeated_slugs(&rulebook.secrets));
    findings.extend(chain.iter().flat_map(|file| unresolvable(root, file)));
    (rulebook, findings)
}

/// A slug names one secret in the whole workspace; the first file by name keeps it.
fn repeated_slugs(files: &[Arc<SecretsFile>]) -> Vec<Finding> {
    let mut seen: HashMap<&str, &Arc<str>> = HashMap::new();
    let mut findings = Vec::new();
    for file in files {
        for (index, secret) in file.secrets.iter().enumerate() {
            match seen.get(&*secret.slug) {
                Some(first) if **first != file.file => findings.push(
                    Finding::new(
                        rules::S041,
                        &file.file,
                        &format!("/secrets/{index}/slug"),
                        format!("`{}` is already listed in {first}", secret.slug),
                    )
                    .help("give it another slug"),
                ),
                Some(_) => {}
                None => {
                    seen.insert(&secret.slug, &file.file);
                }
            }
        }
    }
    findings
}

/// The names policies give themselves, and the files that gave them first.
#[derive(Default)]
struct PolicyNames<'k>(HashMap<&'k str, &'k Arc<str>>);

impl<'k> PolicyNames<'k> {
    fn repeated(
        &mut self,
        known: &'k CachedManifest,
        place: &str,
        name: &'k str,
    ) -> Option<Finding> {
        let file = known.reading.source.file();
        match self.0.get(name) {
            None => {
                self.0.insert(name, file);
                None
            }
            Some(first) => {
                let message = format!("`{name}` already names the policy in {first}");
                let finding = Finding::new(rules::P050, file, place, message);
                Some(finding.help("give it another name"))
            }
        }
    }
}

/// Paths that a file of governance names and that lead nowhere: consumers and policies.
fn unresolvable(root: &Path, file: &GovernanceFile) -> Vec<Finding> {
    let there = |name: &str| beside(file.file(), name).is_some_and(|path| root.join(path).exists());
    let consumers = file
        .applies_to
        .iter()
        .enumerate()
        .map(|(index, name)| (rules::G157, format!("/appliesTo/{index}"), name));
    let policies =
        file.policies.iter().enumerate().map(|(index, policy)| {
            (rules::G158, format!("/policies/{index}/ref"), &policy.reference)
        });
    let is_path = |name: &str| {
        !name.contains("://")
            && !name.starts_with('@')
            && (name.contains('/') || name.ends_with(".md"))
    };
    consumers
        .chain(policies)
        .filter(|(_, _, name)| is_path(name) && !there(name))
        .map(|(rule, place, name)| {
            let message = format!("there is nothing at `{name}` in this workspace");
            Finding::new(rule, file.file(), &place, message)
        })
        .collect()
}

impl Rulebook {
    /// Contracts that defer to a policy that does not exist.
    pub(super) fn unknown_policies(&self, snapshot: &Snapshot) -> Vec<Finding> {
        let mut findings = Vec::new();
        for entry in snapshot.entries() {
            let tool = &entry.contract.tool;
            for name in tool.approval.iter().flat_map(|approval| &approval.policies) {
                if self.names().any(|known| known == name || *known == name.replace('/', "-")) {
                    continue;
                }
                let finding = Finding::new(
                    rules::T056,
                    &tool.file,
                    "/approval",
                    format!("there is no policy `{name}`, so every call would be refused"),
                );
                findings.push(match did_you_mean(name, self.names().map(String::as_str)) {
                    Some(near) => finding.help(format!("did you mean `policy:{near}`?")),
                    None => {
                        finding.help("write it as an AIP-7 policy, or name it in GOVERNANCE.md")
                    }
                });
            }
        }
        findings
    }

    /// Every name that `policy:<name>` can mean.
    fn names(&self) -> impl Iterator<Item = &String> {
        self.governance.policies.keys().chain(self.rules.iter().map(|rule| &rule.slug))
    }
}
