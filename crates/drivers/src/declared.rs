//! Declared driver: the typed manifest of a driver, and the contract that each entry serves.

use haft_contract::driver::manifest::{DriverManifest, EntryMetadata};
use haft_model::{Code, Plan, Stop, ToolKey};
use serde_json::{Map, Value};

/// A manifest, and which of its entries serves which contract.
#[derive(Clone, Debug)]
pub struct DeclaredEntries {
    /// The typed manifest, or the refusal of every call where it cannot be read.
    pub manifest: Result<DriverManifest, Stop>,
    /// Each contract, with the index of its entry under `implements`.
    pub serves: Vec<(ToolKey, usize)>,
}

impl DeclaredEntries {
    /// The manifest, if it can be read.
    pub(crate) fn manifest(&self) -> Result<&DriverManifest, Stop> {
        self.manifest.as_ref().map_err(Stop::clone)
    }

    /// The driver's id.
    pub(crate) fn id(&self) -> &str {
        self.manifest.as_ref().map(|manifest| manifest.id.as_str()).unwrap_or_default()
    }

    /// The metadata of the entry that serves a plan's contract.
    pub(crate) fn entry(&self, plan: &Plan) -> Result<&EntryMetadata, Stop> {
        let served = self.serves.iter().find(|(tool, _)| *tool == plan.tool);
        let (_, index) = served.ok_or_else(|| {
            let words = format!("driver `{}` does not serve `{}`", self.id(), plan.tool);
            Stop::new(Code::RouteNone, words)
        })?;
        metadata(self.manifest()?, *index)
    }
}

/// The metadata of an entry under `implements`.
pub(crate) fn metadata(manifest: &DriverManifest, index: usize) -> Result<&EntryMetadata, Stop> {
    let entry = manifest.implements.get(index).map(|entry| &entry.metadata);
    entry.ok_or_else(|| unreadable(&manifest.id, &format!("implements.{index}")))
}

/// The refusal of a manifest in which a field is missing.
pub(crate) fn unreadable(driver: &str, field: &str) -> Stop {
    let words = format!("driver `{driver}`: `{field}` cannot be read");
    Stop::new(Code::SetupRequired, words).help("run `haft check`")
}

/// The field under which the output, which must be an object, holds the answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wrap(pub(crate) Option<String>);

impl Wrap {
    /// Wraps an answer for the output.
    pub(crate) fn around(&self, answer: Value) -> Value {
        match &self.0 {
            Some(name) => Value::Object(Map::from_iter([(name.clone(), answer)])),
            None => answer,
        }
    }
}

/// The refusal of a manifest field that this version does not support.
pub(crate) fn unsupported(driver: &str, what: &str) -> Stop {
    let message = format!("driver `{driver}` uses {what}, which this version cannot run");
    Stop::new(Code::SetupRequired, message).help("leave it out, or write the driver in Rust")
}
