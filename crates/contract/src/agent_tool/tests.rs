//! Agent Tool reader tests: declarations and interfaces in, contracts and diagnostics out.

use haft_model::{
    Approval, FactRule, InterruptBehavior, Lifecycle, LifecycleDates, Requires, ToolKey,
};
use serde_json::{Value as Json, json};

use super::{Interface, apply, to_declaration};
use crate::extras::{Concurrency, Extras, ImportSource, StatedFacts};
use crate::foreign::probe::{FILE, read, said, tool};
use crate::{Example, ParsedManifest, ToolManifest};

fn interface(record: &Json) -> Interface {
    let reading = read(&record.to_string());
    match reading.manifest {
        Some(ParsedManifest::Interface(interface)) => (*interface).clone(),
        other => panic!("{other:?} {:?}", reading.diagnostics),
    }
}

fn same(left: &ToolManifest, right: &ToolManifest) {
    assert_eq!(format!("{left:#?}"), format!("{right:#?}"));
}

fn bare(key: ToolKey, version: &str) -> ToolManifest {
    ToolManifest::bare(&FILE.into(), "forecast", key, version, "Tells the weather.")
}

fn whole_record() -> Json {
    json!({
        "schema_version": "0.2.0",
        "tool_id": "weather.forecast@2",
        "namespace": "weather",
        "name": "forecast",
        "description": "Tells the weather.",
        "lifecycle": "deferred",
        "tool_kind": "openapi_operation",
        "aliases": ["old-forecast"],
        "search_hint": "weather for a place",
        "title": "Forecast",
        "capability_refs": ["weather.read"],
        "input_contract": {
            "model_input_schema": {
                "type": "object",
                "properties": { "place": { "type": "string" }, "who": { "type": "object" } },
                "required": ["place"],
            },
            "examples": [{ "place": "Graz" }, { "name": "wrapped", "input": { "place": "Linz" } }],
            "sensitive_fields": ["who.email", "stops[].street"],
            "internal_only_fields": ["/who"],
            "mutation_policy": { "hook": true },
        },
        "output_contract": {
            "structured_schema": { "type": "object", "properties": { "sky": {} } },
            "max_inline_chars": 900,
        },
        "external_mappings": [{ "source": "openapi", "operation_id": "getForecast" }],
        "annotations": { "readOnlyHint": true, "destructiveHint": true, "openWorldHint": false },
        "imported": { "from": "openapi", "source": "weather.json" },
        "x-owner": { "team": null, "since": 1.5 },
    })
}

#[test]
fn a_declaration_makes_a_whole_contract() {
    let record = whole_record();
    let example = |name: &str, place: &str| Example {
        name: name.into(),
        input: json!({ "place": place }),
        output: None,
    };
    let expected = ToolManifest {
        inputs: record["input_contract"]["model_input_schema"].clone(),
        outputs: record["output_contract"]["structured_schema"].clone(),
        examples: vec![example("example 1", "Graz"), example("wrapped", "Linz")],
        extras: Extras {
            title: Some("Forecast".into()),
            aliases: vec!["old-forecast".into()],
            search_hint: Some("weather for a place".into()),
            kind: Some("openapi_operation".into()),
            sensitive: vec!["/who/email".into(), "/stops".into()],
            internal: vec!["/who".into()],
            max_inline_chars: Some(900),
            lifecycle: LifecycleDates { state: Lifecycle::Deferred, ..Default::default() },
            facts: StatedFacts { destructive: FactRule::Stated(true), ..Default::default() },
            imported: Some(ImportSource {
                from: "openapi".into(),
                source: "weather.json".into(),
                name: None,
                operation: None,
                vouched: false,
            }),
            ..Extras::default()
        },
        metadata: json!({ "agent-tool": record }),
        ..bare(ToolKey::new("weather.forecast", 2), "2.0.0")
    };
    assert_eq!(said(&record.to_string()), [""; 0]);
    same(&tool(&record), &expected);
}

