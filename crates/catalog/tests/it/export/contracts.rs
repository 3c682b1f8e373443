//! Export fixtures: contracts that are hard to export.

use std::sync::Arc;

use haft_catalog::WireNames;
use haft_catalog::export::{Export, Format, Offer, export};
use haft_contract::{Contract, Driver, ParsedManifest, Report, Source};
use haft_model::Lifecycle;
use serde_json::{Value, json};

/// A contract with these inputs and further lines.
pub(crate) fn contract(id: &str, version: &str, inputs: &Value, lines: &str) -> Contract {
    let text = format!(
        "---\nname: Name\nid: {id}\ndescription: \"Does it – naïve ☕ 漢字.\"\nversion: {version}\n\
         inputs: {inputs}\noutputs: {{type: object, properties: {{ok: {{type: boolean}}}}}}\n{lines}\n---\n"
    );
    let source = Source::new(format!("tools/{id}/TOOL.md"), text);
    let reading = haft_contract::read(&source, Report::new(&source));
    let Some(ParsedManifest::Tool(tool)) = reading.manifest else {
        panic!("{id}: {:?}", reading.diagnostics)
    };
    Contract::new(tool, None)
}

/// A driver with these lines.
pub(crate) fn driver(id: &str, kind: &str, lines: &str) -> Arc<Driver> {
    let text = format!(
        "---\nname: D\nid: {id}\nversion: 1.0.0\ndescription: d\nkind: {kind}\n{lines}\n---\n"
    );
    let source = Source::new(format!("drivers/{id}/DRIVER.md"), text);
    let reading = haft_contract::read(&source, Report::new(&source));
    let Some(ParsedManifest::Driver(driver)) = reading.manifest else {
        panic!("{id}: {:?}", reading.diagnostics)
    };
    driver
}

/// An export of contracts that are available and have no driver.
pub(crate) fn exported(format: Format, contracts: &[Contract]) -> Export {
    let offer = |contract| Offer { contract, driver: None, lifecycle: Lifecycle::Available };
    export(format, &contracts.iter().map(offer).collect::<Vec<_>>(), &WireNames::of(contracts))
}

/// The word that stands in every internal field's name, and in nothing else.
pub(crate) const INTERNAL: &str = "tenantsecret";

