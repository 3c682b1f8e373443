//! OpenAI strict mode tests: which schemas qualify, how they change, and which are refused.

use haft_catalog::export::{Export, Format};
use serde_json::{Value, json};

use crate::export::contracts::{contract, exported, nasty};
use crate::export::providers::walk;

fn function<'e>(export: &'e Export, id: &str) -> &'e Value {
    let place = export.names.iter().position(|(_, key)| key.to_string() == id).unwrap();
    &export.document[place]["function"]
}

#[test]
fn strict_schemas_close_objects_require_all_use_known_keywords() {
    const KNOWN: [&str; 16] = [
        "type",
        "title",
        "description",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "pattern",
        "format",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "anyOf",
    ];
    let export = exported(Format::OpenAi, &nasty());
    for tool in export.document.as_array().unwrap() {
        let function = &tool["function"];
        assert_eq!(tool["type"], "function");
        if function["strict"] != true {
            continue;
        }
        walk(&function["parameters"], &mut |part| {
            let fields = part.as_object().unwrap();
            let known = |key: &String| {
                KNOWN.contains(&key.as_str()) || ["minItems", "maxItems"].contains(&key.as_str())
            };
            assert!(fields.keys().all(known), "{function}");
            assert!(fields.contains_key("type") != fields.contains_key("anyOf"), "{part}");
            if let Some(properties) = part.get("properties").and_then(Value::as_object) {
                let names: Vec<_> = properties.keys().map(|name| json!(name)).collect();
                assert_eq!(part["additionalProperties"], false, "{part}");
                assert_eq!(part["required"], Value::Array(names), "{part}");
            }
        });
    }
}

#[test]
fn only_what_cannot_be_said_strictly_is_left_loose() {
    let export = exported(Format::OpenAi, &nasty());
    let loose: Vec<String> = export
        .names
        .iter()
        .filter(|(_, key)| function(&export, &key.to_string())["strict"] == false)
        .map(|(name, _)| name.clone())
        .collect();
    assert_eq!(loose, ["doubling", "nested_twelve", "open", "recursive"]);
    for name in loose {
        let reported = |line: &&haft_catalog::export::Degradation| {
            line.tool == format!("{}@1", name.replace('_', "."))
                && line.reason.starts_with("strict mode is off")
        };
        assert_eq!(export.degradations.iter().filter(reported).count(), 1, "{name}");
    }
}

#[test]
fn optional_inputs_become_nullable_and_lost_constraints_are_named() {
    let inputs = json!({
        "type": "object",
        "properties": {
            "to": {"type": "string", "format": "uri", "minLength": 3},
            "unit": {"enum": ["kg", "lb"]},
            "many": {"type": ["string", "array"], "items": {"type": "string"}},
        },
        "required": ["to"],
    });
    let export = exported(Format::OpenAi, &[contract("send", "1.0.0", &inputs, "")]);
    assert_eq!(
        export.document[0]["function"],
        json!({
            "name": "send", "description": "Does it – naïve ☕ 漢字.", "strict": true,
            "parameters": {
                "type": "object", "additionalProperties": false, "required": ["to", "unit", "many"],
                "properties": {
                    "to": {"type": "string"},
                    "unit": {"type": ["string", "null"], "enum": ["kg", "lb", null]},
                    "many": {"anyOf": [
                        {"type": "array", "items": {"type": "string"}}, {"type": "string"}, {"type": "null"},
                    ]},
                },
            },
        })
    );
    let lines: Vec<String> =
        export.degradations.iter().map(|line| format!("{} {}", line.field, line.reason)).collect();
    assert_eq!(
        lines,
        [
            "/inputs/properties/to/format `format` is not taken in strict mode",
            "/inputs/properties/to/minLength `minLength` is not taken in strict mode",
            "/inputs/properties/unit optional; shown as required, with null for absent",
            "/inputs/properties/many optional; shown as required, with null for absent",
            "/outputs there is no place for what comes out",
        ]
    );
}

#[test]
fn a_definition_is_written_out_where_it_is_used() {
    let export = exported(Format::OpenAi, &nasty());
    let place = json!({
        "type": "object", "additionalProperties": false, "required": ["lat", "lon"],
        "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}}, "description": "where from",
    });
    assert_eq!(function(&export, "references@1")["parameters"]["properties"]["from"], place);
    assert_eq!(
        function(&export, "joined@1")["parameters"]["properties"]["n"],
        json!({"type": ["integer", "null"], "minimum": 5, "maximum": 9, "description": "joined"})
    );
}

#[test]
fn a_long_description_is_cut_and_said_to_be() {
    let inputs = json!({"type": "object"});
    let mut long = contract("wordy", "1.0.0", &inputs, "");
    std::sync::Arc::make_mut(&mut long.tool).description = "ß".repeat(1500).into();
    let export = exported(Format::OpenAi, &[long]);
    let text = export.document[0]["function"]["description"].as_str().unwrap();
    assert_eq!(text.chars().count(), 1024);
    assert!(export.degradations.iter().any(|line| line.field == "/description"));
}

#[test]
fn strict_mode_is_off_for_too_long_enums() {
    let many: Vec<String> = (0..1001).map(|number| format!("v{number}")).collect();
    let inputs = json!({"type": "object", "properties": {"v": {"enum": many}}, "required": ["v"]});
    let export = exported(Format::OpenAi, &[contract("listing", "1.0.0", &inputs, "")]);
    assert_eq!(export.document[0]["function"]["strict"], false);
}
