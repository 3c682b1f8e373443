//! Schemas that ask for too much are refused when they are read, or bounded by the value.

use serde_json::{Value, json};

use super::*;

/// A tower of definitions, each made of two references to the next.
fn tower(height: usize, join: impl Fn(&str) -> Value, last: Value) -> Value {
    let mut definitions = serde_json::Map::new();
    for level in 0..height {
        definitions.insert(format!("d{level}"), join(&format!("#/$defs/d{}", level + 1)));
    }
    definitions.insert(format!("d{height}"), last);
    json!({ "$ref": "#/$defs/d0", "$defs": definitions })
}

#[test]
fn references_that_multiply_in_place_are_refused() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let twice = |next: &str| json!({ keyword: [{ "$ref": next }, { "$ref": next }] });
        let fault = Cost::of(&tower(33, twice, json!({ "type": "object" }))).unwrap_err();
        assert!(fault.message.starts_with("the schema is too costly"), "{fault}");
        assert!(fault.help.is_some());
        assert!(Cost::of(&tower(5, twice, json!(true))).is_ok(), "{keyword}");
    }
    let mixed = |next: &str| json!({ "not": { "$ref": next }, "if": { "$ref": next }, "then": { "$ref": next } });
    assert!(Cost::of(&tower(12, mixed, json!(true))).is_err());
    let once = |next: &str| json!({ "allOf": [{ "$ref": next }] });
    assert!(Cost::of(&tower(25, once, json!(true))).is_ok(), "what does not multiply may be deep");
    assert!(Cost::of(&tower(60, once, json!(true))).is_err(), "and not too deep");
}

#[test]
fn references_that_never_go_deeper_are_refused() {
    for schema in [
        json!({ "$ref": "#" }),
        json!({ "anyOf": [{ "type": "string" }, { "$ref": "#" }] }),
        json!({ "$dynamicAnchor": "node", "allOf": [{ "$dynamicRef": "#node" }] }),
        json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
    ] {
        let fault = Cost::of(&schema).unwrap_err();
        assert!(fault.message.contains("without going deeper"), "{schema}: {fault}");
    }
    let tree = json!({ "properties": { "children": { "items": { "$ref": "#" } } } });
    assert!(Cost::of(&tree).is_ok(), "a tree is no circle");
}

#[test]
fn steps_that_a_value_multiplies_are_counted() {
    // Each level is looked at twice, so that depth decides.
    let child = || json!({ "properties": { "a": { "$ref": "#" } } });
    let cost = Cost::of(&json!({ "allOf": [child(), child()] })).unwrap();
    let nested = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({ "a": inner }));
    assert_eq!(cost.weigh(&nested(3)), Weight::Light);
    assert_eq!(cost.weigh(&nested(100)), Weight::Excessive);
    // Each level is looked at once, so that size decides.
    let cost = Cost::of(&json!({ "properties": { "a": { "$ref": "#" } } })).unwrap();
    assert_eq!(cost.weigh(&nested(100)), Weight::Light);
    // A long list with a long enum.
    let words: Vec<String> = (0..2000).map(|n| format!("w{n}")).collect();
    let cost = Cost::of(&json!({ "items": { "enum": words } })).unwrap();
    assert_eq!(cost.weigh(&json!(vec!["x"; 10])), Weight::Light);
    assert_eq!(cost.weigh(&json!(vec!["x"; 5000])), Weight::Heavy);
    assert_eq!(cost.weigh(&json!(vec!["x"; 50_000])), Weight::Excessive);
    // A pattern with many states and a long text.
    let cost = Cost::of(&json!({ "pattern": "[01]*1[01]{4000}" })).unwrap();
    assert_eq!(cost.weigh(&json!("01".repeat(20))), Weight::Light);
    assert_eq!(cost.weigh(&json!("01".repeat(100_000))), Weight::Excessive);
}

#[test]
fn an_ordinary_check_is_light() {
    let schema = json!({
        "type": "object", "required": ["path"], "additionalProperties": false,
        "properties": {
            "path": { "type": "string", "pattern": "^[a-z/.]+$" },
            "lines": { "type": "array", "items": { "type": "integer" } },
            "mode": { "enum": ["r", "w"] },
        },
    });
    let cost = Cost::of(&schema).unwrap();
    let value = json!({ "path": "a/b.txt", "lines": [1, 2, 3], "mode": "r" });
    assert_eq!(cost.weigh(&value), Weight::Light);
    assert!(cost.paths.is_some_and(|paths| paths < 40), "{:?}", cost.paths);
    let long = json!({ "path": "a".repeat(1000), "lines": vec![1; 200], "mode": "r" });
    assert_eq!(cost.weigh(&long), Weight::Light);
}
