//! ARuntime reader tests: ARuntime contracts in, contracts and diagnostics out.

use std::collections::BTreeSet;

use haft_model::{
    Approval, Backoff, CallRate, EffectClass, FactRule, IdempotencyMode, LifecycleDates, Period,
    RateScope, Requires, RetryPolicy, Risk, ToolKey, parse_date, parse_duration,
};
use serde_json::{Value as Json, json};

use super::to_contract;
use crate::ToolManifest;
use crate::extras::{Compensation, Concurrency, DeclaredError, Extras, Idempotency};
use crate::foreign::probe::{FILE, said, tool};

fn bare(id: &str, name: &str, version: &str) -> ToolManifest {
    ToolManifest::bare(&FILE.into(), name, ToolKey::new(id, 2), version, "Sends an offer.")
}

/// A record with what every one needs, and more.
fn record(more: &Json) -> Json {
    let mut record = json!({
        "toolId": "crm.offer", "version": "2.1.0", "description": "Sends an offer.",
        "inputSchema": { "type": "object", "properties": { "sum": { "type": "integer" } } },
        "outputSchema": { "type": "object" },
    });
    if let (Some(record), Some(more)) = (record.as_object_mut(), more.as_object()) {
        record.extend(more.clone());
    }
    record
}

#[test]
fn a_contract_says_everything_it_says() {
    let record = record(&json!({
        "toolId": "CRM_Offer",
        "dataClassification": "confidential",
        "egressPolicy": { "allow": ["crm.example"], "note": "kept" },
        "authenticationRef": "crm/token",
        "permissionClass": "sales.write",
        "approvalTriggers": ["policy:offers", "sum-over-limit"],
        "sideEffectClass": ["reversibleWrite", "external_communication"],
        "idempotency": { "mode": "keyRequired", "key": "${input.sum}", "ttl": "P7D" },
        "compensation": { "toolId": "CRM_Withdraw@2", "input": { "id": "${output.id}" },
                          "approval": "onMutate", "window": "PT1H" },
        "timeoutSeconds": 2.5,
        "retryPolicy": { "maxAttempts": 50, "backoff": "exponential", "initialMs": 100 },
        "concurrency": { "maxParallel": 4, "safe": false },
        "rateLimits": [{ "per": "minute", "value": 3 }],
        "errors": ["conflict", { "code": "crm.closed", "retryable": true, "description": "later" }],
        "observability": { "spans": true },
        "auditFields": ["sum", "lines[].price"],
        "deprecation": { "introduced": "2026-01-01", "deprecated": null,
                         "removal": "2027-01-01T00:00:00Z", "replacement": "crm.offer@3" },
        "owner": null,
    }));
    let expected = ToolManifest {
        inputs: record["inputSchema"].clone(),
        outputs: record["outputSchema"].clone(),
        requires: Some(Requires {
            network: ["crm.example".to_owned()].into(),
            secrets: ["crm/token".to_owned()].into(),
            tools: BTreeSet::new(),
        }),
        approval: Approval::parse("always")
            .zip(Approval::parse("policy:offers"))
            .map(|(always, policy)| always.and(&policy)),
        risk: Some(Risk::EXTERNAL),
        timeout_ms: 2500,
        retry: Some(RetryPolicy {
            max_attempts: 20,
            backoff: Backoff::Exponential,
            initial_ms: 100,
        }),
        extras: Extras {
            classes: [EffectClass::ReversibleWrite, EffectClass::ExternalCommunication].into(),
            idempotency: Some(Idempotency {
                mode: Some(IdempotencyMode::Required),
                key: Some("${input.sum}".into()),
                ttl: parse_duration("P7D"),
                window: None,
            }),
            compensation: Some(Compensation {
                tool: "crm-withdraw@2".into(),
                input: json!({ "id": "${output.id}" }),
                approval: Approval::parse("on-mutate"),
                window: parse_duration("PT1H"),
            }),
            concurrency: Concurrency {
                safe: FactRule::Stated(false),
                locks: Vec::new(),
                max_parallel: Some(4),
            },
            limits: vec![CallRate { per: Period::Minute, value: 3, scope: RateScope::Tool }],
            classification: Some("confidential".into()),
            audit: vec!["/sum".into()],
            errors: vec![
                DeclaredError { code: "conflict".into(), retryable: false, meaning: None },
                DeclaredError {
                    code: "crm.closed".into(),
                    retryable: true,
                    meaning: Some("later".into()),
                },
            ],
            lifecycle: LifecycleDates {
                introduced: parse_date("2026-01-01"),
                removal: parse_date("2027-01-01"),
                replacement: Some("crm.offer@3".into()),
                ..LifecycleDates::default()
            },
            ..Extras::default()
        },
        metadata: json!({ "aruntime": record }),
        ..bare("crm-offer", "CRM_Offer", "2.1.0")
    };
    assert_eq!(said(&record.to_string()), [""; 0]);
    assert_eq!(format!("{:#?}", tool(&record)), format!("{expected:#?}"));
    assert_eq!(to_contract(&tool(&record)), Some(record));
}

