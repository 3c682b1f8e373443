//! Secret inventory: `SECRETS.md` (AIP-19) lists secrets and never holds a value.

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

/// One secret inventory.
#[derive(Clone, Debug, PartialEq)]
pub struct SecretsFile {
    /// The file it came from.
    pub file: Arc<str>,
    /// The entries, in the order of the file.
    pub secrets: Vec<SecretEntry>,
}

/// One secret: its name, its grantees and its exposures, never its value.
#[derive(Clone, Debug, PartialEq)]
pub struct SecretEntry {
    /// Its name for machines.
    pub slug: Arc<str>,
    /// Its name for people.
    pub name: Arc<str>,
    /// The description of what it opens.
    pub description: Arc<str>,
    /// The form of the value.
    pub kind: SecretKind,
    /// The vault that stores it; the host's own when absent.
    pub backend: Option<String>,
    /// Grantees that may see the value.
    pub reveal: Vec<Grantee>,
    /// Grantees that may have it bound into a process.
    pub bind: Vec<Grantee>,
    /// Grantees that may rotate it.
    pub rotate: Vec<Grantee>,
    /// Audit settings of its use.
    pub audit: SecretAudit,
    /// Words that search matches.
    pub tags: Vec<String>,
    /// How the value reaches its consumer.
    pub exposures: Vec<Exposure>,
    /// Hints for hosts; Haft keeps them unread.
    pub metadata: Json,
}

/// Audit settings of a secret's use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretAudit {
    /// How long the log keeps the records.
    pub retention: Option<String>,
    /// Whether the secret is personal data.
    pub pii: bool,
    /// The data classifications of the use.
    pub classification: Vec<String>,
}

/// How a secret reaches its consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// An environment variable.
    Env {
        /// The variable's name.
        name: String,
        /// The part of the secret that goes there.
        field: String,
    },
    /// A file that holds the value.
    File {
        /// The file's path.
        path: String,
        /// The part of the secret that goes there.
        field: Option<String>,
        /// The file's permission bits.
        mode: u64,
    },
    /// A placeholder that the egress proxy replaces with the value.
    EgressSubstitute {
        /// The placeholder that agents write.
        placeholder: String,
        /// Whether substitution is on unless a rule forbids it.
        allowed_by_default: bool,
        /// The providers it is meant for; a hint.
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
