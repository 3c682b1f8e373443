//! Gemini export tests: schemas stay within its subset of OpenAPI.

use haft_catalog::export::Format;
use serde_json::{Value, json};

use crate::export::contracts::{exported, nasty};
use crate::export::providers::{schema_of, tools, walk};

#[test]
fn gemini_takes_its_own_keywords_alone() {
    const KNOWN: [&str; 18] = [
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "items",
        "minItems",
        "maxItems",
        "properties",
        "required",
        "minProperties",
        "maxProperties",
        "minLength",
        "maxLength",
        "pattern",
        "minimum",
        "maximum",
    ];
    const TYPES: [&str; 6] = ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT"];
    for (name, schema) in tools(Format::Gemini, &exported(Format::Gemini, &nasty())) {
        if schema.is_null() {
            continue;
        }
        assert_eq!(schema["type"], "OBJECT", "{name}");
        for input in schema["properties"].as_object().unwrap().keys() {
            let first = |c: char| c.is_ascii_alphabetic() || c == '_';
            let good = |c: char| first(c) || c.is_ascii_digit();
            assert!(input.starts_with(first) && input.chars().all(good), "{name}: {input}");
        }
        walk(&schema, &mut |part| {
            let fields = part.as_object().unwrap_or_else(|| panic!("{name}: {part}"));
            if fields.contains_key("anyOf") {
                assert_eq!(fields.len(), 1, "{name}: nothing stands beside anyOf: {part}");
                return;
            }
            assert!(fields.keys().all(|key| KNOWN.contains(&key.as_str())), "{name}: {part}");
            assert!(TYPES.iter().any(|kind| part["type"] == *kind), "{name}: {part}");
            assert!(part.get("enum").is_none() || part["type"] == "STRING", "{name}: {part}");
            for value in part.get("enum").and_then(Value::as_array).into_iter().flatten() {
                assert!(value.as_str().is_some_and(|text| !text.is_empty()), "{name}: {part}");
            }
            assert!(part["type"] != "ARRAY" || part.get("items").is_some(), "{name}: {part}");
            assert!(part.get("properties") != Some(&json!({})), "{name}: {part}");
        });
    }
}

#[test]
fn gemini_says_values_nullability_and_choices_in_its_way() {
    let export = exported(Format::Gemini, &nasty());
    let values = schema_of(Format::Gemini, &export, "values@1");
    assert_eq!(
        values["properties"],
        json!({
            "unit": {"type": "STRING", "format": "enum", "enum": ["kg", "lb"]},
            "mixed": {"anyOf": [
                {"type": "STRING", "format": "enum", "enum": ["auto"], "nullable": true},
                {"type": "NUMBER", "description": "One of: 1, 2.5", "nullable": true},
                {"type": "INTEGER", "description": "One of: 1", "nullable": true},
                {"type": "BOOLEAN", "description": "One of: true", "nullable": true},
            ]},
            "level": {"type": "INTEGER", "description": "how much\nOne of: 1, 2, 3"},
            "version": {"type": "INTEGER", "description": "One of: 2"},
            "flag": {"type": "STRING", "format": "enum", "enum": ["on"]},
        })
    );
    let choices = schema_of(Format::Gemini, &export, "choices.inside@1");
    assert_eq!(
        choices["properties"]["who"],
        json!({"anyOf": [
            {"type": "STRING", "description": "whom", "nullable": true},
            {"type": "INTEGER", "description": "whom", "nullable": true},
        ]})
    );
}
