//! Vault of a workspace: builds the secret store from its SECRETS.md files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use haft_contract::{Exposure, SecretEntry};
use haft_drivers::{Keeper, KeyPlace, ListedSecret, Per, SecretVariable, Strongbox, mcp};
use haft_model::{DriverKind, Secret, Timestamp};
use haft_sandbox::AddressGuard;
use serde_json::Value;

use super::HostParts;
use crate::Workspace;

/// The encrypted file of values.
const FILE: &str = ".haft/secrets.sealed";

/// The variable that holds the key itself.
const KEY_VARIABLE: &str = "HAFT_SECRETS_KEY";

/// Opens what a workspace lists.
pub(super) fn keeper(workspace: &Workspace, given: &HostParts) -> Keeper {
    Keeper {
        inventory: inventory(workspace),
        strongbox: Strongbox::new(workspace.root().join(FILE), key_place(given)),
        variable,
        guard: guard(workspace, given),
        clock: Timestamp::now,
    }
}

/// The location of the key: set by the program, in the environment, or among the person's settings.
pub(super) fn key_place(given: &HostParts) -> KeyPlace {
    if let Some(file) = &given.secrets_key {
        return KeyPlace { given: None, file: Some(file.clone()) };
    }
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let settings = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")));
    KeyPlace {
        given: std::env::var(KEY_VARIABLE).ok().map(Secret::new),
        file: settings.map(|folder| folder.join("haft/secrets.key")),
    }
}

/// The environment of this process, as far as others may have it: never the key.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|_| name != KEY_VARIABLE)
}

/// The environment variables that hold secrets of a workspace: those that an inventory names, and
/// those that a slug stands for.
pub(super) fn variables(workspace: &Workspace) -> BTreeSet<String> {
    let named = inventory(workspace).into_iter().flat_map(|listed| {
        let own = listed.slug.to_ascii_uppercase().replace(['-', '/'], "_");
        let backend = listed.backend.as_deref().and_then(|at| at.strip_prefix("env://"));
        let backend = backend.map(str::to_owned);
        listed
            .names
            .into_iter()
            .map(|named| named.name)
            .chain([own])
            .chain(backend)
            .collect::<Vec<_>>()
    });
    named.collect()
}

/// The merged inventory; of two entries with one slug the first file by name has it.
fn inventory(workspace: &Workspace) -> Vec<ListedSecret> {
    let mut seen = BTreeSet::new();
    let files = workspace.rulebook().secrets.iter();
    let entries = files.flat_map(|file| &file.secrets);
    entries.filter(|entry| seen.insert(entry.slug.clone())).map(listed).collect()
}

fn listed(entry: &SecretEntry) -> ListedSecret {
    ListedSecret {
        slug: entry.slug.to_string(),
        kind: entry.kind,
        bind: entry.bind.clone(),
        rotate: entry.rotate.clone(),
        names: names(entry),
        backend: entry.backend.clone(),
        per: per(&entry.metadata),
    }
}

/// The variables that an entry goes by: those of its exposures, and those of `metadata.bindings.env`.
fn names(entry: &SecretEntry) -> Vec<SecretVariable> {
    let exposed = entry.exposures.iter().filter_map(|exposure| match exposure {
        Exposure::Env { name, field } => {
            Some(SecretVariable { name: name.clone(), field: Some(field.clone()) })
        }
        Exposure::File { .. } | Exposure::EgressSubstitute { .. } => None,
    });
    let bound = match entry.metadata.pointer("/bindings/env") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(name)) => vec![name.as_str()],
        Some(_) | None => Vec::new(),
    };
    let bound = bound.into_iter().map(|name| SecretVariable { name: name.to_owned(), field: None });
    exposed.chain(bound).collect()
}

/// The scope of a secret's values. An unknown word counts as the stricter one.
fn per(metadata: &Value) -> Per {
    match metadata.pointer("/haft/per") {
        None => Per::Workspace,
        Some(Value::String(word)) if word == "workspace" => Per::Workspace,
        Some(_) => Per::Actor,
    }
}

/// The egress guard of token refresh: public addresses, and private services that an AUTH.md, or
/// the driver of an MCP server, names.
pub(super) fn guard(workspace: &Workspace, given: &HostParts) -> AddressGuard {
    let named = workspace.rulebook().auth.iter().filter_map(|auth| {
        let url = AddressGuard::named(&auth.api_base).ok()?;
        Some((url.host().to_owned(), url.port()))
    });
    let guard = given.addresses.clone();
    let guard = named.fold(guard, |guard, (host, port)| guard.allowing(&host, port));
    let drivers =
        workspace.callable_drivers().into_iter().filter(|driver| driver.kind == DriverKind::Mcp);
    let manifests = drivers.filter_map(|driver| driver.manifest().ok());
    manifests.fold(guard, |guard, manifest| mcp::opened(guard, &manifest))
}

/// The path that the sandbox hides from every program: the key, also one that is made later.
pub(super) fn hidden(given: &HostParts) -> Option<PathBuf> {
    let file = key_place(given).file?;
    match given.secrets_key {
        Some(_) => Some(file),
        None => file.parent().map(Path::to_owned),
    }
}
