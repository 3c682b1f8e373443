//! Provider limit tests: the published limits, checked against every hard contract.

use std::collections::BTreeSet;

use haft_catalog::export::{Export, Format};
use haft_notation::Schema;
use serde_json::{Value, json};

use crate::export::contracts::{INTERNAL, contract, exported, nasty};

/// The tools of a provider's document, as name and schema.
pub(crate) fn tools(format: Format, export: &Export) -> Vec<(String, Value)> {
    let (list, name, schema) = match format {
        Format::OpenAi => ("", "/function/name", "/function/parameters"),
        Format::Anthropic => ("", "/name", "/input_schema"),
        Format::Gemini => ("/0/functionDeclarations", "/name", "/parameters"),
        Format::Mcp | Format::AgentTool => ("/tools", "/name", "/inputSchema"),
    };
    let tools = export.document.pointer(list).and_then(Value::as_array).unwrap();
    let part = |tool: &Value, at| tool.pointer(at).cloned().unwrap_or_default();
    tools
        .iter()
        .map(|tool| (part(tool, name).as_str().unwrap().to_owned(), part(tool, schema)))
        .collect()
}

const PROVIDERS: [Format; 4] = [Format::OpenAi, Format::Anthropic, Format::Gemini, Format::Mcp];

/// Calls `visit` with every schema and the keyword it stands behind.
pub(crate) fn walk(schema: &Value, visit: &mut dyn FnMut(&Value)) {
    visit(schema);
    for (key, value) in schema.as_object().into_iter().flatten() {
        match (key.as_str(), value) {
            (
                "properties" | "$defs" | "patternProperties" | "dependentSchemas",
                Value::Object(named),
            ) => {
                named.values().for_each(|part| walk(part, visit));
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                list.iter().for_each(|part| walk(part, visit));
            }
            (
                "items" | "not" | "if" | "then" | "else" | "additionalProperties",
                Value::Object(_),
            ) => {
                walk(value, visit);
            }
            _ => {}
        }
    }
}

fn keywords(schema: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    walk(schema, &mut |part| {
        found.extend(part.as_object().into_iter().flatten().map(|(key, _)| key.clone()));
    });
    found
}

#[test]
fn names_fit_every_provider_and_are_unique() {
    for format in PROVIDERS {
        let export = exported(format, &nasty());
        let tools = tools(format, &export);
        let names: BTreeSet<_> = tools.iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(names.len(), nasty().len(), "{format:?}");
        for name in &names {
            let good = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
            assert!((1..=48).contains(&name.len()) && name.chars().all(good), "{name}");
            let first = name.chars().next().unwrap();
            assert!(first.is_ascii_alphabetic() || first == '_', "{name}");
        }
        let listed: Vec<_> = export.names.iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(listed, tools.into_iter().map(|(name, _)| name).collect::<Vec<_>>());
    }
}

#[test]
fn lower_major_gets_version_suffix_in_exported_name() {
    let name = |format, id| {
        let names = exported(format, &nasty()).names;
        names.into_iter().find(|(_, key)| key.to_string() == id).unwrap().0
    };
    assert_eq!(name(Format::OpenAi, "twice.made@1"), "twice_made_v1");
    assert_eq!(name(Format::OpenAi, "twice.made@2"), "twice_made");
    assert_eq!(name(Format::Mcp, "twice.made@1"), "twice_made_v1");
    assert_eq!(name(Format::Mcp, "dots.in.name@1"), "dots_in_name");
}

#[test]
fn internal_fields_and_their_marks_appear_in_no_format() {
    for format in Format::ALL {
        let export = exported(format, &nasty());
        let text = export.document.to_string();
        assert!(!text.contains(INTERNAL), "{format:?}");
        assert!(!text.contains("mutation_source"), "{format:?}");
        assert!(!text.contains("\"visibility\":\"internal\""), "{format:?}");
        assert!(text.contains("shown"), "{format:?}: what is not internal stays");
    }
}

#[test]
fn a_property_called_visibility_is_no_keyword() {
    for format in PROVIDERS {
        let export = exported(format, &nasty());
        let schema = schema_of(format, &export, "internals@1");
        assert!(schema["properties"]["visibility"].is_object(), "{format:?}");
    }
}

/// The schema of one tool.
pub(crate) fn schema_of(format: Format, export: &Export, id: &str) -> Value {
    let place = export.names.iter().position(|(_, key)| key.to_string() == id).unwrap();
    tools(format, export).remove(place).1
}

#[test]
fn every_schema_is_an_object_and_compiles() {
    for format in [Format::OpenAi, Format::Anthropic, Format::Mcp] {
        for (name, schema) in tools(format, &exported(format, &nasty())) {
            assert_eq!(schema["type"], "object", "{format:?} {name}");
            Schema::compile(&schema).unwrap_or_else(|fault| panic!("{format:?} {name}: {fault:?}"));
        }
    }
}

#[test]
fn no_reference_leads_out_of_a_schema() {
    for format in PROVIDERS {
        for (name, schema) in tools(format, &exported(format, &nasty())) {
            walk(&schema, &mut |part| {
                let target = part.get("$ref").and_then(Value::as_str).unwrap_or("#");
                assert!(target.starts_with('#'), "{format:?} {name}: {target}");
            });
        }
    }
}

