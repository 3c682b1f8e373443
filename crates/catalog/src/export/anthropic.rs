//! Anthropic export: `tools` of the Messages API.
//!
//! Published: a name of 1 to 64 letters, digits, `_` and `-`; `input_schema` is draft 2020-12 of type
//! object without `anyOf`, `oneOf` or `allOf` at the top; the names of inputs are 1 to 64 letters,
//! digits, `_`, `.` and `-`. References and recursion are taken as they are.

use serde_json::{Map, Value as Json, json};

use super::Offer;
use super::inline::{followed, kept_inside};
use super::loss::Losses;
use super::{root, shown};

/// Declares one tool; `None` where the format cannot carry it.
pub(super) fn declare(offer: &Offer<'_>, name: &str, losses: &mut Losses) -> Option<Json> {
    let input_schema = narrowed(&shown::inputs(offer.contract), losses)?;
    losses.add("/outputs", "there is no place for what comes out");
    let description = &offer.contract.tool.description;
    Some(json!({ "name": name, "description": &**description, "input_schema": input_schema }))
}

/// A schema that Anthropic takes; nothing where a required input has a name it refuses.
pub(super) fn narrowed(schema: &Json, losses: &mut Losses) -> Option<Json> {
    let schema = kept_inside(schema, "/inputs", losses);
    let mut fields = followed(&schema, &schema, losses);
    for key in ["allOf", "anyOf", "oneOf"] {
        if let Some(Json::Array(parts)) = fields.get_mut(key) {
            for part in parts.iter_mut() {
                *part = Json::Object(followed(&schema, part, losses));
            }
        }
    }
    let definitions = schema.as_object().into_iter().flatten();
    let definitions =
        definitions.filter(|(key, _)| ["$defs", "definitions"].contains(&key.as_str()));
    fields.extend(definitions.map(|(key, value)| (key.clone(), value.clone())));
    let mut whole = root::object(fields, &[], losses);
    whole.retain(|key, _| key != "$schema" && key != "$id");
    root::with_names(whole, takes_input, losses).map(|fields: Map<_, _>| Json::Object(fields))
}

fn takes_input(name: &str) -> bool {
    let taken = |c: char| c.is_ascii_alphanumeric() || ['_', '.', '-'].contains(&c);
    (1..=64).contains(&name.len()) && name.chars().all(taken)
}
