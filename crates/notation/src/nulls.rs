//! Null normalization: removes the nulls by which clients spell an absent optional property.
//!
//! Strict function calling makes every property required, and typed clients send a field that was
//! never set, so both write `null` where the schema allows none. A null that the schema allows, a
//! null of a required property and one of an unknown property stay: they are for the validator.

use serde_json::{Map, Value};

/// References that are followed from one place; a chain that is longer is left alone.
const MOST_REFERENCES: usize = 8;

/// Removes nulls of optional properties that are never null. Descends as deep as the value does, so a
/// recursive schema costs nothing.
pub fn without_nulls(value: &mut Value, schema: &Value) {
    if has_null(value) {
        Nulls { root: schema }.remove(value, schema);
    }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields.values().any(has_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

struct Nulls<'s> {
    root: &'s Value,
}

impl<'s> Nulls<'s> {
    fn remove(&self, value: &mut Value, schema: &'s Value) {
        let schema = self.followed(schema);
        match value {
            Value::Object(fields) => self.remove_from(fields, schema),
            Value::Array(items) => {
                if let Some(schema) = schema.get("items") {
                    items.iter_mut().for_each(|item| self.remove(item, schema));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn remove_from(&self, fields: &mut Map<String, Value>, schema: &'s Value) {
        let Some(Value::Object(known)) = schema.get("properties") else { return };
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| {
            required.is_some_and(|names| names.iter().any(|one| one.as_str() == Some(name)))
        };
        fields.retain(|name, value| {
            !value.is_null()
                || is_required(name)
                || !known.get(name).is_some_and(|schema| self.excludes_null(schema))
        });
        for (name, value) in fields {
            if let Some(schema) = known.get(name) {
                self.remove(value, schema);
            }
        }
    }

    /// Whether a schema certainly refuses null.
    fn excludes_null(&self, schema: &'s Value) -> bool {
        let schema = self.followed(schema);
        let list = |keyword: &str| schema.get(keyword).and_then(Value::as_array);
        let is_null = |name: &Value| name.as_str() == Some("null");
        let by_type = match schema.get("type") {
            Some(Value::Array(names)) => !names.iter().any(is_null),
            Some(name) => !is_null(name),
            None => false,
        };
        by_type
            || list("enum").is_some_and(|all| !all.contains(&Value::Null))
            || schema.get("const").is_some_and(|only| !only.is_null())
            || list("allOf")
                .is_some_and(|all| all.iter().any(|one| self.is_plain_and_excludes(one)))
            || ["anyOf", "oneOf"]
                .into_iter()
                .filter_map(list)
                .any(|all| !all.is_empty() && all.iter().all(|one| self.is_plain_and_excludes(one)))
    }

    /// Like [`Nulls::excludes_null`] for a member of a list, which ends a recursion of lists: a
    /// schema may be among its own alternatives.
    fn is_plain_and_excludes(&self, schema: &'s Value) -> bool {
        let is_list = |keyword: &&str| self.followed(schema).get(*keyword).is_some();
        !["allOf", "anyOf", "oneOf"].iter().any(is_list) && self.excludes_null(schema)
    }

    /// The schema that a reference within the document leads to.
    fn followed(&self, mut schema: &'s Value) -> &'s Value {
        for _ in 0..MOST_REFERENCES {
            let reference = schema.get("$ref").and_then(Value::as_str);
            let target = reference
                .and_then(|reference| reference.strip_prefix('#'))
                .and_then(|pointer| self.root.pointer(pointer));
            match target {
                Some(target) => schema = target,
                None => break,
            }
        }
        schema
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_of_an_optional_input_is_absent() {
        let schema = json!({
            "properties": {
                "must": { "type": "string" },
                "may": { "type": "integer" },
                "open": { "type": ["string", "null"] },
                "any": {},
                "either": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
                "union": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
                "named": { "$ref": "#/$defs/name" },
                "inner": { "properties": { "may": { "enum": ["a"] } } },
                "list": { "type": "array", "items": { "$ref": "#/$defs/node" } },
            },
            "required": ["must"],
            "$defs": {
                "name": { "type": "string" },
                "node": { "properties": {
                    "next": { "$ref": "#/$defs/node", "type": "object" },
                    "only": { "const": 1 },
                    "odd": { "allOf": [{ "type": "object" }, { "$ref": "#/$defs/node" }] },
                } },
                "loop": { "$ref": "#/$defs/loop" },
            },
        });
        let mut value = json!({
            "must": null, "may": null, "open": null, "any": null, "either": null, "union": null,
            "named": null, "other": null, "inner": { "may": null },
            "list": [{ "next": { "only": null, "other": null } }, { "odd": null }, null],
        });
        without_nulls(&mut value, &schema);
        let left = json!({
            "must": null, "open": null, "any": null, "either": null, "other": null, "inner": {},
            "list": [{ "next": { "other": null } }, {}, null],
        });
        assert_eq!(value, left);
        let around = json!({ "properties": { "a": { "$ref": "#/properties/a" } } });
        let mut value = json!({ "a": null });
        without_nulls(&mut value, &around);
        assert_eq!(value, json!({ "a": null }));
    }
}
