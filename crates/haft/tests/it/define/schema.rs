//! Schema generation tests: schemas out of types, and contracts held to the rules of files.

use std::collections::BTreeMap;

use haft::{Tool, ToolDefinition, define_tool};
use haft_model::{Backoff, DriverKind, EffectClass, RetryPolicy};
use haft_notation::Schema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::define::{area, codes};

/// What to draw.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Order {
    /// In words.
    prompt: String,
    seed: Option<u32>,
    style: Option<Style>,
    #[serde(default)]
    quality: i8,
    #[serde(default)]
    note: Option<String>,
    weight: f64,
    size: u64,
    parts: Vec<Part>,
    /// A property that is called like a keyword.
    format: BTreeMap<String, u16>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Style {
    Plain,
    Baroque,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Part {
    name: Option<String>,
    parts: Vec<Part>,
}

#[test]
fn an_input_is_plain_json_schema_2020_12() {
    let tool = Tool::<Order, Value>::builder("image.create")
        .description("Draws.")
        .read_only()
        .define()
        .unwrap();
    assert_eq!(
        tool.contract().inputs,
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "description": "What to draw.",
            "type": "object",
            "properties": {
                "prompt": { "description": "In words.", "type": "string" },
                "seed": { "type": "integer", "minimum": 0, "maximum": 4_294_967_295_u32 },
                "style": { "$ref": "#/$defs/Style" },
                "quality": { "type": "integer", "minimum": -128, "maximum": 127, "default": 0 },
                "note": { "type": "string" },
                "weight": { "type": "number" },
                "size": { "type": "integer", "minimum": 0 },
                "parts": { "type": "array", "items": { "$ref": "#/$defs/Part" } },
                "format": {
                    "description": "A property that is called like a keyword.",
                    "type": "object",
                    "additionalProperties": { "type": "integer", "minimum": 0, "maximum": 65_535 }
                }
            },
            "additionalProperties": false,
            "required": ["prompt", "weight", "size", "parts", "format"],
            "$defs": {
                "Style": { "type": "string", "enum": ["plain", "baroque"] },
                "Part": {
                    "type": "object",
                    "properties": {
                        "name": { "type": "string" },
                        "parts": { "type": "array", "items": { "$ref": "#/$defs/Part" } }
                    },
                    "required": ["parts"]
                }
            }
        })
    );
    assert_eq!(tool.contract().outputs, json!({ "type": "object" }));
    assert!(tool.contract().context_schema.is_none());
}

#[test]
fn null_output_field_satisfies_derived_schema() {
    let part = Part { name: None, parts: Vec::new() };
    let tool = Tool::<Value, Part>::builder("part.find")
        .description("Finds.")
        .read_only()
        .define()
        .unwrap();
    let schema = Schema::compile(&tool.contract().outputs).unwrap();
    let written = serde_json::to_value(part).unwrap();
    assert_eq!(written, json!({ "name": null, "parts": [] }));
    assert!(schema.violations(&written).is_empty(), "{}", tool.contract().outputs);
}

#[test]
fn typed_context_derives_context_schema() {
    #[derive(Deserialize, JsonSchema)]
    struct Tenant {
        #[expect(dead_code, reason = "only its schema is asked for")]
        tenant: String,
    }
    let tool = Tool::<Value, Value, Tenant>::builder("part.find")
        .description("Finds.")
        .read_only()
        .define()
        .unwrap();
    let schema = tool.contract().context_schema.clone().unwrap();
    assert_eq!(schema["required"], json!(["tenant"]));
}

#[test]
fn schema_digest_is_independent_of_key_order() {
    let one = define_tool(ToolDefinition {
        id: "shape.area".into(),
        description: "In other words.".into(),
        inputs: json!({ "required": ["width"], "type": "object", "properties": {
            "height": { "type": "integer", "maximum": 4_294_967_295_u32, "minimum": 0,
                        "description": "How long the other one is." },
            "width": { "minimum": 0, "maximum": 4_294_967_295_u32, "type": "integer",
                       "description": "How long the first one is." } },
            "$schema": "https://json-schema.org/draft/2020-12/schema" }),
        outputs: json!({ "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object", "required": ["area"],
            "properties": { "area": { "type": "integer", "minimum": 0 } } }),
        mutates: Some(Vec::new()),
        risk_level: Some(0),
        ..ToolDefinition::default()
    })
    .unwrap();
    assert_eq!(one.schema_digest(), area().schema_digest());
    assert_eq!(
        area().schema_digest().as_str(),
        "sha256:1e481007b9c28104a35fb07b4b98e79891e17401008f8ff336bebab88a8a0f7a"
    );
}

