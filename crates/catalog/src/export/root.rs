//! Root schema: reduces the outermost schema to the plain object that every provider wants.

use serde_json::{Map, Value as Json, json};

use super::loss::Losses;
use super::merge::merged;
use haft_notation::keywords::below;

/// An object schema without the keywords that a provider refuses at the top.
///
/// Alternatives become one object that has the inputs of all of them, of which only those are
/// required that every alternative requires.
pub(super) fn object(
    schema: Map<String, Json>,
    refused: &[&str],
    losses: &mut Losses,
) -> Map<String, Json> {
    let mut root = schema;
    if let Some(Json::Array(parts)) = root.shift_remove("allOf") {
        for part in parts.iter().filter_map(Json::as_object) {
            root = merged(root, part, "/inputs", losses);
        }
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(Json::Array(alternatives)) = root.shift_remove(key) {
            losses.add(below("/inputs", key), "the alternatives are shown as one set of inputs");
            root = united(root, &alternatives);
        }
    }
    for key in refused {
        if root.shift_remove(*key).is_some() {
            losses.add(below("/inputs", key), format!("`{key}` is not taken at the top"));
        }
    }
    root.insert("type".to_owned(), json!("object"));
    root.entry("properties").or_insert_with(|| json!({}));
    root
}

fn united(mut root: Map<String, Json>, alternatives: &[Json]) -> Map<String, Json> {
    let alternatives: Vec<_> = alternatives.iter().filter_map(Json::as_object).collect();
    let mut properties = taken_map(&mut root, "properties");
    for (name, schema) in alternatives.iter().flat_map(|one| fields(one, "properties")) {
        let both = match properties.get(name).cloned() {
            Some(own) if own != *schema && own != json!(true) => either(own, schema),
            Some(_) | None => schema.clone(),
        };
        properties.insert(name.clone(), both);
    }
    let mut required = names(&root);
    let everywhere = |name: &&Json| alternatives.iter().all(|one| names(one).contains(name));
    let first = alternatives.first().map(|one| names(one)).unwrap_or_default();
    for name in first.iter().filter(everywhere) {
        if !required.contains(name) {
            required.push(name.clone());
        }
    }
    root.insert("properties".to_owned(), Json::Object(properties));
    if !required.is_empty() {
        root.insert("required".to_owned(), Json::Array(required));
    }
    root
}

/// A property that two alternatives describe differently.
fn either(own: Json, other: &Json) -> Json {
    match own {
        Json::Object(mut own) if own.len() == 1 && own.contains_key("anyOf") => {
            if let Some(Json::Array(choices)) = own.get_mut("anyOf")
                && !choices.contains(other)
            {
                choices.push(other.clone());
            }
            Json::Object(own)
        }
        own => json!({ "anyOf": [own, other] }),
    }
}

fn taken_map(root: &mut Map<String, Json>, key: &str) -> Map<String, Json> {
    match root.shift_remove(key) {
        Some(Json::Object(fields)) => fields,
        Some(_) | None => Map::new(),
    }
}

fn fields<'f>(
    schema: &'f Map<String, Json>,
    key: &str,
) -> impl Iterator<Item = (&'f String, &'f Json)> + use<'f> {
    schema.get(key).and_then(Json::as_object).into_iter().flatten()
}

fn names(schema: &Map<String, Json>) -> Vec<Json> {
    schema.get("required").and_then(Json::as_array).cloned().unwrap_or_default()
}

/// Takes out the inputs whose names a provider refuses. Where one of them is required the tool
/// cannot be called at all, and nothing is given back.
pub(super) fn with_names(
    mut root: Map<String, Json>,
    taken: fn(&str) -> bool,
    losses: &mut Losses,
) -> Option<Map<String, Json>> {
    let refused: Vec<String> = fields(&root, "properties")
        .map(|(name, _)| name.clone())
        .filter(|name| !taken(name))
        .collect();
    let required = names(&root);
    for name in refused {
        let at = below("/inputs/properties", &name);
        if required.iter().any(|required| required.as_str() == Some(&name)) {
            losses.add(at, "left out: the tool needs this input, and its name is not taken");
            return None;
        }
        losses.add(at, "the name of this input is not taken; it is not shown");
        if let Some(Json::Object(properties)) = root.get_mut("properties") {
            properties.shift_remove(&name);
        }
    }
    Some(root)
}
