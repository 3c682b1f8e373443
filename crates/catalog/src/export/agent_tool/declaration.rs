//! `tool_declaration`: what a tool is, for the model that selects one.

use haft_model::record::{SCHEMA_VERSION, ToolDeclaration};
use haft_model::{CostClass, DriverKind, EffectClass};
use serde_json::{Value as Json, json};

use super::super::{Offer, shown};
use super::{Ids, native, said};

/// The namespace of a tool whose id has no dot.
const NO_NAMESPACE: &str = "default";

/// One declaration.
pub(super) fn record(offer: &Offer<'_>) -> ToolDeclaration {
    let contract = offer.contract;
    let tool = &contract.tool;
    let ids = Ids::of(offer);
    let (namespace, name) = named(offer);
    ToolDeclaration {
        schema_version: SCHEMA_VERSION.to_owned(),
        tool_id: contract.key().to_string(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        description: tool.description.to_string(),
        lifecycle: offer.lifecycle.name().to_owned(),
        tool_kind: kind(offer).to_owned(),
        extra: said(json!({
            "title": contract.title(),
            "aliases": tool.extras.aliases,
            "search_hint": tool.extras.search_hint,
            "capability_refs": capabilities(offer),
            "input_contract": input_contract(offer),
            "output_contract": output_contract(offer),
            "interface_ref": ids.interface,
            "execution_profile_ref": ids.execution,
            "permission_profile_ref": ids.permission,
            "external_mappings": native::mappings(offer),
            "annotations": annotations(offer),
        })),
    }
}

/// The dotted prefix of the id, and its last segment.
pub(super) fn named<'a>(offer: &Offer<'a>) -> (&'a str, &'a str) {
    let id = offer.contract.tool.key.id.as_str();
    id.rsplit_once('.').unwrap_or((NO_NAMESPACE, id))
}

/// The capabilities of a tool, independent of its provider.
pub(super) fn capabilities(offer: &Offer<'_>) -> Vec<String> {
    offer.contract.action.iter().map(|action| action.id.to_string()).collect()
}

fn kind<'a>(offer: &Offer<'a>) -> &'a str {
    if let Some(stated) = &offer.contract.tool.extras.kind {
        return stated;
    }
    match offer.driver.map(|driver| driver.kind) {
        Some(DriverKind::Builtin) => "native_tool",
        Some(DriverKind::Cli) => "shell_command",
        Some(DriverKind::Http) => "openapi_operation",
        Some(DriverKind::Mcp) => "mcp_tool",
        Some(DriverKind::Sdk) => "function",
        None => "custom",
    }
}

fn input_contract(offer: &Offer<'_>) -> Json {
    let contract = offer.contract;
    let internal = |pointer: &&String| !contract.internal.contains(pointer.trim_start_matches('/'));
    let sensitive: Vec<_> = contract.tool.extras.sensitive.iter().filter(internal).collect();
    let examples: Vec<_> = contract
        .tool
        .examples
        .iter()
        .map(|example| {
            json!({ "name": example.name, "input": shown::example(contract, &example.input) })
        })
        .collect();
    let mut block = said(json!({ "examples": examples, "sensitive_fields": sensitive }));
    block.insert("model_input_schema".to_owned(), shown::inputs(contract));
    block.insert("strict".to_owned(), json!(true));
    block.insert("argument_mode".to_owned(), json!("json"));
    Json::Object(block)
}

fn output_contract(offer: &Offer<'_>) -> Json {
    let extras = &offer.contract.tool.extras;
    let mut block = said(json!({
        "max_inline_chars": extras.max_inline_chars,
        "persistence_policy_ref": extras.persist,
        "redaction_rules": extras.redact,
    }));
    block.insert("structured_schema".to_owned(), shown::outputs(offer.contract));
    block.insert("content_types".to_owned(), json!(["application/json"]));
    Json::Object(block)
}

fn annotations(offer: &Offer<'_>) -> Json {
    let contract = offer.contract;
    let tool = &contract.tool;
    let classes: Vec<_> = contract.effects.classes.iter().map(|class| class.name()).collect();
    let severest = contract.effects.classes.iter().max().copied().map(EffectClass::name);
    let mut block = said(json!({
        "tags": tool.tags,
        "effect_classes": classes,
        "side_effect_class": severest,
        "replacement": tool.extras.lifecycle.replacement,
        "mutates": contract.effects.mutates,
        "compensation": tool.extras.compensation.as_ref().map(|undo| &undo.tool),
    }));
    let cost = match tool.cost_class {
        CostClass::Trivial => "trivial",
        CostClass::Metered => "metered",
        CostClass::Expensive => "expensive",
    };
    block.insert("version".to_owned(), json!(&*tool.version));
    block.insert("idempotent".to_owned(), json!(tool.idempotent));
    block.insert("cost_class".to_owned(), json!(cost));
    Json::Object(block)
}
