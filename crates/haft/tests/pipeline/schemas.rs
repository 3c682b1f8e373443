//! Schemas that ask for too much are refused when they are read, or bounded by the value; other calls go on.

use std::time::Duration;

use haft_contract::Severity;
use haft_model::Code;
use haft_runtime::Manner;
use serde_json::{Value, json};

use crate::stage::*;

/// Far more than a bounded check takes in a build that is not optimised, and far less than any of these
/// schemas would take without a bound.
const BOUND: Duration = Duration::from_secs(60);

/// Definitions of which each is made of references to the next.
fn tower(height: usize, join: impl Fn(&str) -> Value, last: Value) -> Value {
    let mut definitions = serde_json::Map::new();
    for level in 0..height {
        definitions.insert(format!("d{level}"), join(&format!("#/$defs/d{}", level + 1)));
    }
    definitions.insert(format!("d{height}"), last);
    json!({ "type": "object", "allOf": [{ "$ref": "#/$defs/d0" }], "$defs": definitions })
}

fn nested(depth: usize, last: Value) -> Value {
    (0..depth).fold(last, |inner, _| json!({ "a": inner }))
}

fn lists(depth: usize) -> Value {
    json!({ "a": (0..depth).fold(json!(1), |inner, _| json!([inner])) })
}

/// A schema and an input that goes with it.
fn hostile() -> Vec<(&'static str, Value, Value)> {
    let twice = |keyword: &'static str| move |next: &str| json!({ keyword: [{ "$ref": next }, { "$ref": next }] });
    let object = || json!({ "type": "object" });
    let both = |one: Value, other: Value| json!({ "type": "object", "allOf": [one, other] });
    let child = || json!({ "properties": { "a": { "$ref": "#" } } });
    let words: Vec<String> = (0..3000).map(|n| format!("word {n}")).collect();
    let patterns: serde_json::Map<String, Value> =
        (0..200).map(|n| (format!("^(a|b)*{n}"), json!({ "type": "integer" }))).collect();
    let keys: serde_json::Map<String, Value> =
        (0..5000).map(|n| (format!("{}{n}", "ab".repeat(20)), json!(n))).collect();
    let unique = |count: usize| -> Vec<Value> { (0..count).map(|n| json!([n, "x"])).collect() };
    vec![
        ("allOf of two equal references, 33 deep", tower(33, twice("allOf"), object()), json!({})),
        ("anyOf", tower(33, twice("anyOf"), json!({ "required": ["no"] })), json!({})),
        ("oneOf", tower(33, twice("oneOf"), object()), json!({})),
        (
            "not, if and then",
            tower(
                25,
                |next| json!({ "not": { "$ref": next }, "if": { "$ref": next }, "then": { "$ref": next } }),
                object(),
            ),
            json!({}),
        ),
        (
            "dependentSchemas",
            tower(
                33,
                |next| json!({ "dependentSchemas": { "a": { "$ref": next }, "b": { "$ref": next } } }),
                object(),
            ),
            json!({"a": 1, "b": 1}),
        ),
        ("a chain of references", tower(5000, |next| json!({ "$ref": next }), object()), json!({})),
        (
            "a reference to itself",
            json!({ "type": "object", "allOf": [{ "$ref": "#" }] }),
            json!({}),
        ),
        (
            "a dynamic reference to itself",
            json!({ "type": "object", "$dynamicAnchor": "n", "anyOf": [{ "$dynamicRef": "#n" }] }),
            json!({}),
        ),
        (
            "a dynamic reference that is met twice",
            json!({ "type": "object", "$dynamicAnchor": "n", "allOf": [{ "properties": { "a": { "$dynamicRef": "#n" } } }, { "properties": { "a": { "$dynamicRef": "#n" } } }] }),
            nested(90, json!({})),
        ),
        ("properties that are met twice", both(child(), child()), nested(100, json!({}))),
        (
            "items and contains that are met twice",
            json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/l" } }, "$defs": { "l": { "items": { "$ref": "#/$defs/l" }, "contains": { "$ref": "#/$defs/l" } } } }),
            lists(100),
        ),
        (
            "patterns that are met twice",
            json!({ "type": "object", "patternProperties": { "a": { "$ref": "#" }, "^a": { "$ref": "#" } } }),
            nested(100, json!({})),
        ),
        (
            "unevaluated properties, one around the other",
            tower(
                20,
                |next| json!({ "allOf": [{ "$ref": next }], "unevaluatedProperties": true }),
                object(),
            ),
            keys.clone().into(),
        ),
        (
            "unevaluated items",
            json!({ "type": "object", "properties": { "a": tower_of_items() } }),
            json!({ "a": vec![1; 5000] }),
        ),
        (
            "a huge enum",
            json!({ "type": "object", "properties": { "a": { "items": { "enum": words } } } }),
            json!({ "a": vec!["no such word"; 20_000] }),
        ),
        (
            "patterns by keys",
            json!({ "type": "object", "patternProperties": patterns }),
            keys.into(),
        ),
        (
            "unique items",
            json!({ "type": "object", "properties": { "a": { "uniqueItems": true } } }),
            json!({ "a": unique(50_000) }),
        ),
        (
            "a pattern with many states",
            json!({ "type": "object", "properties": { "a": { "pattern": "[01]*1[01]{2000}" } } }),
            json!({ "a": "01".repeat(500_000) }),
        ),
        (
            "a nest of repetitions",
            json!({ "type": "object", "properties": { "a": { "pattern": "^((a{1,40}){1,40})$" } } }),
            json!({ "a": "a".repeat(200_000) }),
        ),
        (
            "a long list of nothing",
            json!({ "type": "object", "properties": { "a": { "minItems": 1_000_000_000 } } }),
            json!({ "a": vec![0; 100_000] }),
        ),
        (
            "properties that branch",
            tower(
                40,
                |next| json!({ "properties": { "a": { "$ref": next }, "b": { "$ref": next } } }),
                object(),
            ),
            nested(39, json!({})),
        ),
        (
            "names that are held against much",
            json!({ "type": "object", "propertyNames": { "anyOf": (0..300).map(|n| json!({ "pattern": format!("^(a|b|c)*{n}$") })).collect::<Vec<_>>() } }),
            nested(1, json!({})),
        ),
    ]
}

