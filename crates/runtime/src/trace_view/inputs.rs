//! Inputs of a traced call, redacted.

use haft_ledger::Story;
use haft_model::{PayloadRef, Stop};
use serde_json::{Map, Value, json};

use crate::Runtime;

/// Placeholder for a redacted value.
const WITHHELD: &str = "[withheld]";

/// The four inputs in pipeline order, redacted; `None` where the call did not get that far.
pub struct ShownInputs(pub Vec<(&'static str, Option<(PayloadRef, Value)>)>);

impl ShownInputs {
    /// JSON: digest, size, field names and redacted value of each.
    pub fn json(&self) -> Value {
        let each = self.0.iter().map(|(name, input)| {
            let value = input.as_ref().map(|(kept, value)| {
                json!({ "digest": kept.digest, "size": kept.size, "keys": kept.keys, "value": value })
            });
            ((*name).to_owned(), value.unwrap_or_default())
        });
        Value::Object(each.collect())
    }
}

impl Runtime {
    /// Reads the inputs and redacts the fields that the contract declares sensitive.
    pub(super) async fn shown_inputs(&self, story: &Story) -> Result<ShownInputs, Stop> {
        let kept = [
            ("model", &story.inputs.model),
            ("observable", &story.inputs.observable),
            ("permission", &story.inputs.permission),
            ("call", &story.inputs.call),
        ];
        let mut all = Vec::new();
        for (name, kept) in kept {
            let value = match kept {
                Some(kept) => Some((kept.clone(), self.shown_input(story, kept).await?)),
                None => None,
            };
            all.push((name, value));
        }
        Ok(ShownInputs(all))
    }

    async fn shown_input(&self, story: &Story, kept: &PayloadRef) -> Result<Value, Stop> {
        let Some(bytes) = self.reader().payload(&story.invocation_id, &kept.digest).await? else {
            return Ok(named_only(kept, "[forgotten]"));
        };
        let Ok(mut value) = serde_json::from_slice::<Value>(&bytes) else {
            return Ok(json!(format!("[{} bytes that are not JSON]", kept.size)));
        };
        let world = self.world();
        // Without its contract the sensitive fields are unknown, so all are redacted.
        let Some(entry) = world.snapshot.find(&story.tool_id) else {
            return Ok(named_only(kept, WITHHELD));
        };
        for pointer in &entry.contract.tool.extras.sensitive {
            if let Some(found) = value.pointer_mut(pointer) {
                *found = json!(WITHHELD);
            }
        }
        Ok(value)
    }
}

/// Field names with placeholders, and the values that the ledger entry itself holds.
fn named_only(kept: &PayloadRef, stand_in: &str) -> Value {
    let mut fields: Map<String, Value> =
        kept.keys.iter().map(|key| (key.clone(), json!(stand_in))).collect();
    for (pointer, value) in &kept.shown {
        if let Some(field) = fields.get_mut(pointer.trim_start_matches('/')) {
            field.clone_from(value);
        }
    }
    Value::Object(fields)
}
