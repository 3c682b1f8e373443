//! Schema redaction: removes internal inputs and Haft's own keywords from the schema that a model
//! sees.
//!
//! Hidden properties are paths such as `token` or `customer/id`: those that a contract lists as
//! internal, and those that the schema itself marks `visibility: internal`.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use crate::keywords::{Holds, holds};

/// Keywords that Agent Tool adds for the runtime.
const OURS: [&str; 2] = ["visibility", "mutation_source"];

/// The paths of the properties that no model may fill in.
pub fn internal_fields(schema: &Json, listed: &[String]) -> BTreeSet<String> {
    let mut paths: BTreeSet<String> =
        listed.iter().filter_map(|pointer| pointer.strip_prefix('/')).map(str::to_owned).collect();
    marked(schema, "", &mut paths);
    paths
}

/// The schema without what is hidden, and without the keywords that only the runtime reads.
pub fn model_facing(schema: &Json, hidden: &BTreeSet<String>) -> Json {
    let mut shown = schema.clone();
    clean(&mut shown, hidden);
    shown
}

/// A value of that schema without what is hidden.
pub fn without_internal(value: &Json, hidden: &BTreeSet<String>) -> Json {
    let mut shown = value.clone();
    forget(&mut shown, hidden);
    shown
}

/// Properties that the schema marks itself, through nested objects and joined schemas.
fn marked(schema: &Json, at: &str, paths: &mut BTreeSet<String>) {
    let joined = ["allOf", "anyOf", "oneOf"].iter().filter_map(|key| schema.get(*key)?.as_array());
    joined.flatten().for_each(|part| marked(part, at, paths));
    let properties = schema.get("properties").and_then(Json::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let path = if at.is_empty() { name.clone() } else { format!("{at}/{name}") };
        if is_marked(property) {
            paths.insert(path);
        } else {
            marked(property, &path, paths);
        }
    }
}

fn is_marked(property: &Json) -> bool {
    property.get("visibility").and_then(Json::as_str) == Some("internal")
}

/// Takes hidden properties out of a schema wherever they are named.
fn clean(schema: &mut Json, hidden: &BTreeSet<String>) {
    let Json::Object(fields) = schema else { return };
    let hidden = &all_hidden(fields, hidden);
    let defines_itself = refers(fields);
    fields.retain(|key, _| !OURS.contains(&key.as_str()));
    hide(fields, hidden);
    let nothing = BTreeSet::new();
    for (key, value) in fields.iter_mut() {
        match holds(key) {
            Holds::NamedParts => named(value, |name, part| clean(part, &inside(hidden, name))),
            Holds::NamedSame => named(value, |_, same| clean(same, hidden)),
            // Which definition the value is made of is not followed; hiding too much is safe.
            Holds::Definitions if defines_itself => named(value, |_, part| clean(part, hidden)),
            Holds::Definitions => named(value, |_, part| clean(part, &nothing)),
            Holds::Part => clean(value, &nothing),
            Holds::PartList => listed(value, |part| clean(part, &nothing)),
            Holds::Same => clean(value, hidden),
            Holds::SameList => listed(value, |same| clean(same, hidden)),
            Holds::Nothing if key == "default" || key == "const" => forget(value, hidden),
            Holds::Nothing if key == "examples" || key == "enum" => {
                listed(value, |value| forget(value, hidden));
            }
            Holds::Nothing => {}
        }
    }
}

fn named(value: &mut Json, mut visit: impl FnMut(&str, &mut Json)) {
    for (name, schema) in value.as_object_mut().into_iter().flatten() {
        visit(name, schema);
    }
}

fn listed(value: &mut Json, visit: impl FnMut(&mut Json)) {
    value.as_array_mut().into_iter().flatten().for_each(visit);
}

fn all_hidden(fields: &Map<String, Json>, hidden: &BTreeSet<String>) -> BTreeSet<String> {
    let mut hidden = hidden.clone();
    let properties = fields.get("properties").and_then(Json::as_object).into_iter().flatten();
    for (name, property) in properties {
        if is_marked(property) {
            hidden.insert(name.clone());
        }
    }
    hidden
}

/// Whether the value itself is described by a definition.
fn refers(fields: &Map<String, Json>) -> bool {
    let listed = ["allOf", "anyOf", "oneOf"].iter().filter_map(|key| fields.get(*key)?.as_array());
    fields.contains_key("$ref")
        || fields.contains_key("$dynamicRef")
        || listed.flatten().any(|part| part.as_object().is_some_and(refers))
}

fn hide(fields: &mut Map<String, Json>, hidden: &BTreeSet<String>) {
    let names = |value: &Json| value.as_str().is_some_and(|name| hidden.contains(name));
    for key in ["properties", "dependentSchemas", "dependentRequired"] {
        if let Some(Json::Object(named)) = fields.get_mut(key) {
            named.retain(|name, _| !hidden.contains(name));
            for list in named.values_mut().filter_map(Json::as_array_mut) {
                list.retain(|name| !names(name));
            }
        }
    }
    if let Some(Json::Array(required)) = fields.get_mut("required") {
        required.retain(|name| !names(name));
    }
    // A condition on something hidden would hold always or never once the name is gone.
    if fields.get("not").is_some_and(|schema| mentions(schema, hidden)) {
        fields.shift_remove("not");
    }
    if fields.get("if").is_some_and(|schema| mentions(schema, hidden)) {
        fields.retain(|key, _| !["if", "then", "else"].contains(&key.as_str()));
    }
}

fn mentions(schema: &Json, hidden: &BTreeSet<String>) -> bool {
    match schema {
        Json::String(text) => hidden.contains(text),
        Json::Array(items) => items.iter().any(|item| mentions(item, hidden)),
        Json::Object(fields) => {
            fields.iter().any(|(key, value)| hidden.contains(key) || mentions(value, hidden))
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

fn forget(value: &mut Json, hidden: &BTreeSet<String>) {
    if let Json::Object(fields) = value {
        fields.retain(|name, _| !hidden.contains(name));
        for (name, value) in fields.iter_mut() {
            forget(value, &inside(hidden, name));
        }
    }
}

/// What is hidden inside a property: `a/b` hides `b` in `a`.
fn inside(hidden: &BTreeSet<String>, name: &str) -> BTreeSet<String> {
    let deeper = |path: &String| path.strip_prefix(name)?.strip_prefix('/').map(str::to_owned);
    hidden.iter().filter_map(deeper).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn internal_fields_are_not_shown() {
        let schema = json!({
            "properties": {
                "a": {"properties": {"deep": {"visibility": "internal"}, "seen": {}}, "required": ["deep"]},
                "c": {},
            },
            "required": ["a", "b", "c"],
            "allOf": [{"properties": {"b": {"visibility": "internal"}}}],
        });
        let internal = internal_fields(&schema, &["/c".to_owned()]);
        assert_eq!(internal, ["a/deep", "b", "c"].map(str::to_owned).into());
        assert_eq!(
            model_facing(&schema, &internal),
            json!({
                "properties": {"a": {"properties": {"seen": {}}, "required": []}},
                "required": ["a"],
                "allOf": [{"properties": {}}],
            })
        );
    }
}
