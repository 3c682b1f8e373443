//! MCP export: the result of `tools/list`.
//!
//! `inputSchema` is any draft 2020-12
//! of type object whose references stay inside it. All four hints are always stated.

use haft_contract::Contract;
use haft_model::Tri;
use serde_json::{Value as Json, json};

use super::Offer;
use super::inline::kept_inside;
use super::loss::Losses;
use super::shown;

/// Declares one tool; `None` where the format cannot carry it.
pub(super) fn declare(offer: &Offer<'_>, name: &str, losses: &mut Losses) -> Option<Json> {
    let contract = offer.contract;
    let facts = &contract.effects.facts;
    let mut inputs = spelled_out(kept_inside(&shown::inputs(contract), "/inputs", losses));
    // Clients look at `type` before anything else, so it is written even where a reference says it.
    if let Json::Object(fields) = &mut inputs {
        fields.insert("type".to_owned(), json!("object"));
    }
    let mut tool = json!({
        "name": name,
        "title": contract.title(),
        "description": &*contract.tool.description,
        "inputSchema": inputs,
        "annotations": {
            "title": contract.title(),
            "readOnlyHint": facts.read_only == Tri::Yes,
            "destructiveHint": facts.destructive != Tri::No,
            "idempotentHint": contract.tool.idempotent,
            "openWorldHint": facts.open_world != Tri::No,
        },
        "_meta": { "dev.haft/tool": contract.key().to_string() },
    });
    let outputs = spelled_out(kept_inside(&shown::outputs(contract), "/outputs", losses));
    if is_object(&outputs) {
        if let Json::Object(tool) = &mut tool {
            tool.insert("outputSchema".to_owned(), outputs);
        }
    } else {
        losses.add("/outputs", "only outputs of type object are taken by every client");
    }
    Some(tool)
}

/// Whether the declaration of a contract has its output schema.
pub fn shows_output_schema(contract: &Contract) -> bool {
    is_object(&shown::outputs(contract))
}

fn is_object(schema: &Json) -> bool {
    schema.get("type").and_then(Json::as_str) == Some("object")
}

/// The schema with an object for every property, since `true` and `false` were refused until
/// 2025-11-25, and with `additionalProperties` for open objects, which clients take for empty ones.
fn spelled_out(mut schema: Json) -> Json {
    spell_properties(&mut schema);
    schema
}

fn spell_properties(schema: &mut Json) {
    if let Some(Json::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut() {
            match property {
                Json::Bool(true) => *property = json!({}),
                Json::Bool(false) => *property = json!({ "not": {} }),
                _ => spell_open(property),
            }
        }
    }
    if let Some(items) = schema.get_mut("items") {
        spell_open(items);
    }
}

fn spell_open(schema: &mut Json) {
    const CLOSING: [&str; 8] = [
        "properties",
        "patternProperties",
        "additionalProperties",
        "unevaluatedProperties",
        "$ref",
        "allOf",
        "anyOf",
        "oneOf",
    ];
    spell_properties(schema);
    if let Json::Object(fields) = schema
        && fields.get("type").and_then(Json::as_str) == Some("object")
        && !CLOSING.iter().any(|keyword| fields.contains_key(*keyword))
    {
        fields.insert("additionalProperties".to_owned(), json!(true));
    }
}