fn tower_of_items() -> Value {
    (0..20).fold(json!({}), |inner, _| json!({ "allOf": [inner], "unevaluatedItems": true }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_schemas_are_refused_or_bounded_while_others_are_answered() {
    let cases = hostile();
    assert!(cases.len() >= 20);
    let (mut refused, mut asked) = (0, 0);
    for (name, schema, input) in cases {
        let stage = Setting::default()
            .tool("plain", READ)
            .tool("hostile", &format!("{READ}inputs: {schema}\n"))
            .lenient()
            .open();
        let workspace = stage.host.workspace();
        let errors = workspace.diagnostics().iter();
        let is_refused = errors.filter(|found| found.severity == Severity::Error).count() > 0;
        let call = haft_model::Call::new(stage.agent(), "hostile", input);
        let (host, other) = (&stage.host, stage.call("plain", json!({})));
        let hostile = host.runtime().call(call, Manner::default());
        let both = async { tokio::join!(hostile, other) };
        let (hostile, other) =
            tokio::time::timeout(BOUND, both).await.unwrap_or_else(|_| panic!("{name}"));
        assert_eq!(other.error, None, "{name}");
        let code = hostile.error.as_ref().map(|error| error.error_code);
        match is_refused {
            true => {
                refused += 1;
                let is_out = matches!(code, Some(Code::ToolUnknown | Code::ToolBlocked));
                assert!(is_out, "{name}: {hostile:?}");
            }
            false => {
                asked += 1;
                assert!(matches!(code, None | Some(Code::InputSchema)), "{name}: {code:?}");
            }
        }
    }
    assert!(refused >= 7 && asked >= 10, "{refused} refused, {asked} asked");
}

#[tokio::test]
async fn the_schema_that_froze_a_server_is_refused_by_its_place() {
    let twice = |next: &str| json!({ "allOf": [{ "$ref": next }, { "$ref": next }] });
    let schema = tower(33, twice, json!({ "type": "object" }));
    assert!(schema.to_string().len() < 4000);
    let stage =
        Setting::default().tool("frozen", &format!("{READ}inputs: {schema}\n")).lenient().open();
    let workspace = stage.host.workspace();
    let found: Vec<_> = workspace.diagnostics().iter().map(|found| found.message.clone()).collect();
    assert!(found.iter().any(|words| words.contains("the schema is too costly")), "{found:#?}");
}
