//! Cost limit tests: schemas that cost too much are refused when they are read, or bounded by the
//! value.

use serde_json::{Value, json};

use super::*;

/// No document besides the schema itself.
const ALONE: Outside = Outside::One(&[], &Value::Null);

fn cost(schema: &Value) -> Result<Cost, NotationFault> {
    Cost::of(schema, ALONE)
}

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
        let fault = cost(&tower(33, twice, json!({ "type": "object" }))).unwrap_err();
        assert!(fault.message.starts_with("the schema is too costly"), "{fault}");
        assert!(fault.help.is_some());
        assert!(cost(&tower(5, twice, json!(true))).is_ok(), "{keyword}");
    }
    let mixed = |next: &str| json!({ "not": { "$ref": next }, "if": { "$ref": next }, "then": { "$ref": next } });
    assert!(cost(&tower(12, mixed, json!(true))).is_err());
    let once = |next: &str| json!({ "allOf": [{ "$ref": next }] });
    assert!(cost(&tower(25, once, json!(true))).is_ok(), "what does not multiply may be deep");
    assert!(cost(&tower(60, once, json!(true))).is_err(), "and not too deep");
}

#[test]
fn references_that_never_go_deeper_are_refused() {
    for schema in [
        json!({ "$ref": "#" }),
        json!({ "anyOf": [{ "type": "string" }, { "$ref": "#" }] }),
        json!({ "$dynamicAnchor": "node", "allOf": [{ "$dynamicRef": "#node" }] }),
        json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
    ] {
        let fault = cost(&schema).unwrap_err();
        assert!(fault.message.contains("without going deeper"), "{schema}: {fault}");
    }
    let tree = json!({ "properties": { "children": { "items": { "$ref": "#" } } } });
    assert!(cost(&tree).is_ok(), "a tree is no circle");
}

#[test]
fn steps_that_a_value_multiplies_are_counted() {
    // Each level is looked at twice, so that depth decides.
    let child = || json!({ "properties": { "a": { "$ref": "#" } } });
    let counted = cost(&json!({ "allOf": [child(), child()] })).unwrap();
    let nested = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({ "a": inner }));
    assert_eq!(counted.weigh(&nested(3)), Weight::Light);
    assert_eq!(counted.weigh(&nested(100)), Weight::Excessive);
    // Each level is looked at once, so that size decides.
    let counted = cost(&json!({ "properties": { "a": { "$ref": "#" } } })).unwrap();
    assert_eq!(counted.weigh(&nested(100)), Weight::Light);
    // A long list with a long enum.
    let words: Vec<String> = (0..2000).map(|n| format!("w{n}")).collect();
    let counted = cost(&json!({ "items": { "enum": words } })).unwrap();
    assert_eq!(counted.weigh(&json!(vec!["x"; 10])), Weight::Light);
    assert_eq!(counted.weigh(&json!(vec!["x"; 5000])), Weight::Heavy);
    assert_eq!(counted.weigh(&json!(vec!["x"; 50_000])), Weight::Excessive);
    // A pattern with many states and a long text.
    let counted = cost(&json!({ "pattern": "[01]*1[01]{4000}" })).unwrap();
    assert_eq!(counted.weigh(&json!("01".repeat(20))), Weight::Light);
    assert_eq!(counted.weigh(&json!("01".repeat(100_000))), Weight::Excessive);
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
    let counted = cost(&schema).unwrap();
    let value = json!({ "path": "a/b.txt", "lines": [1, 2, 3], "mode": "r" });
    assert_eq!(counted.weigh(&value), Weight::Light);
    assert!(counted.paths.is_some_and(|paths| paths < 40), "{:?}", counted.paths);
    let long = json!({ "path": "a".repeat(1000), "lines": vec![1; 200], "mode": "r" });
    assert_eq!(counted.weigh(&long), Weight::Light);
}

fn twice(next: &str) -> Value {
    json!({ "allOf": [{ "$ref": next }, { "$ref": next }] })
}

