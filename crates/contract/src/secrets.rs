//! `SECRETS.md` (AIP-19): an inventory of secrets, and never a value.

mod lint;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use haft_model::{Grantee, SecretKind};
use serde_json::Value as Json;

use crate::read::{each, flag, json, list, owned, shared, text, whole};
use crate::shape::{check, documents};
use crate::source::Node;
use crate::{Report, Source};

/// One inventory.
#[derive(Clone, Debug, PartialEq)]
pub struct SecretsFile {
    /// The file it came from.
    pub file: Arc<str>,
    /// What it lists.
    pub secrets: Vec<SecretEntry>,
}

/// One secret: that it exists, who may use it and how it reaches them.
#[derive(Clone, Debug, PartialEq)]
pub struct SecretEntry {
    /// Its name for machines.
    pub slug: Arc<str>,
    /// Its name for people.
    pub name: Arc<str>,
    /// What it opens.
    pub description: Arc<str>,
    /// Its form.
    pub kind: SecretKind,
    /// The vault that keeps it; the host's own when absent.
    pub backend: Option<String>,
    /// Who may see it.
    pub reveal: Vec<Grantee>,
    /// Who may have it put into a process.
    pub bind: Vec<Grantee>,
    /// Who may replace it.
    pub rotate: Vec<Grantee>,
    /// What the log keeps of its use.
    pub audit: SecretAudit,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// How it reaches who uses it.
    pub exposures: Vec<Exposure>,
    /// Hints for hosts.
    pub metadata: Json,
}

/// What the log keeps of a secret's use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretAudit {
    /// For how long.
    pub retention: Option<String>,
    /// Whether it concerns people.
    pub pii: bool,
    /// How it is classified.
    pub classification: Vec<String>,
}

/// A way from the vault to who uses the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// By an environment variable.
    Env {
        /// Its name.
        name: String,
        /// The part of the secret that goes there.
        field: String,
    },
    /// By a file.
    File {
        /// Where it lies.
        path: String,
        /// The part of the secret that goes there.
        field: Option<String>,
        /// Its permissions.
        mode: u64,
    },
    /// By a placeholder that is replaced on the way out.
    EgressSubstitute {
        /// What agents write for it.
        placeholder: String,
        /// Whether it is replaced unless forbidden.
        allowed_by_default: bool,
        /// Whom it is meant for; a hint.
        intended_providers: Vec<String>,
    },
}

/// Only the owner reads it.
const PRIVATE: u64 = 0o600;

/// Reads a SECRETS.md's frontmatter.
pub(crate) fn read(source: &Source, node: &Node, report: &mut Report) -> Option<Arc<SecretsFile>> {
    check(node, &documents::secrets::SECRETS, "S001", report);
    lint::check(node, report);
    let secrets = each(node, "secrets", entry);
    Some(Arc::new(SecretsFile { file: source.file().clone(), secrets }))
}

fn entry(node: &Node) -> Option<SecretEntry> {
    let access = node.get("access");
    let grantees = |key| access.map(|access| each(access, key, grantee)).unwrap_or_default();
    Some(SecretEntry {
        slug: shared(node, "slug")?,
        name: shared(node, "name")?,
        description: shared(node, "description")?,
        kind: match text(node, "kind") {
            Some("oauth") => SecretKind::OAuth,
            Some("keypair") => SecretKind::KeyPair,
            Some("json") => SecretKind::Json,
            _ => SecretKind::Opaque,
        },
        backend: owned(node, "backend"),
        reveal: grantees("reveal"),
        bind: grantees("bind"),
        rotate: grantees("rotate"),
        audit: node.get("audit").map(audit).unwrap_or_default(),
        tags: list(node, "tags"),
        exposures: each(node, "exposures", exposure),
        metadata: json(node, "metadata").unwrap_or_default(),
    })
}

/// An entry of a kind we know. One with anything beside it may mean less than it seems, and is left out.
fn grantee(node: &Node) -> Option<Grantee> {
    let [entry] = node.entries() else { return None };
    let name = entry.value.text()?.to_owned();
    match &*entry.key {
        "role" => Some(Grantee::Role(name)),
        "userId" => Some(Grantee::User(name)),
        "cap" => Some(Grantee::Capability(name)),
        "tool" => Some(Grantee::Tool(name)),
        "workflow" => Some(Grantee::Workflow(name)),
        _ => None,
    }
}

fn audit(node: &Node) -> SecretAudit {
    SecretAudit {
        retention: owned(node, "retention"),
        pii: flag(node, "pii").unwrap_or(false),
        classification: list(node, "classification"),
    }
}

fn exposure(node: &Node) -> Option<Exposure> {
    match text(node, "kind")? {
        "env" => Some(Exposure::Env { name: owned(node, "name")?, field: owned(node, "field")? }),
        "file" => Some(Exposure::File {
            path: owned(node, "path")?,
            field: owned(node, "field"),
            mode: whole(node, "mode").unwrap_or(PRIVATE),
        }),
        "egress-substitute" => Some(Exposure::EgressSubstitute {
            placeholder: owned(node, "placeholderName")?,
            allowed_by_default: flag(node, "allowedByDefault")?,
            intended_providers: list(node, "intendedProviders"),
        }),
        _ => None,
    }
}
