//! OpenAI export: function tools.
//!
//! Published: a name of 1 to 64 letters, digits, `_` and `-`; a description of at most 1024 characters
//! with some models; parameters of type object without alternatives at the top; and strict mode, which
//! takes a subset of JSON Schema and guarantees that a call fits it.

mod strict;

use serde_json::{Map, Value as Json, json};

use super::Offer;
use super::inline::inlined;
use super::loss::Losses;
use super::{root, shown};
use haft_notation::keywords::{Holds, below, holds, rebuilt};

const LONGEST_DESCRIPTION: usize = 1024;

/// Keywords that may not stand at the top.
const REFUSED_AT_TOP: [&str; 3] = ["not", "enum", "const"];

/// Keywords of JSON Schema beside those that hold schemas.
const PLAIN: [&str; 33] = [
    "type",
    "enum",
    "const",
    "required",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "contentEncoding",
    "contentMediaType",
    "$comment",
    "$anchor",
    "$id",
];

/// Declares one tool; `None` where the format cannot carry it.
pub(super) fn declare(offer: &Offer<'_>, name: &str, losses: &mut Losses) -> Option<Json> {
    let (parameters, strict) = narrowed(&shown::inputs(offer.contract), losses);
    losses.add("/outputs", "there is no place for what comes out");
    let description = shortened(&offer.contract.tool.description, losses);
    Some(json!({
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": parameters,
            "strict": strict,
        },
    }))
}

/// A schema that OpenAI takes, and whether it is one for strict mode.
pub(super) fn narrowed(schema: &Json, losses: &mut Losses) -> (Json, bool) {
    let whole = inlined(schema, losses).as_object().cloned().unwrap_or_default();
    let whole = root::object(whole, &REFUSED_AT_TOP, losses);
    let mut attempt = losses.attempt();
    match strict::narrowed(&whole, &mut attempt) {
        Ok(strict) => {
            losses.absorb(attempt);
            (strict, true)
        }
        Err(refusal) => {
            losses.add(refusal.at, format!("strict mode is off: {}", refusal.why));
            (Json::Object(loose(&whole, "/inputs", losses)), false)
        }
    }
}

/// The schema with the keywords of JSON Schema alone, and `items` for every array.
fn loose(fields: &Map<String, Json>, at: &str, losses: &mut Losses) -> Map<String, Json> {
    let known = fields.iter().filter(|(key, _)| is_known(key));
    let mut shown = rebuilt(known, at, |at, part| match part {
        Json::Object(part) => Json::Object(loose(part, at, losses)),
        other => other.clone(),
    });
    for key in fields.keys().filter(|key| !is_known(key)) {
        losses.add(below(at, key), format!("`{key}` is not a keyword of JSON Schema"));
    }
    let is_array = shown.get("type").is_some_and(|kind| match kind {
        Json::Array(kinds) => kinds.contains(&json!("array")),
        single => *single == json!("array"),
    });
    if is_array {
        shown.entry("items").or_insert_with(|| json!({}));
    }
    shown
}

fn is_known(key: &str) -> bool {
    holds(key) != Holds::Nothing || PLAIN.contains(&key)
}

fn shortened(text: &str, losses: &mut Losses) -> String {
    if text.chars().count() <= LONGEST_DESCRIPTION {
        return text.to_owned();
    }
    losses.add("/description", format!("cut to {LONGEST_DESCRIPTION} characters"));
    text.chars().take(LONGEST_DESCRIPTION - 1).chain(['…']).collect()
}
