//! The four inputs of a call, as people may see them.

use haft_ledger::Story;
use haft_model::{PayloadRef, Stop};
use serde_json::{Map, Value, json};

use crate::Runtime;

/// What stands where a value is not shown.
const WITHHELD: &str = "[withheld]";

/// The four inputs as people may see them, in the order in which they came to be; none where the call
/// did not get that far.
pub struct ShownInputs(pub Vec<(&'static str, Option<(PayloadRef, Value)>)>);

impl ShownInputs {
    /// For machines: digest, size, names of fields and values as far as they may be seen.
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
    /// The inputs of a call, without what its contract calls sensitive.
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
        // Nobody knows what is sensitive in a call whose contract is not known.
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

/// The names of the fields, and the values that the log itself holds.
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
