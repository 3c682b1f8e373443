//! Schema tests: the faults that refuse a schema, and the violations it reports.

use super::*;

fn faults(schema: Value) -> Vec<(String, String)> {
    inspect(&schema).into_iter().map(|fault| (fault.pointer, fault.message)).collect()
}

#[test]
fn a_good_schema_has_no_faults() {
    let schema = json!({
        "type": "object",
        "properties": {
            "pattern": { "type": "string", "pattern": "^[a-z]+$" },
            "next": { "$ref": "#/$defs/node" },
            "file": { "$ref": "https://agentproto.sh/docs/aip-27/REF.schema.json" },
        },
        "$defs": { "node": { "type": "object", "properties": { "$ref": { "type": "string" } } } },
    });
    assert_eq!(faults(schema.clone()), []);
    let schema = Schema::compile(&schema).unwrap();
    assert!(schema.fits(&json!({"file": "local:a.txt"})));
    assert!(!schema.fits(&json!({"file": 7})));
}

#[test]
fn a_network_reference_is_refused_and_never_fetched() {
    let found = faults(json!({"properties": {"a": {"$ref": "http://evil.example/s.json"}}}));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, "/properties/a/$ref");
    assert!(found[0].1.contains("never fetched"), "{}", found[0].1);
}

#[test]
fn wrong_draft_bad_type_and_dangling_ref_are_refused() {
    for (schema, pointer) in [
        (json!({"$schema": "http://json-schema.org/draft-07/schema#"}), "/$schema"),
        (json!({"properties": {"a": {"type": "text"}}}), "/properties/a/type"),
        (json!({"properties": {"a": {"$ref": "#/$defs/b"}}}), "/properties/a/$ref"),
    ] {
        assert_eq!(faults(schema.clone())[0].0, pointer, "{schema}");
    }
}

#[test]
fn a_pattern_that_explodes_or_looks_around_is_refused() {
    for pattern in ["(a{1000}){1000}{1000}", "(?=a)b", "(a)\\1"] {
        assert_eq!(faults(json!({ "pattern": pattern })).len(), 1, "{pattern}");
    }
    assert_eq!(faults(json!({ "pattern": "^(a+)+$" })), [], "linear time is enough");
}

#[test]
fn violations_name_the_pointer_the_rule_and_the_value() {
    let schema = Schema::compile(&json!({
        "type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["m"],
    }))
    .unwrap();
    let found = schema.violations(&json!({"n": 0}));
    let mut seen: Vec<_> =
        found.iter().map(|v| (v.pointer.as_str(), v.rule.as_str(), v.value.clone())).collect();
    seen.sort_by_key(|(pointer, ..)| pointer.len());
    assert_eq!(seen, [("", "required", json!({"n": 0})), ("/n", "minimum", json!(0))]);
}

#[test]
fn violations_of_large_values_stay_short() {
    let schema = json!({ "items": { "anyOf": [{ "type": "integer" }, { "type": "null" }] } });
    let schema = Schema::compile(&schema).unwrap();
    let long = schema.violations(&json!(vec!["x".repeat(2000); 300]));
    assert!(long.len() > 30 && long.len() <= 100, "{}", long.len());
    assert!(long.iter().all(|one| one.message.starts_with("value is not valid")), "{:?}", long[0]);
    let text = serde_json::to_string(&long).unwrap();
    assert!(text.len() < 50_000, "{}", text.len());
    let schema =
        Schema::compile(&json!({ "properties": { "a": true }, "additionalProperties": false }))
            .unwrap();
    let names: Map<String, Value> =
        (0..20).map(|n| (format!("{n}{}", "é".repeat(1000)), json!(n))).collect();
    let found = schema.violations(&names.into());
    assert_eq!(found.len(), 1);
    assert!(found[0].message.len() <= 1010 && found[0].message.ends_with('…'), "{found:?}");
    assert!(found[0].message.starts_with("Additional properties are not allowed"), "{found:?}");
}

#[test]
fn reference_to_the_meta_schema_is_accepted_once() {
    let schema = json!({ "properties": { "schema": { "$ref": DIALECT } } });
    assert_eq!(faults(schema.clone()), []);
    let schema = Schema::compile(&schema).unwrap();
    assert!(schema.fits(&json!({ "schema": { "type": "object" } })));
    assert!(!schema.fits(&json!({ "schema": { "type": "nothing" } })));
    // A property of this name does not hide what stands in it.
    let hidden = json!({ "properties": { "properties": { "$ref": "http://json-schema.org/draft-07/schema#" } } });
    assert_eq!(faults(hidden)[0].0, "/properties/properties/$ref");
}

#[test]
fn quoted_numbers_and_booleans_are_refused_with_advice() {
    let properties = json!({
        "n": { "type": "integer" }, "x": { "type": ["number", "null"] }, "b": { "type": "boolean" },
        "o": { "type": "object" }, "s": { "type": "array" },
    });
    let schema = Schema::compile(&json!({ "properties": properties })).unwrap();
    let cases = [
        (
            json!({ "n": "12" }),
            r#""12" is not of type "integer"; send 12 without the quotes around it"#,
        ),
        (json!({ "n": "1.5" }), r#""1.5" is not of type "integer""#),
        (json!({ "n": "12 pieces" }), r#""12 pieces" is not of type "integer""#),
        (
            json!({ "b": "true" }),
            r#""true" is not of type "boolean"; send true without the quotes around it"#,
        ),
        (
            json!({ "s": "[1]" }),
            r#""[1]" is not of type "array"; send [1] without the quotes around it"#,
        ),
        (json!({ "o": "null" }), r#""null" is not of type "object""#),
    ];
    for (value, message) in cases {
        assert_eq!(schema.violations(&value)[0].message, message);
    }
    let found = schema.violations(&json!({ "x": " 1.5" }));
    assert!(found[0].message.ends_with("; send 1.5 without the quotes around it"), "{found:?}");
}