#[test]
fn anthropic_export_has_no_top_level_combinators_plain_names() {
    let export = exported(Format::Anthropic, &nasty());
    for (name, schema) in tools(Format::Anthropic, &export) {
        for key in ["anyOf", "oneOf", "allOf"] {
            assert!(schema.get(key).is_none(), "{name} has {key}");
        }
        for input in schema["properties"].as_object().unwrap().keys() {
            let good = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
            assert!(input.len() <= 64 && input.chars().all(good), "{name}: {input}");
        }
    }
    assert_eq!(
        schema_of(Format::Anthropic, &export, "recursive@1")["properties"]["tree"],
        json!({"$ref": "#/$defs/node"}),
        "references are taken as they are"
    );
}

#[test]
fn alternatives_at_the_top_become_one_set_of_inputs() {
    let schema =
        schema_of(Format::Anthropic, &exported(Format::Anthropic, &nasty()), "alternatives.top@1");
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "kind": {"type": "string"},
                "id": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "note": {"type": "string"},
            },
            "required": ["note"],
            "not": {"required": ["kind", "id"]},
        })
    );
}

#[test]
fn tool_requiring_input_with_refused_name_is_left_out() {
    let inputs = json!({"type": "object", "properties": {"filter[id]": {"type": "string"}}, "required": ["filter[id]"]});
    let contracts = [contract("odd.needed", "1.0.0", &inputs, "")];
    for (format, shown) in
        [(Format::Anthropic, 0), (Format::Gemini, 0), (Format::OpenAi, 1), (Format::Mcp, 1)]
    {
        let export = exported(format, &contracts);
        assert_eq!(
            (export.names.len(), tools(format, &export).len()),
            (shown, shown),
            "{format:?}"
        );
    }
    let left_out = &exported(Format::Gemini, &contracts).degradations[0];
    assert_eq!(left_out.field, "/inputs/properties/filter[id]");
    assert!(left_out.reason.starts_with("left out"), "{}", left_out.reason);
}

#[test]
fn mcp_states_every_hint_and_the_way_back() {
    let stated = "mutates: []\nrisk_level: 0\nrequires: {network: [api.example]}\nidempotent: true";
    let inputs = json!({"type": "object"});
    let contracts = [
        contract("quiet.one", "3.1.0", &inputs, stated),
        contract("silent.one", "1.0.0", &inputs, ""),
    ];
    let tools = exported(Format::Mcp, &contracts).document["tools"].clone();
    assert_eq!(
        tools[0],
        json!({
            "name": "quiet_one", "title": "Name", "description": "Does it – naïve ☕ 漢字.",
            "inputSchema": {"type": "object"},
            "annotations": {"title": "Name", "readOnlyHint": true, "destructiveHint": false,
                            "idempotentHint": true, "openWorldHint": false},
            "_meta": {"dev.haft/tool": "quiet.one@3"},
            "outputSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}},
        })
    );
    assert_eq!(
        tools[1]["annotations"],
        json!({"title": "Name", "readOnlyHint": false, "destructiveHint": true,
               "idempotentHint": false, "openWorldHint": true})
    );
}

#[test]
fn openai_takes_the_keywords_of_json_schema_alone() {
    for (name, schema) in tools(Format::OpenAi, &exported(Format::OpenAi, &nasty())) {
        let found = keywords(&schema);
        assert!(!found.contains("x-vendor") && !found.contains("$defs"), "{name}: {found:?}");
        for key in ["anyOf", "oneOf", "allOf", "not", "enum", "const"] {
            assert!(schema.get(key).is_none(), "{name} has {key} at the top");
        }
    }
}

#[test]
fn mcp_tools_fit_the_published_schemas() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/mcp");
    if !folder.exists() {
        println!("skipped: the published schemas are not beside the repository");
        return;
    }
    for version in ["2025-11-25", "2026-07-28"] {
        let text = std::fs::read_to_string(folder.join(version).join("schema.json")).unwrap();
        let mut published: Value = serde_json::from_str(&text).unwrap();
        published["$ref"] = json!("#/$defs/Tool");
        let schema = Schema::compile(&published).unwrap();
        for tool in exported(Format::Mcp, &nasty()).document["tools"].as_array().unwrap() {
            assert_eq!(schema.violations(tool), [], "{version}: {tool}");
        }
    }
}

#[test]
fn mcp_export_says_that_open_objects_are_open() {
    let inputs = json!({"type": "object", "properties": {
        "any": {"type": "object"},
        "inner": {"type": "object", "properties": {"any": {"type": "object"}}},
        "list": {"type": "array", "items": {"type": "object"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    }});
    let export = exported(Format::Mcp, &[contract("a.b", "1.0.0", &inputs, "")]);
    let (_, schema) = tools(Format::Mcp, &export).remove(0);
    let open = json!({"type": "object", "additionalProperties": true});
    let expected = json!({"type": "object", "properties": {
        "any": open,
        "inner": {"type": "object", "properties": {"any": open}},
        "list": {"type": "array", "items": open},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    }});
    assert_eq!(schema, expected);
}
