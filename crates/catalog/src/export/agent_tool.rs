//! Agent Tool export (v0.2.0): declaration, interface and both profiles of every tool.

mod declaration;
mod execution;
mod interface;
mod kept;
mod native;
mod permission;

use haft_contract::Implements;
use haft_model::ToolKey;
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use super::Offer;
use kept::SourceRecords;

/// All records of all offers.
pub(super) fn records(offers: &[Offer<'_>]) -> Json {
    let all = |record: fn(&Offer<'_>) -> Json| offers.iter().map(record).collect::<Vec<_>>();
    json!({
        "declarations": all(|offer| kept(offer, "declaration", &declaration::record(offer))),
        "interfaces": all(|offer| kept(offer, "interface", &interface::record(offer))),
        "permission_profiles":
            all(|offer| kept(offer, "permission_profile", &permission::record(offer))),
        "execution_profiles":
            all(|offer| kept(offer, "execution_profile", &execution::record(offer))),
    })
}

/// A record over what its imported original said beyond it.
fn kept(offer: &Offer<'_>, name: &str, record: &impl Serialize) -> Json {
    // A record is made of maps and values, which always have a JSON form.
    let ours = serde_json::to_value(record).unwrap_or_default();
    SourceRecords::of(&offer.contract.tool.metadata).under(name, ours)
}

/// How the records of one tool refer to each other.
struct Ids {
    interface: String,
    permission: String,
    execution: String,
}

impl Ids {
    fn of(offer: &Offer<'_>) -> Ids {
        let key: &ToolKey = offer.contract.key();
        let driver = offer.driver.map_or("none", |driver| driver.id.as_str());
        Ids {
            interface: format!("interface:{key}"),
            permission: format!("permission:{key}"),
            execution: format!("execution:{key}:{driver}"),
        }
    }
}

/// The entry of the driver that serves the contract, by id or by the path of its file.
fn entry<'a>(offer: &Offer<'a>) -> Option<&'a Implements> {
    let tool = &offer.contract.tool;
    let entries = &offer.driver?.implements;
    let folder = tool.file.strip_suffix("/TOOL.md").unwrap_or(&tool.file);
    let names = |entry: &&Implements| {
        let (name, _) = ToolKey::split(&entry.tool);
        let path = name.trim_start_matches("./").trim_start_matches("../");
        let path = path.strip_suffix("/TOOL.md").unwrap_or(path);
        name == tool.key.id.as_str() || path == folder || folder.ends_with(&format!("/{path}"))
    };
    let serves = |entry: &&Implements| entry.range.contains(&tool.version);
    let mut named = entries.iter().filter(names);
    named.clone().find(serves).or_else(|| named.next()).or(match entries.as_slice() {
        [only] => Some(only),
        _ => None,
    })
}

/// The fields of an object that say something.
fn said(fields: Json) -> Map<String, Json> {
    let empty = |value: &Json| match value {
        Json::Null => true,
        Json::Array(items) => items.is_empty(),
        Json::Object(fields) => fields.is_empty(),
        Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    };
    match fields {
        Json::Object(fields) => fields.into_iter().filter(|(_, value)| !empty(value)).collect(),
        _ => Map::new(),
    }
}
