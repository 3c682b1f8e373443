//! Schema merge: two schemas for one value, written as one.

use serde_json::{Map, Value as Json};

use super::loss::Losses;
use haft_notation::keywords::below;

/// What fits both schemas. Where that cannot be written, the second one stands and a loss is noted.
pub(super) fn merged(
    first: Map<String, Json>,
    second: &Map<String, Json>,
    at: &str,
    losses: &mut Losses,
) -> Map<String, Json> {
    let mut both = first;
    for (key, value) in second {
        let joined = match both.get(key) {
            None => value.clone(),
            Some(own) if own == value => continue,
            Some(own) => joined(key, own, value, &below(at, key), losses),
        };
        both.insert(key.clone(), joined);
    }
    both
}

fn joined(key: &str, own: &Json, other: &Json, at: &str, losses: &mut Losses) -> Json {
    let combined = match (key, own, other) {
        ("properties" | "patternProperties", Json::Object(own), Json::Object(other)) => {
            Some(Json::Object(named(own, other, at, losses)))
        }
        ("required" | "allOf", Json::Array(own), Json::Array(other)) => Some(union(own, other)),
        ("enum", Json::Array(own), Json::Array(other)) => shared(own, other),
        ("type", _, _) => shared_types(own, other),
        ("description" | "title" | "default" | "examples", _, _) => Some(other.clone()),
        ("additionalProperties" | "unevaluatedProperties" | "unevaluatedItems", _, _) => {
            let closed = own == &Json::Bool(false) || other == &Json::Bool(true);
            Some(if closed { own.clone() } else { other.clone() })
        }
        _ => bound(key, own, other),
    };
    combined.unwrap_or_else(|| {
        losses.add(at, "said twice in ways that cannot be joined; one of them is kept");
        other.clone()
    })
}

fn named(
    own: &Map<String, Json>,
    other: &Map<String, Json>,
    at: &str,
    losses: &mut Losses,
) -> Map<String, Json> {
    let mut both = own.clone();
    for (name, schema) in other {
        let joined = match (both.get(name).cloned(), schema) {
            (Some(Json::Object(own)), Json::Object(schema)) => {
                Json::Object(merged(own, schema, &below(at, name), losses))
            }
            (Some(Json::Bool(false)), _) => Json::Bool(false),
            (Some(own), Json::Bool(true)) => own,
            (Some(_) | None, schema) => schema.clone(),
        };
        both.insert(name.clone(), joined);
    }
    both
}

fn union(own: &[Json], other: &[Json]) -> Json {
    let added = other.iter().filter(|value| !own.contains(value));
    Json::Array(own.iter().chain(added).cloned().collect())
}

fn shared(own: &[Json], other: &[Json]) -> Option<Json> {
    let both: Vec<Json> = own.iter().filter(|value| other.contains(value)).cloned().collect();
    (!both.is_empty()).then_some(Json::Array(both))
}

fn shared_types(own: &Json, other: &Json) -> Option<Json> {
    let list = |types: &Json| match types {
        Json::Array(types) => types.clone(),
        single => vec![single.clone()],
    };
    let (own, other) = (list(own), list(other));
    let whole = Json::from("integer");
    let number = Json::from("number");
    let fits = |one: &Json, types: &[Json]| {
        types.contains(one) || (*one == whole && types.contains(&number))
    };
    let narrow = own.iter().filter(|one| fits(one, &other));
    let both: Vec<Json> = narrow
        .chain(other.iter().filter(|one| !own.contains(one) && fits(one, &own)))
        .cloned()
        .collect();
    match both.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        _ => Some(Json::Array(both)),
    }
}

/// The tighter of two bounds.
fn bound(key: &str, own: &Json, other: &Json) -> Option<Json> {
    let own_is_larger = own.as_f64()? > other.as_f64()?;
    let larger_is_tighter = match key {
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => true,
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => false,
        _ => return None,
    };
    Some(if own_is_larger == larger_is_tighter { own.clone() } else { other.clone() })
}
