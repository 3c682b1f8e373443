//! Type inference: the types that a schema's values can have, for formats that want one per schema.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};

use super::loss::Losses;
use super::merge::merged;
use haft_notation::keywords::below;

/// The types of a schema's values, `null` apart.
pub(super) struct Kinds {
    /// The types in the schema's order; empty where nothing says.
    pub(super) types: Vec<&'static str>,
    /// Whether `null` is one of them.
    pub(super) nullable: bool,
}

const TYPES: [&str; 6] = ["object", "array", "string", "number", "integer", "boolean"];

/// Keywords that tell a type where none is written.
const TELLING: [(&str, &[&str]); 4] = [
    ("object", &["properties", "patternProperties", "additionalProperties", "required"]),
    ("array", &["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"]),
    ("string", &["pattern", "minLength", "maxLength", "format"]),
    ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
];

/// The types of a schema's values: as written, or as its other keywords tell.
pub(super) fn kinds(fields: &Map<String, Json>) -> Kinds {
    let written: Vec<&str> = match fields.get("type") {
        Some(Json::String(one)) => vec![one],
        Some(Json::Array(types)) => types.iter().filter_map(Json::as_str).collect(),
        Some(_) | None => Vec::new(),
    };
    let values = values(fields);
    let told: Vec<&str> = if !written.is_empty() {
        written
    } else if let Some(values) = &values {
        values.iter().map(type_of).collect()
    } else {
        let told =
            TELLING.iter().filter(|(_, keys)| keys.iter().any(|key| fields.contains_key(*key)));
        told.map(|(kind, _)| *kind).take(1).collect()
    };
    let possible = |kind: &str| {
        told.contains(&kind) && values.as_ref().is_none_or(|list| list.iter().any(|v| is(v, kind)))
    };
    let nullable = possible("null");
    Kinds { types: TYPES.into_iter().filter(|kind| possible(kind)).collect(), nullable }
}

/// The only values allowed, where the schema lists them.
pub(super) fn values(fields: &Map<String, Json>) -> Option<Vec<Json>> {
    match (fields.get("const"), fields.get("enum")) {
        (Some(only), _) => Some(vec![only.clone()]),
        (None, Some(Json::Array(values))) => Some(values.clone()),
        (None, _) => None,
    }
}

/// The values of one type.
pub(super) fn values_of(fields: &Map<String, Json>, kind: &str) -> Option<Vec<Json>> {
    values(fields).map(|list| list.into_iter().filter(|value| is(value, kind)).collect())
}

fn type_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(number) if number.is_f64() => "number",
        Json::Number(_) => "integer",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

fn is(value: &Json, kind: &str) -> bool {
    type_of(value) == kind || (kind == "number" && type_of(value) == "integer")
}

/// The alternatives a schema consists of, each complete in itself.
///
/// Alternatives that only add conditions to a schema that is whole without them are dropped.
pub(super) fn alternatives<'f>(
    fields: &'f Map<String, Json>,
    at: &str,
    losses: &mut Losses,
) -> (Cow<'f, Map<String, Json>>, Option<Vec<Json>>) {
    if !fields.contains_key("anyOf") && !fields.contains_key("oneOf") {
        return (Cow::Borrowed(fields), None);
    }
    let mut rest = fields.clone();
    let mut found = None;
    for key in ["anyOf", "oneOf"] {
        let Some(Json::Array(choices)) = rest.shift_remove(key) else { continue };
        let whole = |choice: &Json| choice.as_object().is_none_or(says_what_it_is);
        if found.is_some() || !choices.iter().any(whole) {
            losses.add(below(at, key), "conditions on several inputs at once are not shown");
            continue;
        }
        if key == "oneOf" {
            losses.add(below(at, key), "exactly one alternative has to fit; shown as at least one");
        }
        found = Some(choices);
    }
    let Some(choices) = found else { return (Cow::Owned(rest), None) };
    let mut complete = |choice: &Json| match choice {
        Json::Object(choice) => Json::Object(merged(rest.clone(), choice, at, losses)),
        Json::Bool(true) => Json::Object(rest.clone()),
        other => other.clone(),
    };
    let choices = choices.iter().filter(|choice| **choice != Json::Bool(false));
    let choices = choices.map(&mut complete).collect();
    (Cow::Owned(rest), Some(choices))
}

fn says_what_it_is(fields: &Map<String, Json>) -> bool {
    const WHAT: [&str; 7] = ["type", "properties", "items", "enum", "const", "anyOf", "oneOf"];
    fields.is_empty() || WHAT.iter().any(|key| fields.contains_key(*key))
}
