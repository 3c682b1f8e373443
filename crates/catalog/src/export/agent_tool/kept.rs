//! Source records: fields of an imported record that Haft does not know, kept for the round trip.

use serde_json::{Map, Value as Json};

/// The records that a contract was imported from.
pub(super) struct SourceRecords<'a>(Option<&'a Json>);

/// Schemas are ours to state: an original may show inputs that no model may see.
const NEVER: [&str; 9] = [
    "schema",
    "model_input_schema",
    "runtime_input_schema",
    "output_schema",
    "structured_schema",
    "internal_only_fields",
    "defaults",
    "examples",
    "partitions",
];

/// Objects whose own fields are kept one by one.
const OPEN: [&str; 4] = ["annotations", "input_contract", "output_contract", "rendering"];

impl SourceRecords<'_> {
    /// The originals in a contract's metadata.
    pub(super) fn of(metadata: &Json) -> SourceRecords<'_> {
        SourceRecords(metadata.get("agent-tool"))
    }

    /// Our record over the original: ours wins, and native ids of both are kept.
    pub(super) fn under(&self, record: &str, ours: Json) -> Json {
        match (self.original(record), ours) {
            (Some(original), Json::Object(ours)) => Json::Object(over(original, ours)),
            (_, ours) => ours,
        }
    }

    /// The original of one record, by its name beside `declaration`; otherwise all is a declaration.
    fn original(&self, record: &str) -> Option<&Map<String, Json>> {
        let all = self.0?.as_object()?;
        if all.get("declaration").is_some_and(Json::is_object) {
            return all.get(record)?.as_object();
        }
        (record == "declaration").then_some(all)
    }
}

fn over(original: &Map<String, Json>, mut ours: Map<String, Json>) -> Map<String, Json> {
    for (key, value) in original.iter().filter(|(key, _)| !NEVER.contains(&key.as_str())) {
        match (ours.get_mut(key), value) {
            (None, value) => {
                ours.insert(key.clone(), pruned(value));
            }
            (Some(Json::Object(own)), Json::Object(value)) if OPEN.contains(&key.as_str()) => {
                *own = over(value, std::mem::take(own));
            }
            (Some(Json::Array(own)), Json::Array(value)) if key == "external_mappings" => {
                let missing: Vec<Json> =
                    value.iter().filter(|mapping| !own.contains(mapping)).cloned().collect();
                own.extend(missing);
            }
            (Some(_), _) => {}
        }
    }
    ours
}

/// A value without schemas at any depth: an original may hold whole records inside each other.
fn pruned(value: &Json) -> Json {
    match value {
        Json::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| !NEVER.contains(&key.as_str()));
            Json::Object(kept.map(|(key, value)| (key.clone(), pruned(value))).collect())
        }
        Json::Array(items) => Json::Array(items.iter().map(pruned).collect()),
        other => other.clone(),
    }
}