#[test]
fn names_are_charged_without_expanding_their_schema() {
    let mut schema = tower(11, twice, json!({ "pattern": "^[a-z0-9]+$" }));
    schema["propertyNames"] = json!({ "$ref": "#/$defs/d0" });
    schema.as_object_mut().unwrap().remove("$ref");
    let counted = cost(&schema).unwrap();
    let named = |count: usize| -> Value {
        (0..count).map(|n| (format!("n{n}"), json!(n))).collect::<serde_json::Map<_, _>>().into()
    };
    let began = std::time::Instant::now();
    assert_eq!(counted.weigh(&named(1)), Weight::Light);
    assert_eq!(counted.weigh(&named(100)), Weight::Heavy);
    assert_eq!(counted.weigh(&named(400_000)), Weight::Excessive);
    // Walking through the tower for each name takes minutes.
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

#[test]
fn count_ends_at_its_budget() {
    // One place with many parts, and many places with one part each.
    let wide: Vec<Value> = (0..2000).map(|n| json!({ "minimum": n })).collect();
    let counted = cost(&json!({ "items": { "allOf": wide } })).unwrap();
    let graph = &counted.graph;
    let list = json!(vec![1; 100]);
    assert_eq!(graph.steps(&counted.names, &list, 100), None);
    assert_eq!(graph.steps(&counted.names, &list, FEW_STEPS), None);
    let all = graph.steps(&counted.names, &list, MOST_STEPS).unwrap();
    assert_eq!(graph.steps(&counted.names, &list, all), Some(all));
    assert_eq!(graph.steps(&counted.names, &list, all - 1), None);
}

#[test]
fn large_values_are_never_called_light() {
    let counted = cost(&json!({})).unwrap();
    for small in [json!({ "a": 1 }), json!("x".repeat(1000)), json!(vec![0; 1000])] {
        assert!(counted.is_light(&small) && is_small(&small));
    }
    let deep = (0..990).fold(json!(1), |inner, _| json!([inner]));
    assert!(is_small(&deep) && !counted.is_light(&deep), "it needs a stack of its own");
    let bottomless = (0..1100).fold(json!(1), |inner, _| json!([inner]));
    for large in [json!("x".repeat(100_000)), json!(vec![0; 5000]), bottomless] {
        assert!(!counted.is_light(&large) && !is_small(&large));
    }
    assert_eq!(counted.weigh(&json!(vec![0; 5000])), Weight::Light, "the count itself says more");
}

#[test]
fn meta_schema_is_charged_for_every_value() {
    let schema = json!({ "$ref": DIALECT });
    let counted = cost(&schema).unwrap();
    assert_eq!(counted.weigh(&json!({ "type": "object" })), Weight::Light);
    assert_eq!(counted.weigh(&json!(vec![json!({}); 20_000])), Weight::Heavy);
    assert_eq!(counted.weigh(&json!(vec![json!({}); 400_000])), Weight::Excessive);
    for keyword in ["$ref", "$dynamicRef"] {
        let fault = cost(&tower(12, twice, json!({ keyword: DIALECT }))).unwrap_err();
        assert!(fault.message.starts_with("the schema is too costly"), "{fault}");
    }
    let fault = cost(&json!({
        "$dynamicAnchor": "meta", "allOf": [{ "$ref": DIALECT }, { "$ref": DIALECT }],
    }));
    assert!(fault.unwrap_err().message.contains("cannot be followed"));
}

#[test]
fn references_that_cannot_be_counted_are_refused() {
    let heavy = || tower(14, twice, json!(true));
    let mut embedded = heavy();
    embedded["$id"] = json!("urn:example:inner");
    let mut light = json!({ "$defs": { "inner": embedded.clone(), "d0": true } });
    light["$ref"] = json!("#/$defs/inner/$defs/d0");
    for (schema, words) in [
        (json!({ "$ref": "http://json-schema.org/draft-07/schema#" }), "cannot be followed"),
        (
            json!({ "$ref": "https://json-schema.org/draft/2020-12/meta/core" }),
            "cannot be followed",
        ),
        (json!({ "$ref": "urn:example:inner", "$defs": { "a": embedded } }), "cannot be followed"),
        (light, "leads into a schema with an `$id`"),
        (json!({ "allOf": [embedded] }), "stands in a schema with an `$id`"),
        (json!({ "$ref": "#/$defs/none" }), "points at nothing"),
        (
            json!({ "$ref": "#n", "$defs": { "a": { "$anchor": "n" }, "b": { "$anchor": "n" } } }),
            "several anchors",
        ),
        (
            json!({ "properties": { "a": { "$schema": "http://json-schema.org/draft-07/schema#" } } }),
            "a part of the schema is written in",
        ),
    ] {
        let fault = cost(&schema).unwrap_err();
        assert!(fault.message.contains(words), "{schema}: {fault}");
    }
}

#[test]
fn document_outside_is_counted_like_a_definition() {
    static OUTSIDE: std::sync::LazyLock<Value> = std::sync::LazyLock::new(
        || json!({ "oneOf": [{ "type": "string" }, { "pattern": "^a" }] }),
    );
    let outside = Outside::One(&["urn:outside"], &OUTSIDE);
    let apart =
        Cost::of(&json!({ "items": { "$ref": "urn:outside" }, "title": "o" }), outside).unwrap();
    let inside = json!({ "items": { "$ref": "#/$defs/o" }, "$defs": { "o": *OUTSIDE } });
    let list = json!(vec!["abc"; 10]);
    let steps = |cost: &Cost| cost.graph.steps(&cost.names, &list, MOST_STEPS);
    assert_eq!(steps(&apart), steps(&cost(&inside).unwrap()));
    assert!(Cost::of(&tower(14, twice, json!({ "$ref": "urn:outside" })), outside).is_err());
}

#[test]
fn dependencies_of_older_drafts_are_counted() {
    let both = |next: &str| json!({ "dependencies": { "a": { "$ref": next }, "b": { "$ref": next }, "c": ["a"] } });
    let fault = cost(&tower(33, both, json!({ "type": "object" }))).unwrap_err();
    assert!(fault.message.starts_with("the schema is too costly"), "{fault}");
}

#[test]
fn pattern_of_endless_states_does_not_overflow() {
    let endless = "(?:){999999999}".repeat(2) + "((((a){999999999}){999999999}){999999999})";
    let patterns = json!({ endless.clone(): true, format!("{endless}b"): true });
    let schema = json!({ "patternProperties": patterns, "pattern": endless, "propertyNames": { "pattern": endless } });
    let counted = cost(&schema).unwrap();
    assert_eq!(counted.weigh(&json!({ "a": "b" })), Weight::Excessive);
}
