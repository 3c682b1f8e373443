//! JSON Schema keywords: which keywords hold subschemas, so that a property never passes for a
//! keyword.

use serde_json::{Map, Value as Json};

/// The kind of value that a keyword holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// One schema for a part of the value.
    Part,
    /// Schemas by name, each for a part of the value.
    NamedParts,
    /// A list of schemas, each for a part of the value.
    PartList,
    /// One schema for the same value.
    Same,
    /// A list of schemas for the same value.
    SameList,
    /// Schemas by name for the same value.
    NamedSame,
    /// Schemas by name that apply only where something refers to them.
    Definitions,
    /// No schema.
    Nothing,
}

/// The kind of value that a keyword holds.
pub fn holds(keyword: &str) -> Holds {
    match keyword {
        "items"
        | "contains"
        | "additionalProperties"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contentSchema"
        | "additionalItems" => Holds::Part,
        "properties" | "patternProperties" => Holds::NamedParts,
        "prefixItems" => Holds::PartList,
        "not" | "if" | "then" | "else" => Holds::Same,
        "allOf" | "anyOf" | "oneOf" => Holds::SameList,
        "dependentSchemas" => Holds::NamedSame,
        "$defs" | "definitions" => Holds::Definitions,
        _ => Holds::Nothing,
    }
}

/// Keywords that describe a value and accept any.
const ANNOTATIONS: [&str; 14] = [
    "$schema",
    "$id",
    "$comment",
    "$anchor",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
];

/// Whether a schema refuses any value, judged by its keywords.
pub fn constrains(schema: &Json) -> bool {
    match schema {
        Json::Bool(accepts) => !accepts,
        Json::Object(fields) => fields.keys().any(|key| !ANNOTATIONS.contains(&key.as_str())),
        Json::Null | Json::Number(_) | Json::String(_) | Json::Array(_) => true,
    }
}

/// The same keywords with every schema below them replaced, given its pointer.
pub fn rebuilt<'f>(
    fields: impl IntoIterator<Item = (&'f String, &'f Json)>,
    at: &str,
    mut replace: impl FnMut(&str, &Json) -> Json,
) -> Map<String, Json> {
    let mut rebuild = |(key, value): (&String, &Json)| {
        let here = below(at, key);
        let value = match (holds(key), value) {
            (Holds::Part | Holds::Same, _) => replace(&here, value),
            (Holds::PartList | Holds::SameList, Json::Array(items)) => {
                let each = |(index, item)| replace(&format!("{here}/{index}"), item);
                Json::Array(items.iter().enumerate().map(each).collect())
            }
            (Holds::NamedParts | Holds::NamedSame | Holds::Definitions, Json::Object(named)) => {
                let each = |(name, item): (&String, &Json)| {
                    (name.clone(), replace(&below(&here, name), item))
                };
                Json::Object(named.iter().map(each).collect())
            }
            _ => value.clone(),
        };
        (key.clone(), value)
    };
    fields.into_iter().map(&mut rebuild).collect()
}

/// A JSON pointer one step further down.
pub fn below(at: &str, step: &str) -> String {
    format!("{at}/{}", step.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schema_constrains_by_keywords_that_refuse() {
        for (schema, expected) in [
            (json!(true), false),
            (json!(false), true),
            (json!({}), false),
            (json!({"description": "anything", "$defs": {"a": {"type": "string"}}}), false),
            (json!({"type": "object"}), true),
            (json!({"$ref": "#/$defs/a"}), true),
            (json!({"title": "t", "anyOf": [{"type": "string"}]}), true),
        ] {
            assert_eq!(constrains(&schema), expected, "{schema}");
        }
    }
}
