//! Schema truncation: cuts the depth of schemas that are larger than a contract can hold, and
//! reports it.

use std::collections::BTreeSet;

use haft_notation::keywords::below;
use serde_json::{Map, Value};

use super::uses::Uses;
use super::{Loss, Side, StandaloneSchema};

/// How many values the schema of a contract may have.
const LARGEST: usize = 8_000;

/// Why a part of a schema is not kept.
pub(super) const TOO_LARGE: &str = "the schema is larger or deeper than a contract can hold";

/// How deep it may nest: the reader of manifests stops at 64, and the rest of a contract needs some.
const DEEPEST: usize = 48;

/// How many values the definitions of a schema may have that does not fit as a whole. A model fills
/// inputs in, and reads outputs as they come.
pub(super) fn budget(uses: &Uses<'_, '_>, side: Side) -> usize {
    match (uses.is_large(), side) {
        (false, _) => LARGEST,
        (true, Side::Input) => 4_000,
        (true, Side::Output) => 1_500,
    }
}

/// A definition beyond the budget: its type and its words, so that a reference to it means something.
pub(super) fn outline(found: &Value) -> Value {
    let fields = found.as_object().map(super::keyword::plain).unwrap_or_default();
    let kept = ["type", "title", "description"];
    let mut outline: Map<String, Value> =
        fields.into_iter().filter(|(word, _)| kept.contains(&word.as_str())).collect();
    if found.get("properties").is_some() && !outline.contains_key("type") {
        outline.insert("type".to_owned(), Value::from("object"));
    }
    Value::Object(outline)
}

/// The schema, with as much of its depth as fits.
pub(super) fn to_size(mut shaped: StandaloneSchema) -> StandaloneSchema {
    let all = |shaped: &StandaloneSchema| {
        size(&shaped.schema) + shaped.definitions.values().map(size).sum::<usize>()
    };
    let deepest = |shaped: &StandaloneSchema| {
        shaped.definitions.values().map(depth).max().unwrap_or(0).max(depth(&shaped.schema))
    };
    let mut levels = DEEPEST;
    if all(&shaped) <= LARGEST && deepest(&shaped) <= DEEPEST {
        return shaped;
    }
    shaped.is_cut = true;
    let whole = (shaped.schema.clone(), shaped.definitions.clone());
    while levels > 2 {
        shaped.schema = shallow(&shaped.schema, levels);
        for schema in shaped.definitions.values_mut() {
            *schema = shallow(schema, levels);
        }
        forget_unused(&mut shaped);
        if all(&shaped) <= LARGEST {
            shaped.losses.extend(missing(&whole, &shaped));
            return shaped;
        }
        levels = levels * 2 / 3;
    }
    // Whatever is left is wide and not deep; its references are its last riches.
    let roots = shaped.schema.as_object().cloned().unwrap_or_default();
    let kept =
        roots.into_iter().filter(|(word, _)| ["type", "description"].contains(&word.as_str()));
    let schema = Value::Object(kept.collect());
    let mut bare = StandaloneSchema { schema, definitions: Map::new(), ..shaped };
    bare.losses.extend(missing(&whole, &bare));
    bare
}

/// The parts that were there before and are not any more, each named at its top.
fn missing(
    (schema, definitions): &(Value, Map<String, Value>),
    shaped: &StandaloneSchema,
) -> Vec<Loss> {
    let mut gone = Vec::new();
    differences(schema, &shaped.schema, "", &mut gone);
    for (name, schema) in definitions {
        let place = below("/$defs", name);
        match shaped.definitions.get(name) {
            Some(kept) => differences(schema, kept, &place, &mut gone),
            None => gone.push(place),
        }
    }
    gone.into_iter().map(|pointer| Loss { pointer, why: TOO_LARGE.to_owned() }).collect()
}

fn differences(before: &Value, after: &Value, place: &str, gone: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (word, value) in before {
                match after.get(word) {
                    Some(kept) => differences(value, kept, &below(place, word), gone),
                    None => gone.push(below(place, word)),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (at, (before, after)) in before.iter().zip(after).enumerate() {
                differences(before, after, &below(place, &at.to_string()), gone);
            }
        }
        (before, after) if before == after => {}
        (_, _) => gone.push(place.to_owned()),
    }
}

/// How many values a schema has.
pub(super) fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.values().map(size).sum(),
        _ => 0,
    }
}

fn depth(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// A schema of which only so many levels are left; below, only types are told.
fn shallow(value: &Value, levels: usize) -> Value {
    match value {
        Value::Object(fields) if levels == 0 => {
            let kind = fields.get("type").map(|kind| (String::from("type"), kind.clone()));
            Value::Object(kind.into_iter().filter(|(_, kind)| !kind.is_object()).collect())
        }
        Value::Object(fields) => {
            let below = levels - 1;
            Value::Object(fields.iter().map(|(k, v)| (k.clone(), shallow(v, below))).collect())
        }
        Value::Array(items) => {
            let below = levels.saturating_sub(1);
            Value::Array(items.iter().map(|item| shallow(item, below)).collect())
        }
        _ => value.clone(),
    }
}

/// Drops definitions that nothing leads to any more.
pub(super) fn forget_unused(shaped: &mut StandaloneSchema) {
    let mut used = BTreeSet::new();
    let mut open = Vec::new();
    references(&shaped.schema, &mut open);
    while let Some(name) = open.pop() {
        if let (true, Some(schema)) = (used.insert(name.clone()), shaped.definitions.get(&name)) {
            references(schema, &mut open);
        }
    }
    shaped.definitions.retain(|name, _| used.contains(name));
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Object(fields) => {
            let target = fields.get("$ref").and_then(Value::as_str);
            found.extend(target.and_then(|t| t.strip_prefix("#/$defs/")).map(str::to_owned));
            fields.values().for_each(|value| references(value, found));
        }
        _ => {}
    }
}
