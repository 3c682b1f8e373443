//! Declared driver: the manifest of a driver, and the contract that each entry serves.

use haft_model::{Code, Plan, Stop, ToolKey};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A manifest, and which of its entries serves which contract.
#[derive(Clone, Debug)]
pub struct DeclaredEntries {
    /// The whole parsed manifest of the DRIVER.md.
    pub manifest: Value,
    /// Each contract, with the index of its entry under `implements`.
    pub serves: Vec<(ToolKey, usize)>,
}

impl DeclaredEntries {
    /// The driver's id.
    pub(crate) fn id(&self) -> &str {
        self.manifest.get("id").and_then(Value::as_str).unwrap_or_default()
    }

    /// Reads `metadata.<kind>` of the entry that serves a plan's contract.
    pub(crate) fn entry<T: DeserializeOwned>(&self, plan: &Plan, kind: &str) -> Result<T, Stop> {
        let served = self.serves.iter().find(|(tool, _)| *tool == plan.tool);
        let (_, index) = served.ok_or_else(|| {
            let words = format!("driver `{}` does not serve `{}`", self.id(), plan.tool);
            Stop::new(Code::RouteNone, words)
        })?;
        self.part(&format!("/implements/{index}/metadata/{kind}"))
    }

    /// Reads one part of the manifest; an absent part reads as an empty object.
    pub(crate) fn part<T: DeserializeOwned>(&self, pointer: &str) -> Result<T, Stop> {
        let found = self.manifest.pointer(pointer).cloned();
        let value = found.unwrap_or_else(|| Value::Object(Map::new()));
        serde_json::from_value(value).map_err(|fault| {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            let words = format!("driver `{}`: `{field}` cannot be read: {fault}", self.id());
            Stop::new(Code::SetupRequired, words).help("run `haft check`")
        })
    }
}

/// The field under which the output, which must be an object, holds the answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Wrap(Option<String>);

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