#[test]
fn a_record_of_the_first_version_is_read() {
    let record = json!({
        "tool_id": "forecast",
        "name": "forecast",
        "description": "Tells the weather.",
        "input_contract": { "schema": { "type": "object", "required": ["place"] } },
    });
    let expected = ToolManifest {
        inputs: json!({ "type": "object", "required": ["place"] }),
        metadata: json!({ "agent-tool": record }),
        ..bare(ToolKey::new("forecast", 1), "1.0.0")
    };
    same(&tool(&record), &expected);
    assert_eq!(
        said(&record.to_string()),
        [
            "J040 1:1 the record does not say `schema_version`, `namespace`, `lifecycle`, \
             `tool_kind`; Haft reads it all the same; other readers may refuse it",
            "J041 1:12 `forecast` names no major version, so 1.0.0 is assumed; write `forecast@1`",
        ]
    );
    assert_eq!(to_declaration(&tool(&record)), Some(record));
}

#[test]
fn what_is_read_is_kept_as_it_was_written() {
    let text = r##"{
	"tool_id":"weather.forecast@2", "name" : "forecast", "description": "Rain \ud83c\udf27 \/ \"sun\"\u0021",
	"x": [null, true, -0.5, 1e3, 18446744073709551615, "NO", "1", "", "~", "2026-01-01", {"": {}, "a b": []}],
	"annotations": null, "lifecycle": "available", "namespace": "", "tool_kind": "custom",
	"schema_version": "0.2.0", "y": "line\nbreak\ttab", "z": "# not a comment: &a *b !c %d @e"
}"##;
    let reading = read(text);
    let Some(ParsedManifest::Tool(tool)) = &reading.manifest else { panic!("{reading:?}") };
    assert_eq!(to_declaration(tool), serde_json::from_str(text).ok());
    assert_eq!(to_declaration(&bare(ToolKey::new("a.b", 1), "1.0.0")), None);
}

#[test]
fn ids_that_are_not_ours_are_folded() {
    for (tool_id, namespace, name, key) in [
        ("read_file@3", "local.fs", "read_file", "local.fs.read-file@3"),
        ("search@1", "acme.web", "search", "acme.web.search@1"),
        ("acme.web.search@1", "acme.web", "search", "acme.web.search@1"),
        ("urn:acme:1@1", "acme", "acme.search", "acme.search@1"),
        ("tool:FileRead@1.4.0", "", "read", "tool.file-read@1"),
    ] {
        let record = json!({
            "tool_id": tool_id, "namespace": namespace, "name": name, "description": "d",
        });
        assert_eq!(tool(&record).key.to_string(), key, "{tool_id}");
    }
}

#[test]
fn unreadable_agent_tool_record_is_diagnosed_at_its_location() {
    let complete = r#""schema_version": "0.2.0", "namespace": "n", "lifecycle": "draft", "tool_kind": "custom""#;
    for (record, expected) in [
        (
            r#"{ "tool_id": "n.a@1", COMPLETE }"#,
            &[
                "J002 1:1 `name` is missing from an Agent Tool declaration; \
                 add `name`: what the tool is called inside its namespace",
                "J003 1:1 `description` is missing from an Agent Tool declaration; add \
                 `description`: what the tool does and when to use it, written for a model",
            ][..],
        ),
        (
            r#"{ "tool_id": "検@1", "name": "検", "description": "d", COMPLETE }"#,
            &[
                "J042 1:14 no id can be made of `検@1`; use 2 to 80 lowercase letters, digits, dots \
               and dashes, beginning and ending with a letter or digit",
            ],
        ),
        (
            r#"{ "tool_id": "n.a@1", "name": "a", "description": "d", "schema_version": "3.0", "namespace": "n", "lifecycle": "avaliable", "tool_kind": 7 }"#,
            &[
                "J045 1:74 `3.0` is a version of the standard that Haft does not know; \
                 Haft knows 0.1 and 0.2, and reads this record as 0.2",
                "J006 1:112 `lifecycle` cannot be `avaliable`; did you mean `available`?",
                "J007 1:138 `tool_kind` must be text, not a whole number",
            ],
        ),
        (
            r#"{ "tool_id": "n.a@1", "name": "a", "description": "d", COMPLETE,
  "input_contract": { "schema": { "type": 3 }, "sensitive_fields": "card" } }"#,
            &[
                "J011 2:43 `schema` at `/type`: this is not a JSON Schema: 3 is not valid under \
                 any of the schemas listed in the 'anyOf' keyword",
                "J011 2:68 `sensitive_fields` must be a list, not text",
            ],
        ),
        (
            r#"{ "tool_id": "n.a@1", "name": "a", "description": "d", COMPLETE,
  "input_contract": { "schema": { "required": ["x"] }, "examples": [{ "x": 1 }, {}] } }"#,
            &["J043 2:81 `examples[1]`: \"x\" is a required property"],
        ),
        (
            r#"{ "name": "a" }"#,
            &["Y012 1:1 nothing says whose format this is; write `tool_id` (Agent Tool), \
               `interface_id` (its interface) or `toolId` (ARuntime)"],
        ),
    ] {
        assert_eq!(said(&record.replace("COMPLETE", complete)), expected, "{record}");
    }
}