#[test]
fn only_read_only_side_effect_class_proves_no_mutation() {
    for (class, mutates, risk) in [
        (json!("read-only"), Some(BTreeSet::new()), Some(Risk::READ)),
        (json!("readOnly"), Some(BTreeSet::new()), Some(Risk::READ)),
        (json!(["read_only", "irreversible"]), None, Some(Risk::IRREVERSIBLE)),
        (json!("codeExecution"), None, Some(Risk::EXTERNAL)),
        (json!(null), None, None),
    ] {
        let tool = tool(&record(&json!({ "sideEffectClass": class })));
        assert_eq!((tool.mutates, tool.risk), (mutates, risk), "{class}");
    }
}

#[test]
fn triggers_decide_who_is_asked() {
    for (triggers, approval) in [
        (json!([]), "auto"),
        (json!(["amount"]), "always"),
        (json!([{ "when": "amount > 5" }]), "always"),
        (json!("policy:offers"), "policy:offers"),
        (json!(["policy:"]), "always"),
        (json!(["policy:a", "policy:b"]), "policy:a and policy:b"),
    ] {
        let tool = tool(&record(&json!({ "approvalTriggers": triggers })));
        assert_eq!(tool.approval.map(|own| own.to_string()).as_deref(), Some(approval));
    }
    assert_eq!(tool(&record(&json!({}))).approval, None);
}

#[test]
fn unlisted_egress_hosts_mean_any_host() {
    let hosts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    for (egress, secret, network) in [
        (json!(["a.example"]), json!(null), Some(hosts(&["a.example"]))),
        (json!([]), json!("key"), Some(BTreeSet::new())),
        (json!({ "deny": ["*"] }), json!(["key"]), Some(hosts(&["*"]))),
        (json!("internal-only"), json!(null), None),
    ] {
        let fields = json!({ "egressPolicy": egress, "authenticationRef": secret });
        let needs = tool(&record(&fields)).requires;
        assert_eq!(needs.map(|needs| needs.network), network, "{fields}");
    }
}

#[test]
fn invalid_aruntime_contract_is_diagnosed_at_its_location() {
    let complete = r#""toolId": "crm.offer", "version": "2.1.0", "description": "d", "inputSchema": {}, "outputSchema": {}"#;
    for (fields, expected) in [
        (
            "",
            &["V041 2:11 `sideEffectClass` is not stated, so the tool counts as one that may \
               write; a tool that only reads says `\"sideEffectClass\": \"read-only\"`"][..],
        ),
        (
            r#""sideEffectClass": "reversible-write", "idempotency": "natural""#,
            &["E052 1:22 `reversible-write` is claimed without a `compensation`; name the tool \
               that undoes a call in `compensation.toolId`, or call the class `irreversible`"],
        ),
        (
            r#""sideEffectClass": "irreversible""#,
            &["V040 1:22 the tool writes, and nothing says how a repeated call is recognised; \
               say `\"idempotency\": \"required\"`, or `natural` where repeating does no harm"],
        ),
        (
            r#""sideEffectClass": "harmless", "idempotency": "sometimes", "timeoutSeconds": 0"#,
            &[
                "V011 1:22 `sideEffectClass`: `harmless` is not a class of effect; use one of \
                 read-only, reversible-write, irreversible, financial-high-impact, \
                 external-communication, code-execution, administrative",
                "V012 1:49 `idempotency`: `sometimes` is not a mode; \
                 use none, natural, optional or required",
                "V014 1:80 `timeoutSeconds` is 0; it must be at least 0.001",
            ],
        ),
        (
            r#""sideEffectClass": "read-only", "deprecation": { "deprecated": "2026-05-01", "removal": "2026-04-01" }"#,
            &["E051 1:91 `removal` is 2026-04-01, before 2026-05-01"],
        ),
        (
            r#""sideEffectClass": "read-only", "authenticationRef": { "token": "t" }, "auditFields": "sum""#,
            &[
                "V008 1:56 `authenticationRef` must be text or a list, not a map",
                "V020 1:89 `auditFields` must be a list, not text",
            ],
        ),
    ] {
        let comma = if fields.is_empty() { "" } else { "," };
        let record = format!("{{ {fields}{comma}\n{complete} }}");
        assert_eq!(said(&record), expected, "{record}");
    }
    assert_eq!(
        said(
            &record(&json!({ "sideEffectClass": "readOnly", "outputSchema": { "type": "array" } }))
                .to_string()
        ),
        ["T055 1:168 `outputSchema` describes a value of type `array`; \
          wrap it in an object with one property"]
    );
    assert_eq!(
        said(r#"{ "toolId": "?", "version": "2" , "sideEffectClass": "read-only" }"#),
        [
            "V003 1:1 `description` is missing from an ARuntime contract; \
             add `description`: what the tool does",
            "V004 1:1 `inputSchema` is missing from an ARuntime contract; \
             add `inputSchema`: a JSON Schema for what goes in",
            "V005 1:1 `outputSchema` is missing from an ARuntime contract; \
             add `outputSchema`: a JSON Schema for what comes out",
            "V001 1:13 `toolId`: `?` is not a tool id; \
             use 2 to 80 letters, digits, dots and dashes",
            "V002 1:29 `version`: `2` is not a version; write three numbers, as in `1.0.0`",
        ]
    );
}
