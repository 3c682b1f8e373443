//! Argument normalization: removes the nulls that strict schemas force on a model.
//!
//! A strict schema makes every input required, so a model sends `null` for one that it leaves out.

use std::sync::Arc;

use haft_catalog::CatalogEntry;
use serde_json::{Map, Value};

use super::FunctionArguments;

/// The arguments, without nulls for optional inputs that are never null. Text that needs no change
/// stays byte for byte.
pub(super) fn fitting(
    arguments: &FunctionArguments,
    entry: Option<&Arc<CatalogEntry>>,
) -> FunctionArguments {
    let read = match arguments {
        FunctionArguments::Text(text) => serde_json::from_str(text).ok(),
        FunctionArguments::Value(value) => Some(value.clone()),
    };
    let (Some(mut value), Some(entry)) = (read, entry) else { return arguments.clone() };
    match without_nulls(&mut value, &entry.contract.model_schema()) {
        true => FunctionArguments::Value(value),
        false => arguments.clone(),
    }
}

/// Removes nulls that stand for an absent input; returns whether there were any.
fn without_nulls(value: &mut Value, schema: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            let Some(Value::Object(known)) = schema.get("properties") else { return false };
            let required = schema.get("required").and_then(Value::as_array);
            let is_required = |name: &str| {
                required.is_some_and(|names| names.iter().any(|one| one.as_str() == Some(name)))
            };
            let before = fields.len();
            fields.retain(|name, value| {
                !value.is_null() || is_required(name) || !is_never_null(known, name)
            });
            let mut changed = fields.len() < before;
            for (name, value) in fields.iter_mut() {
                changed |= known.get(name).is_some_and(|schema| without_nulls(value, schema));
            }
            changed
        }
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return false };
            let mut changed = false;
            for item in items {
                changed |= without_nulls(item, schema);
            }
            changed
        }
        _ => false,
    }
}

/// Whether a property has a type that excludes null.
fn is_never_null(known: &Map<String, Value>, name: &str) -> bool {
    match known.get(name).and_then(|schema| schema.get("type")) {
        Some(Value::String(kind)) => kind != "null",
        Some(Value::Array(kinds)) => !kinds.iter().any(|kind| kind.as_str() == Some("null")),
        _ => known.get(name).is_some_and(|schema| {
            schema
                .get("enum")
                .and_then(Value::as_array)
                .is_some_and(|all| !all.contains(&Value::Null))
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_null_that_stands_for_nothing_is_left_out() {
        let schema = json!({
            "properties": {
                "must": { "type": "string" },
                "may": { "type": "integer" },
                "open": { "type": ["string", "null"] },
                "inner": { "properties": { "may": { "enum": ["a"] } } },
                "list": { "type": "array", "items": { "properties": { "may": { "type": "string" } } } },
            },
            "required": ["must"],
        });
        let mut value = json!({
            "must": null, "may": null, "open": null, "other": null,
            "inner": { "may": null }, "list": [{ "may": null }],
        });
        assert!(without_nulls(&mut value, &schema));
        let left = json!({ "must": null, "open": null, "other": null, "inner": {}, "list": [{}] });
        assert_eq!(value, left);
        assert!(!without_nulls(&mut value, &schema));
    }
}
