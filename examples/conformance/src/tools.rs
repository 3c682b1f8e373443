//! Tool contracts of the conformance fixture.

use haft::{DefineError, ToolDefinition, ToolHandle, define_tool};
use haft_model::{Approval, ApprovalClass, EffectClass};
use serde_json::{Map, Value, json};

/// The tools that take nothing, with what they are for.
const PLAIN: [(&str, &str); 26] = [
    ("test_simple_text", "answers with a text"),
    ("test_image_content", "answers with a picture"),
    ("test_audio_content", "answers with a sound"),
    ("test_embedded_resource", "answers with a resource"),
    ("test_multiple_content_types", "answers with a text, a picture and a resource"),
    ("test_tool_with_logging", "remarks three things"),
    ("test_logging_tool", "remarks something"),
    ("test_tool_with_progress", "says three times how far it is"),
    ("test_error_handling", "fails"),
    ("test_reconnection", "takes a while"),
    ("test_missing_capability", "needs a client that has a model"),
    ("test_streaming_elicitation", "says how far it is, and asks"),
    ("test_elicitation_sep1034_defaults", "shows a form with defaults"),
    ("test_elicitation_sep1330_enums", "shows a form with choices"),
    ("test_input_required_result_elicitation", "asks for a name"),
    ("test_input_required_result_sampling", "asks the client's model"),
    ("test_input_required_result_list_roots", "asks for folders"),
    ("test_input_required_result_request_state", "asks for a yes"),
    ("test_input_required_result_multiple_inputs", "asks three things at once"),
    ("test_input_required_result_multi_round", "asks twice"),
    ("test_input_required_result_tampered_state", "asks for a yes"),
    ("test_input_required_result_capabilities", "asks what the client can be asked"),
    ("test_trigger_tool_change", "says that the tools changed"),
    ("test_trigger_prompt_change", "says that the prompts changed"),
    ("test_tool_with_task", "asks for a name, and takes a while"),
    ("test_dynamic_tool", "answers with a text"),
];

/// The tools that take long, and whether their callers have to come back for the answer.
const LONG: [(&str, &str, &str); 5] = [
    ("slow_compute", "takes as long as it is told", "allowed"),
    ("failing_job", "fails after a while", "required"),
    ("protocol_error_job", "ends in an error of the protocol", "allowed"),
    ("confirm_delete", "asks for a yes", "allowed"),
    ("multi_input", "asks two things at once", "allowed"),
];

/// Longer than any of those takes.
const LONGEST_MS: u64 = 120_000;

/// Every contract.
pub(crate) fn contracts() -> Result<Vec<ToolHandle<Value, Value>>, DefineError> {
    let nothing = json!({ "type": "object", "properties": {} });
    let mut tools = Vec::new();
    for (name, about) in PLAIN {
        tools.push(contract(name, about, nothing.clone())?);
    }
    for (name, about, background) in LONG {
        tools.push(long(name, about, background)?);
    }
    tools.push(contract("greet", "says hello", text_input("name"))?);
    tools.push(contract("test_sampling", "asks the client's model", text_input("prompt"))?);
    tools.push(contract("test_elicitation", "shows a form", text_input("message"))?);
    let region = json!({
        "type": "object",
        "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "query": { "type": "string" },
        },
        "required": ["region"],
    });
    tools.push(contract("test_custom_header", "takes a value that a header repeats", region)?);
    tools.push(contract("json_schema_2020_12_tool", "has a large schema", large())?);
    Ok(tools)
}

fn text_input(name: &str) -> Value {
    json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] })
}

fn contract(
    name: &str,
    about: &str,
    inputs: Value,
) -> Result<ToolHandle<Value, Value>, DefineError> {
    define_tool(definition(name, about, inputs))
}

fn long(
    name: &str,
    about: &str,
    background: &str,
) -> Result<ToolHandle<Value, Value>, DefineError> {
    let inputs = json!({
        "type": "object",
        "properties": {
            "seconds": { "type": "number" },
            "label": { "type": "string" },
            "filename": { "type": "string" },
        },
    });
    let mut definition = definition(name, about, inputs);
    definition.extras.insert("background".to_owned(), json!(background));
    definition.extras.insert("supports_cancel".to_owned(), json!(true));
    definition.timeout_ms = Some(LONGEST_MS);
    define_tool(definition)
}

fn definition(name: &str, about: &str, inputs: Value) -> ToolDefinition {
    let extras = Map::from_iter([
        ("exposed_as".to_owned(), json!(name)),
        ("concurrency".to_owned(), json!({ "safe": true })),
    ]);
    ToolDefinition {
        id: name.replace('_', "-"),
        description: format!("For the conformance suite: {about}."),
        inputs,
        outputs: json!({}),
        mutates: Some(Vec::new()),
        approval: Some(Approval::from(ApprovalClass::Auto)),
        risk_level: Some(0),
        classes: vec![EffectClass::ReadOnly],
        extras,
        ..ToolDefinition::default()
    }
}

/// A schema with every word that gateways like to lose.
fn large() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}
