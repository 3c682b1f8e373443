//! `tool_interface`: how a tool behaves, flat for the schema and in the ten partitions for readers.

use haft_model::record::{SCHEMA_VERSION, ToolInterface};
use haft_model::{FactRule, InterruptBehavior, Lifecycle, Tri};
use serde_json::{Map, Value as Json, json};

use super::super::{Offer, shown};
use super::{Ids, declaration, execution, native, said};
use crate::surface::asks_a_person;

/// One interface.
pub(super) fn record(offer: &Offer<'_>) -> ToolInterface {
    let partitions = partitions(offer);
    let mut extra = Map::new();
    for field in FLAT {
        let value = partitions.values().find_map(|partition| partition.get(field));
        if let Some(value) = value {
            extra.insert(field.to_owned(), value.clone());
        }
    }
    if let Some(rendering) = partitions.get("rendering") {
        extra.insert("rendering".to_owned(), rendering.clone());
    }
    extra.insert("inferred_facts".to_owned(), inferred(offer));
    extra.insert("external_mappings".to_owned(), json!(native::mappings(offer)));
    extra.insert("partitions".to_owned(), Json::Object(partitions));
    ToolInterface {
        schema_version: SCHEMA_VERSION.to_owned(),
        interface_id: Ids::of(offer).interface,
        tool_id: offer.contract.key().to_string(),
        extra,
    }
}

/// The fields of the partitions that the standard's schema has at its top.
const FLAT: [&str; 22] = [
    "name",
    "aliases",
    "search_hint",
    "model_input_schema",
    "output_schema",
    "strict",
    "schema_visibility",
    "is_enabled",
    "is_read_only",
    "is_concurrency_safe",
    "is_destructive",
    "is_open_world",
    "requires_user_interaction",
    "interrupt_behavior",
    "classifier_input",
    "permission_matcher",
    "permission_profile_ref",
    "execution_profile_ref",
    "timeout_ms",
    "persistence_policy_ref",
    "max_inline_chars",
    "redaction_policy_refs",
];

fn partitions(offer: &Offer<'_>) -> Map<String, Json> {
    let all = [
        ("identity", identity(offer)),
        ("discovery", discovery(offer)),
        ("schemas", schemas(offer)),
        ("availability", availability(offer)),
        ("validation", validation()),
        ("safety", safety(offer)),
        ("permission", permission(offer)),
        ("execution", run(offer)),
        ("result", result(offer)),
        ("rendering", rendering(offer)),
    ];
    all.into_iter().map(|(name, fields)| (name.to_owned(), Json::Object(said(fields)))).collect()
}

fn identity(offer: &Offer<'_>) -> Json {
    let (namespace, name) = declaration::named(offer);
    json!({
        "tool_id": offer.contract.key().to_string(),
        "name": name,
        "namespace": namespace,
        "aliases": offer.contract.tool.extras.aliases,
        "native_ids": native::mappings(offer),
        "user_facing_name": offer.contract.title(),
    })
}

fn discovery(offer: &Offer<'_>) -> Json {
    let deferred = offer.lifecycle == Lifecycle::Deferred;
    json!({
        "search_hint": offer.contract.tool.extras.search_hint,
        "description": &*offer.contract.tool.description,
        "capability_refs": declaration::capabilities(offer),
        "schema_visibility": if deferred { "deferred" } else { "loaded" },
        "should_defer": deferred,
    })
}

fn schemas(offer: &Offer<'_>) -> Json {
    json!({
        "model_input_schema": shown::inputs(offer.contract),
        "output_schema": shown::outputs(offer.contract),
        "strict": true,
    })
}

fn availability(offer: &Offer<'_>) -> Json {
    json!({
        "is_enabled": offer.lifecycle.callable(),
        "requires_setup": offer.lifecycle == Lifecycle::RequiresSetup,
        "required_credentials": offer.contract.effects.requires.secrets,
        "required_tools": offer.contract.effects.requires.tools,
    })
}

/// The runtime validates every call before it asks for approval.
fn validation() -> Json {
    json!({ "schema_validation": true, "value_validation": true, "deny_before_io": true })
}

fn safety(offer: &Offer<'_>) -> Json {
    let facts = &offer.contract.effects.facts;
    let classified = matches!(facts.concurrency_safe, FactRule::Classifier(_));
    json!({
        "is_read_only": facts.read_only == Tri::Yes,
        // The standard's default is false; the inferred facts list it as unknown.
        "is_destructive": facts.destructive == Tri::Yes,
        "is_open_world": facts.open_world != Tri::No,
        "is_concurrency_safe": concurrency_safe(&facts.concurrency_safe),
        "interrupt_behavior": offer.contract.tool.extras.interrupt.unwrap_or(InterruptBehavior::Block),
        "requires_user_interaction": asks_a_person(offer.contract),
        "classifier_input": if classified { "model_input" } else { "" },
    })
}

/// A rule that others can read, or the unsafe value.
fn concurrency_safe(rule: &FactRule) -> Json {
    match rule {
        FactRule::Stated(safe) => json!(safe),
        FactRule::Classifier(name) => json!(format!("classifier:{name}")),
        FactRule::SameAs(field) => json!(format!("same_as:{field}")),
        FactRule::Expression(_) | FactRule::Unstated => json!(false),
    }
}

fn permission(offer: &Offer<'_>) -> Json {
    json!({
        "permission_profile_ref": Ids::of(offer).permission,
        "permission_matcher": offer.contract.grant_key(),
    })
}

fn run(offer: &Offer<'_>) -> Json {
    json!({
        "execution_profile_ref": Ids::of(offer).execution,
        "timeout_ms": execution::timeout_ms(offer),
        "abort_semantics": if execution::cancels(offer) { "cancel" } else { "unsupported" },
    })
}

fn result(offer: &Offer<'_>) -> Json {
    let extras = &offer.contract.tool.extras;
    json!({
        "max_inline_chars": extras.max_inline_chars,
        "persistence_policy_ref": extras.persist,
        "redaction_policy_refs": extras.redact,
    })
}

fn rendering(offer: &Offer<'_>) -> Json {
    json!({ "ui_summary": offer.contract.title() })
}

/// The facts that the author did not state, with their exported values.
fn inferred(offer: &Offer<'_>) -> Json {
    let effects = &offer.contract.effects;
    let safety = safety(offer);
    let value = |field: &str, assumed: &str| match assumed {
        "unknown" => json!(assumed),
        _ => safety.get(field).cloned().unwrap_or(json!(assumed)),
    };
    let mut facts: Vec<Json> = effects
        .inferred
        .iter()
        .map(|fact| {
            json!({
                "field": fact.field,
                "value": value(fact.field, &fact.value),
                "source": fact.source,
            })
        })
        .collect();
    let source = match &effects.facts.concurrency_safe {
        FactRule::Unstated => Some("`metadata.haft.concurrency.safe` is not stated".to_owned()),
        FactRule::Expression(rule) => Some(format!("depends on the input: `{rule}`")),
        FactRule::Stated(_) | FactRule::Classifier(_) | FactRule::SameAs(_) => None,
    };
    facts.extend(
        source.map(
            |source| json!({ "field": "is_concurrency_safe", "value": false, "source": source }),
        ),
    );
    if effects.facts.read_only == Tri::Unknown {
        let source = "depends on the input";
        facts.push(json!({ "field": "is_read_only", "value": false, "source": source }));
    }
    Json::Array(facts)
}
