//! Planning tests: what a plan holds, and what its digest is bound to.

use std::sync::Arc;

use haft_catalog::{Parts, Snapshot};
use haft_contract::{ParsedManifest, Report, Source, read};
use haft_model::{Call, Code, Plan, Stop, parse_date};
use serde_json::{Value, json};

use crate::accepted;

const TOOL: &str = "---
name: Post
id: mail.post
description: Posts a letter.
version: 1.2.0
mutates: [\"external:mail\"]
risk_level: 2
approval: always
requires: { network: [mail.example] }
inputs:
  type: object
  properties:
    to: { type: string }
    text: { type: string }
    colour: { type: string, default: blue }
    stamp: { type: object, properties: { serial: { type: string, visibility: internal } } }
  required: [to, text]
outputs: { type: object }
metadata: { haft: { context_schema: { type: object, required: [tenant] } } }
---
";

const DRIVER: &str = "---
name: Mail
id: mail-http
description: The post office.
version: 2.0.0
kind: http
base_url: https://mail.example
network: { egress: [mail.example] }
implements:
  - tool: mail.post
    version: ^1
    mapping: { to: recipient, body: { from: text } }
    timeout_override_ms: 5000
    metadata: { http: { endpoint: /letters } }
---
";

fn snapshot(tool: &str, driver: &str) -> Snapshot {
    let read = |file: &str, text: &str| {
        let source = Source::new(file, text);
        let reading = read(&source, Report::new(&source));
        reading.manifest.unwrap_or_else(|| panic!("{:?}", reading.diagnostics))
    };
    let ParsedManifest::Tool(tool) = read(".tools/mail.post/TOOL.md", tool) else { panic!() };
    let ParsedManifest::Driver(driver) = read(".drivers/mail-http/DRIVER.md", driver) else {
        panic!()
    };
    let parts = Parts { tools: vec![tool], drivers: vec![driver], ..Parts::default() };
    accepted::accepted(parts)
}

fn plan_with(snapshot: &Snapshot, input: Value, context: Value) -> Result<Plan, Stop> {
    let mut call = Call::new(haft_model::ActorId::from("agent:coder"), "mail.post", input);
    call.context = context;
    snapshot.plan(call, parse_date("2026-01-01").unwrap())
}

fn plan(input: Value) -> Result<Plan, Stop> {
    plan_with(&snapshot(TOOL, DRIVER), input, json!({"tenant": "shop"}))
}

#[test]
fn plan_holds_input_with_defaults_and_backend_names() {
    let plan = plan(json!({"to": "ana", "text": "hello"})).unwrap();
    assert_eq!(plan.input, json!({"to": "ana", "text": "hello", "colour": "blue"}));
    assert_eq!(*plan.mapped(), json!({"recipient": "ana", "body": "hello", "colour": "blue"}));
    assert_eq!((plan.tool.to_string(), &*plan.version), ("mail.post@1".into(), "1.2.0"));
    assert_eq!(plan.limits.timeout_ms, 5000);
}

#[test]
fn whatever_decides_what_runs_changes_the_digest() {
    let input = json!({"to": "ana", "text": "hello"});
    let tenant = json!({"tenant": "shop"});
    let base = snapshot(TOOL, DRIVER);
    let of = |snapshot: &Snapshot, input: &Value, context: &Value| {
        plan_with(snapshot, input.clone(), context.clone()).unwrap().digest
    };
    let judged = of(&base, &input, &tenant);
    assert_eq!(judged, of(&snapshot(TOOL, DRIVER), &input, &tenant), "the same again");
    let others = [
        of(&base, &json!({"to": "ana", "text": "hellp"}), &tenant),
        of(&base, &input, &json!({"tenant": "shoq"})),
        of(&snapshot(TOOL, &DRIVER.replace("2.0.0", "2.0.1")), &input, &tenant),
        of(&snapshot(&TOOL.replace("1.2.0", "1.2.1"), DRIVER), &input, &tenant),
        of(&snapshot(&TOOL.replace("risk_level: 2", "risk_level: 3"), DRIVER), &input, &tenant),
    ];
    for (index, other) in others.iter().enumerate() {
        assert_ne!(*other, judged, "{index}");
    }
}

#[test]
fn schema_violation_names_pointer_rule_and_value() {
    let stop = plan(json!({"to": 7, "text": "hello"})).unwrap_err();
    assert_eq!((stop.code, stop.field.as_deref()), (Code::InputSchema, Some("/to")));
    assert_eq!(
        stop.cause,
        json!({"violations": [{
            "pointer": "/to", "rule": "type", "message": "7 is not of type \"string\"", "value": 7,
        }]})
    );
}

#[test]
fn null_of_optional_input_plans_the_same_call() {
    let absent = plan(json!({"to": "ana", "text": "hello"})).unwrap();
    let null = plan(json!({"to": "ana", "text": "hello", "colour": null, "stamp": null})).unwrap();
    assert_eq!(null.digest, absent.digest);
    let required = plan(json!({"to": null, "text": "hello"})).unwrap_err();
    assert_eq!((required.code, required.field.as_deref()), (Code::InputSchema, Some("/to")));
}

#[test]
fn an_internal_field_is_refused_at_any_depth() {
    let stop = plan(json!({"to": "a", "text": "b", "stamp": {"serial": "x"}})).unwrap_err();
    assert_eq!((stop.code, stop.field.as_deref()), (Code::InputSchema, Some("/stamp/serial")));
}

#[test]
fn invalid_context_is_reported_as_input_context_error() {
    let input = json!({"to": "ana", "text": "hello"});
    let stop = plan_with(&snapshot(TOOL, DRIVER), input, json!({})).unwrap_err();
    assert_eq!((stop.code, stop.field.as_deref()), (Code::InputContext, Some("context")));
}

#[test]
fn standard_action_resolves_under_each_of_its_names() {
    for name in [
        "storage:push",
        "storage-push",
        "@agentik/actions/standard/storage-push",
        "@agentik/actions-standard/storage-push",
    ] {
        let tool = TOOL
            .replace("mutates: [\"external:mail\"]\n", "")
            .replace("risk_level: 2\napproval: always\n", &format!("implements: \"{name}\"\n"));
        let snapshot = snapshot(&tool, DRIVER);
        let contract = Arc::clone(&snapshot.find("mail.post").unwrap().contract);
        let effects = &contract.effects;
        assert_eq!(contract.grant_key(), "storage:push", "{name}");
        assert_eq!(
            (effects.risk.level(), effects.approval.to_string()),
            (2, "on-mutate".to_owned()),
            "{name}"
        );
        let mutates: Vec<&str> = effects.mutates.iter().map(String::as_str).collect();
        assert_eq!(mutates, ["network:*", "storage:*"], "{name}");
    }
}