/// Every kind of schema that some provider refuses.
pub(crate) fn nasty() -> Vec<Contract> {
    let long = "a-rather-long-namespace.with-a-very-long-second-part.and-a-third-one";
    let deep = |levels: usize| {
        (0..levels).fold(
            json!({"type": "string"}),
            |inner, _| json!({"type": "object", "properties": {"in": inner}, "required": ["in"]}),
        )
    };
    let schemas = [
        ("plain", json!({"type": "object"})),
        ("dots.in.name", json!({"type": "object", "properties": {"a": {"type": "string"}}})),
        (
            "7digit.first",
            json!({"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}),
        ),
        ("nested.six", deep(6)),
        ("nested.twelve", deep(12)),
        ("references", references()),
        ("recursive", recursive()),
        ("alternatives.top", alternatives()),
        ("choices.inside", choices()),
        ("open", open()),
        ("constraints", constraints()),
        ("values", values()),
        ("internals", internals()),
        ("odd.names", odd_names()),
        ("joined", joined()),
        ("doubling", doubling()),
    ];
    let mut all: Vec<Contract> =
        schemas.iter().map(|(id, inputs)| contract(id, "1.0.0", inputs, "")).collect();
    for (id, version) in [
        (format!("{long}-one"), "1.0.0"),
        (format!("{long}-two"), "1.0.0"),
        ("twice.made".into(), "1.4.0"),
        ("twice.made".into(), "2.0.0"),
    ] {
        all.push(contract(&id, version, &json!({"type": "object"}), ""));
    }
    let lines = format!("metadata: {{haft: {{data: {{internal: [/listed{INTERNAL}]}}}}}}");
    all.push(contract("internal.listed", "1.0.0", &listed(), &lines));
    all
}

fn references() -> Value {
    json!({
        "type": "object",
        "properties": {
            "from": {"$ref": "#/$defs/place", "description": "where from"},
            "via": {"type": "array", "items": {"$ref": "#/$defs/place"}},
            "file": {"$ref": "https://agentproto.sh/docs/aip-27/REF.schema.json"},
            "$ref": {"type": "string"},
        },
        "required": ["from"],
        "$defs": {"place": {
            "type": "object", "additionalProperties": false,
            "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}}, "required": ["lat", "lon"],
        }},
    })
}

fn recursive() -> Value {
    json!({
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/node"}, "self": {"$ref": "#"}},
        "$defs": {"node": {"type": "object", "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
        }}},
    })
}

fn alternatives() -> Value {
    json!({
        "type": "object",
        "properties": {"kind": {"type": "string"}},
        "anyOf": [
            {"properties": {"id": {"type": "string"}, "note": {"type": "string"}}, "required": ["id", "note"]},
            {"properties": {"id": {"type": "integer"}, "note": {"type": "string"}}, "required": ["note"]},
        ],
        "not": {"required": ["kind", "id"]},
    })
}

fn choices() -> Value {
    json!({
        "type": "object",
        "properties": {
            "who": {"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}], "description": "whom"},
            "many": {"type": ["string", "array", "null"], "items": {"type": "string"}},
            "either": {
                "type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            },
            "if": {"if": {"type": "string"}, "then": {"minLength": 1}, "type": ["string", "null"]},
        },
    })
}

fn open() -> Value {
    json!({
        "type": "object",
        "properties": {
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "extra": {"type": "object", "additionalProperties": true},
            "by_name": {"type": "object", "patternProperties": {"^x": {"type": "string"}}},
            "any": {"description": "whatever"},
            "list": {"type": "array"},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]},
            "yes": true,
        },
        "additionalProperties": true,
    })
}

fn constraints() -> Value {
    json!({
        "type": "object",
        "properties": {
            "when": {"type": "string", "format": "date-time"},
            "link": {"type": "string", "format": "uri", "minLength": 3, "maxLength": 90},
            "code": {"type": "string", "pattern": "^[a-z]+$", "examples": ["abc"]},
            "count": {"type": "integer", "minimum": 1, "exclusiveMaximum": 10, "default": 3},
            "rate": {"type": "number", "multipleOf": 0.5, "format": "double"},
            "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true, "maxItems": 4},
            "old": {"type": "boolean", "deprecated": true, "x-vendor": 1},
        },
        "required": ["when", "link"],
        "additionalProperties": false,
    })
}

fn values() -> Value {
    json!({
        "type": "object",
        "properties": {
            "unit": {"enum": ["kg", "lb"]},
            "mixed": {"enum": ["auto", "", 1, 2.5, true, null]},
            "level": {"type": "integer", "enum": [1, 2, 3], "description": "how much"},
            "version": {"const": 2},
            "flag": {"const": "on"},
        },
        "required": ["unit"],
    })
}

fn internals() -> Value {
    let marked = json!({"type": "string", "visibility": "internal", "mutation_source": "host"});
    let named = format!("x{INTERNAL}");
    let mut properties = json!({
        "visibility": {"type": "string", "enum": ["public", "internal"]},
        "deeper": {"type": "object", "properties": {"ok": {"type": "string"}}, "required": ["ok", named]},
    });
    properties[&named] = marked.clone();
    properties["deeper"]["properties"][&named] = marked;
    json!({
        "type": "object",
        "properties": properties,
        "required": ["visibility", named],
        "anyOf": [{"required": [named]}, {"required": ["deeper"]}],
        "not": {"required": [named, "deeper"]},
        "dependentRequired": {(named.clone()): ["deeper"]},
        "examples": [{"visibility": "public", (named.clone()): "t1"}],
    })
}

fn listed() -> Value {
    let named = format!("listed{INTERNAL}");
    json!({
        "allOf": [{"$ref": "#/$defs/input"}],
        "type": "object",
        "$defs": {"input": {
            "type": "object", "required": [named, "shown"],
            "properties": {(named.clone()): {"type": "string"}, "shown": {"type": "string"}},
        }},
    })
}

fn odd_names() -> Value {
    json!({"type": "object", "properties": {
        "filter[id]": {"type": "string"}, "with-dash": {"type": "string"}, "plain": {"type": "string"},
    }, "required": ["plain"]})
}

fn joined() -> Value {
    json!({
        "type": "object",
        "properties": {"n": {"allOf": [
            {"type": ["integer", "string"], "minimum": 1}, {"type": "number", "minimum": 5, "maximum": 9},
        ]}},
        "allOf": [
            {"properties": {"m": {"type": "string"}}, "required": ["m"]},
            {"properties": {"n": {"description": "joined"}}},
        ],
    })
}

/// Definitions that each use the next one twice: written out, it never ends.
fn doubling() -> Value {
    let next = |n: usize| json!({"$ref": format!("#/$defs/d{}", n + 1)});
    let one = |n| {
        (format!("d{n}"), json!({"type": "object", "properties": {"a": next(n), "b": next(n)}}))
    };
    let mut definitions: serde_json::Map<String, Value> = (0..30).map(one).collect();
    definitions.insert("d30".into(), json!({"type": "string"}));
    json!({"type": "object", "properties": {"top": {"$ref": "#/$defs/d0"}}, "$defs": definitions})
}