#[test]
fn tool_builder_fields_reach_contract_unchanged() {
    let tool = Tool::<Order, Value>::builder("image.create")
        .description("Draws: \"quoted\",\n--- and ünïcode.")
        .version("2.1.0-rc.1")
        .title("Draw a picture")
        .aliases(["image.draw"])
        .search_hint("draw a picture from words")
        .mutates(["external:images"])
        .approval(haft_model::Approval::parse("policy:spending").unwrap())
        .class([EffectClass::ExternalCommunication])
        .risk(2)
        .timeout_ms(60_000_u64)
        .retry(RetryPolicy { max_attempts: 3, backoff: Backoff::Exponential, initial_ms: 100 })
        .forbid([DriverKind::Http])
        .tags(["images"])
        .sensitive(["/prompt"])
        .internal(["/seed"])
        .extra("concurrency", json!({ "safe": true, "max_parallel": 2 }))
        .metadata("acme", json!({ "team": 7 }))
        .define()
        .unwrap();
    let contract = tool.contract();
    assert_eq!(tool.warnings(), []);
    assert_eq!(&*contract.file, "code:image.create");
    assert_eq!(&*contract.description, "Draws: \"quoted\",\n--- and ünïcode.");
    assert_eq!((&*contract.name, &*contract.version), ("Draw a picture", "2.1.0-rc.1"));
    assert_eq!(contract.approval.clone().unwrap().to_string(), "policy:spending");
    assert_eq!(contract.retry.map(|retry| retry.max_attempts), Some(3));
    assert_eq!(contract.forbid, [DriverKind::Http]);
    let extras = &contract.extras;
    assert_eq!(
        (extras.sensitive.clone(), extras.internal.clone()),
        (vec!["/prompt".to_owned()], vec!["/seed".to_owned()])
    );
    assert_eq!(extras.concurrency.max_parallel, Some(2));
    assert_eq!(contract.metadata, json!({ "acme": { "team": 7 } }));
}

#[test]
fn code_is_held_to_the_rules_of_files() {
    let refused = Tool::<Value, Value>::builder("Not An Id")
        .version("one")
        .mutates(["everything"])
        .risk(7)
        .define()
        .unwrap_err();
    assert_eq!(codes(&refused), ["T002", "T003", "T004", "T008", "T011"]);
    let text = refused.to_string();
    assert!(text.starts_with("`code:Not An Id` cannot be defined: "), "{text}");
    assert!(text.ends_with(", and 4 more"), "{text}");
}

#[test]
fn an_example_that_does_not_fit_is_refused() {
    let refused = Tool::<Order, Value>::builder("image.create")
        .description("Draws.")
        .read_only()
        .example("half an order", json!({ "prompt": "a tree" }), None)
        .define()
        .unwrap_err();
    assert!(codes(&refused).contains(&"T041"), "{refused:?}");
}

#[test]
fn missing_effects_in_code_warn_as_in_manifest() {
    let tool = Tool::<Value, Value>::builder("any.thing").description("Does.").define().unwrap();
    let codes: Vec<&str> = tool.warnings().iter().map(|found| found.code).collect();
    assert_eq!(codes, ["T046"]);
}

#[test]
fn a_value_that_is_no_object_is_refused() {
    let refused =
        Tool::<Vec<String>, Value>::builder("any.thing").description("Does.").read_only().define();
    assert_eq!(codes(&refused.unwrap_err()), ["T055"]);
}

#[test]
fn a_schema_of_an_older_draft_is_refused() {
    let refused = define_tool(ToolDefinition {
        id: "any.thing".into(),
        description: "Does.".into(),
        inputs: json!({ "$schema": "http://json-schema.org/draft-07/schema#", "type": "object" }),
        outputs: json!({ "type": "object" }),
        ..ToolDefinition::default()
    });
    assert_eq!(codes(&refused.unwrap_err()), ["T005"]);
}