#[test]
fn a_broken_record_still_says_whose_it_is() {
    for (record, id) in [
        (r#"{ "tool_id": "n.a@1" }"#, Some("n.a")),
        (r#"{ "tool_id": "検@1" }"#, Some("検@1")),
        (r#"{ "toolId": "CRM_Find" }"#, Some("crm-find")),
        (r#"{ "tool_id": "n.a@1", "interface_id": 3 }"#, Some("n.a")),
        ("[]", None),
    ] {
        let reading = read(record);
        assert_eq!((reading.id.as_deref(), reading.manifest.is_none()), (id, true), "{record}");
    }
}

#[test]
fn an_interface_states_the_facts_of_its_tool() {
    let record = whole_record();
    let described = json!({
        "schema_version": "0.2.0", "interface_id": "if-1", "tool_id": "weather.forecast@2",
        "aliases": ["old-forecast", "fc"], "search_hint": "ignored",
        "model_input_schema": { "properties": { "place": { "maxLength": 9 } } },
        "output_schema": { "type": "object", "properties": { "sky": {} } },
        "is_enabled": true, "is_read_only": true, "is_destructive": false,
        "is_open_world": "input.place != 'x'", "is_concurrency_safe": "same_as:is_read_only",
        "requires_user_interaction": true, "required_credentials": ["weather/key"],
        "timeout_ms": 60000, "interrupt_behavior": "cancel", "max_inline_chars": 2000,
        "rendering": { "ui_summary": "sky" }, "x-more": [1],
    });
    let interface = interface(&described);
    let before = tool(&record);
    let mut expected = before.clone();
    expected.inputs["allOf"] = json!([described["model_input_schema"]]);
    expected.approval = Approval::parse("always");
    expected.requires = Some(Requires {
        network: ["*".to_owned()].into(),
        secrets: ["weather/key".to_owned()].into(),
        tools: [].into(),
    });
    expected.timeout_ms = 60_000;
    expected.metadata =
        json!({ "agent-tool": record.clone(), "agent-tool-interface": described.clone() });
    expected.extras = Extras {
        aliases: vec!["old-forecast".into(), "fc".into()],
        facts: StatedFacts {
            read_only: FactRule::Stated(true),
            destructive: FactRule::Stated(true),
            open_world: FactRule::Expression("input.place != 'x'".into()),
        },
        concurrency: Concurrency {
            safe: FactRule::SameAs("is_read_only".into()),
            ..Concurrency::default()
        },
        interrupt: Some(InterruptBehavior::Cancel),
        ..expected.extras
    };
    assert_eq!(said(&described.to_string()), [""; 0]);
    assert!(interface.describes(&before));
    same(&apply(&interface, &before), &expected);
}

#[test]
fn an_interface_never_loosens_what_the_tool_says() {
    let mut strict = bare(ToolKey::new("weather.forecast", 1), "1.0.0");
    strict.inputs = json!({ "type": "object", "additionalProperties": false });
    strict.approval = Approval::parse("policy:four-eyes");
    strict.requires = Some(Requires::default());
    strict.extras = Extras {
        facts: StatedFacts {
            read_only: FactRule::Stated(false),
            destructive: FactRule::Stated(true),
            open_world: FactRule::Stated(true),
        },
        interrupt: Some(InterruptBehavior::Block),
        max_inline_chars: Some(10),
        lifecycle: LifecycleDates { state: Lifecycle::Retired, ..Default::default() },
        ..Extras::default()
    };
    let loose = json!({
        "schema_version": "0.2.0", "interface_id": "if-1", "tool_id": "weather.forecast",
        "model_input_schema": { "type": "object", "properties": { "next": { "$ref": "#" } } }, "is_enabled": true,
        "is_read_only": true, "is_destructive": false, "is_open_world": false,
        "timeout_ms": 90000, "interrupt_behavior": "cancel", "max_inline_chars": 99,
        "requires_user_interaction": false,
    });
    let interface = interface(&loose);
    let expected = ToolManifest {
        inputs: json!({
            "type": "object", "additionalProperties": false,
            "allOf": [{ "type": "object", "properties": { "next": { "$ref": "#" } } }],
        }),
        metadata: json!({ "agent-tool-interface": loose.clone() }),
        ..strict.clone()
    };
    assert!(interface.describes(&strict));
    same(&apply(&interface, &strict), &expected);
}

#[test]
fn an_interface_can_switch_its_tool_off() {
    let plain = bare(ToolKey::new("a.b", 1), "1.0.0");
    for (field, value, state) in [
        ("is_enabled", json!(false), Lifecycle::Disabled),
        ("is_enabled", json!("classifier:rollout"), Lifecycle::Disabled),
        ("requires_setup", json!(true), Lifecycle::RequiresSetup),
        ("schema_visibility", json!("deferred"), Lifecycle::Deferred),
        ("schema_visibility", json!("loaded"), Lifecycle::Available),
    ] {
        let mut record = json!({ "interface_id": "i", "tool_id": "a.b@1" });
        record[field] = value;
        let applied = apply(&interface(&record), &plain);
        assert_eq!(applied.extras.lifecycle.state, state, "{record}");
    }
}

#[test]
fn an_interface_whose_facts_cannot_be_settled_says_so() {
    for (fields, expected) in [
        (
            r#""is_read_only": "classifier:shell", "classifier_input": """#,
            &[
                "E057 1:90 `is_read_only` is left to a classifier, and `classifier_input` is empty; \
               say in `classifier_input` what the classifier looks at",
            ][..],
        ),
        (r#""is_read_only": "classifier:shell", "classifier_input": "command""#, &[]),
        (
            r#""is_destructive": "perhaps", "is_open_world": "same_as:is_enabled""#,
            &[
                "J044 1:92 nothing can settle `is_destructive` by `perhaps`, so it counts as true; \
                 write true, false or an expression over `input`",
                "J044 1:120 nothing can settle `is_open_world` by `same_as:is_enabled`, so it \
                 counts as true; write true, false or an expression over `input`",
            ],
        ),
        (
            r#""is_read_only": 1, "schema_visibility": "hidden""#,
            &[
                "J026 1:90 `is_read_only` must be true or false or text, not a whole number",
                "J034 1:114 `schema_visibility` cannot be `hidden`; \
                 use one of loaded, deferred, internal, native_ref",
            ],
        ),
    ] {
        let record = format!(
            r#"{{ "schema_version": "0.2.0", "interface_id": "if-1", "tool_id": "a.b@1", {fields} }}"#
        );
        assert_eq!(said(&record), expected, "{record}");
    }
}
