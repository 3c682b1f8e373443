//! Discriminators: the field that says which of several schemas a value follows.

use serde_json::{Map, Value, json};

use super::reference;

/// Lets each of several schemas say which value of the discriminator is its own.
///
/// JSON Schema does not know discriminators; a model that fills the field in needs to know what may
/// stand there.
pub(super) fn tell_apart(raw: &Map<String, Value>, out: &mut Map<String, Value>) {
    let discriminator = raw.get("discriminator");
    let Some(field) = discriminator.and_then(|d| d.get("propertyName")).and_then(Value::as_str)
    else {
        return;
    };
    let mapping = discriminator.and_then(|d| d.get("mapping")).and_then(Value::as_object);
    for word in ["oneOf", "anyOf"] {
        let (Some(Value::Array(raw)), Some(Value::Array(branches))) =
            (raw.get(word), out.get_mut(word))
        else {
            continue;
        };
        for (raw, branch) in raw.iter().zip(branches) {
            let Some(target) = reference(raw) else { continue };
            let own = json!({
                "properties": { field: { "enum": names(target, mapping) } },
                "required": [field],
            });
            *branch = json!({ "allOf": [branch, own] });
        }
    }
}

/// The values that mean a schema: those that are mapped to it, or its name.
fn names(target: &str, mapping: Option<&Map<String, Value>>) -> Vec<Value> {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let mapped = mapping.into_iter().flatten().filter(|(_, schema)| {
        schema.as_str().is_some_and(|schema| schema == target || last(schema) == last(target))
    });
    let names: Vec<Value> = mapped.map(|(name, _)| json!(name)).collect();
    if names.is_empty() { vec![json!(last(target))] } else { names }
}
