//! What a model may see of a schema: no internal input, no keyword of ours.

use std::collections::BTreeSet;

use haft_contract::Contract;
use serde_json::{Map, Value as Json};

use super::keywords::{Holds, holds};

/// Keywords that Agent Tool adds for the runtime.
const OURS: [&str; 2] = ["visibility", "mutation_source"];

/// The inputs as a model may see them.
pub(super) fn inputs(contract: &Contract) -> Json {
    let mut schema = contract.model_schema();
    clean(&mut schema, &contract.internal);
    schema
}

/// The outputs as others may see them.
pub(super) fn outputs(contract: &Contract) -> Json {
    let mut schema = contract.tool.outputs.clone();
    clean(&mut schema, &BTreeSet::new());
    schema
}

/// A value for the inputs, without what is internal.
pub(super) fn example(contract: &Contract, value: &Json) -> Json {
    let mut value = value.clone();
    forget(&mut value, &contract.internal);
    value
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
        if property.get("visibility").and_then(Json::as_str) == Some("internal") {
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
