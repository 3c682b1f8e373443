//! Published schemas: validates manifests against the JSON Schemas of the AIPs, on request.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use haft_contract::{Diagnostic, ManifestKind, Reading, Report, rules, source};
use haft_notation::Library;
use serde_json::Value;

use crate::Error;

/// A folder of published schemas, compiled.
pub(crate) struct PublishedSchemas {
    schemas: BTreeMap<&'static str, haft_notation::Schema>,
}

/// The schemas we know how to use, by file name without `.schema.json`.
const NAMES: [&str; 12] = [
    "TOOL",
    "DRIVER",
    "CLI",
    "HTTP",
    "MCP",
    "SDK",
    "ACTION",
    "POLICY",
    "GOVERNANCE",
    "SECRETS",
    "AUTH",
    "SANDBOX",
];

impl PublishedSchemas {
    /// Reads every schema of a folder.
    pub(crate) fn read(folder: &Path) -> Result<PublishedSchemas, Error> {
        let no_schemas = |reason: String| Error::NoSchemas { folder: folder.to_owned(), reason };
        let listed = fs::read_dir(folder)
            .map_err(|cause| Error::Unreadable { path: folder.to_owned(), cause })?;
        let mut documents: BTreeMap<String, Value> = BTreeMap::new();
        for entry in listed.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(name) = name.strip_suffix(".schema.json") else { continue };
            let text = fs::read_to_string(entry.path())
                .map_err(|cause| Error::Unreadable { path: entry.path(), cause })?;
            let document = serde_json::from_str(&text)
                .map_err(|cause| no_schemas(format!("{name}.schema.json is not JSON: {cause}")))?;
            documents.insert(name.to_owned(), document);
        }
        let library =
            Library::new(addresses(&documents)).map_err(|fault| no_schemas(fault.message))?;
        let mut schemas = BTreeMap::new();
        for name in NAMES {
            let Some(document) = documents.get(name) else { continue };
            let schema = library.compile(document).map_err(|fault| no_schemas(fault.message))?;
            schemas.insert(name, schema);
        }
        if schemas.is_empty() {
            return Err(no_schemas("there is no TOOL.schema.json in it".into()));
        }
        Ok(PublishedSchemas { schemas })
    }

    /// Validates a manifest against the published schemas.
    pub(crate) fn check(&self, reading: &Reading) -> Vec<Diagnostic> {
        let source = &reading.source;
        let mut scratch = Report::new(source);
        let Some(kind) = ManifestKind::of(source.file()) else { return Vec::new() };
        let Some(node) = source::parse(source, kind.syntax(), &mut scratch) else {
            return Vec::new();
        };
        let value = node.to_json();
        let mut report = Report::new(source);
        for name in names(kind, &value) {
            let Some(schema) = self.schemas.get(name) else { continue };
            for violation in schema.violations(&value) {
                report.add(
                    &rules::Y020,
                    node.nearest(&violation.pointer).span.clone(),
                    format!("{name}.schema.json: {}", violation.message),
                );
            }
        }
        report.into_diagnostics()
    }
}

/// Which published schemas a manifest has to fit, the general one first.
fn names(kind: ManifestKind, value: &Value) -> Vec<&'static str> {
    match kind.published() {
        Some("DRIVER") => {
            let own = match value.get("kind").and_then(Value::as_str) {
                Some("http") => Some("HTTP"),
                Some("mcp") => Some("MCP"),
                Some("sdk") => Some("SDK"),
                _ => None,
            };
            std::iter::once("DRIVER").chain(own).collect()
        }
        Some("POLICY") => match value.get("schema").and_then(Value::as_str) {
            Some("agentgovernance/v1") => vec!["GOVERNANCE"],
            _ => vec!["POLICY"],
        },
        other => other.into_iter().collect(),
    }
}

/// Every address under which one published schema refers to another: the places they name differ
/// from the places they say they are at.
fn addresses(documents: &BTreeMap<String, Value>) -> Vec<(String, Value)> {
    let mut addresses = Vec::new();
    for (name, document) in documents {
        let own = document.get("$id").and_then(Value::as_str).unwrap_or_default();
        let file = format!("/{name}.schema.json");
        let number = own.split('/').find(|step| step.starts_with("aip-")).unwrap_or("aip-0");
        for base in [
            "https://agentproto.sh/docs",
            "https://agentproto.sh/schemas",
            "https://agentproto.dev/schemas",
        ] {
            addresses.push((format!("{base}/{number}{file}"), document.clone()));
        }
        if !own.is_empty() {
            addresses.push((own.to_owned(), document.clone()));
        }
    }
    addresses.sort_by(|a, b| a.0.cmp(&b.0));
    addresses.dedup_by(|a, b| a.0 == b.0);
    addresses
}
