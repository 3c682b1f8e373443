//! Agent Tool export tests: records satisfy the published schemas and state the contract's facts.

use std::path::Path;

use haft_catalog::WireNames;
use haft_catalog::export::{Format, Offer, export};
use haft_contract::{Contract, Driver};
use haft_model::Lifecycle;
use haft_notation::Schema;
use serde_json::{Value, json};

use crate::export::contracts::{contract, driver, exported, nasty};

const KINDS: [(&str, &str); 4] = [
    ("declarations", "agenttool-tool-declaration"),
    ("interfaces", "agenttool-tool-interface"),
    ("permission_profiles", "agenttool-permission-profile"),
    ("execution_profiles", "agenttool-execution-profile"),
];

fn records(contract: &Contract, driver: &Driver) -> Value {
    let offer = Offer { contract, driver: Some(driver), lifecycle: Lifecycle::Available };
    export(Format::AgentTool, &[offer], &WireNames::of([contract])).document
}

fn payment() -> Contract {
    let inputs = json!({"type": "object", "properties": {
        "amount": {"type": "integer"}, "tenant": {"type": "string", "visibility": "internal"},
    }, "required": ["amount"]});
    contract(
        "shop.payment.charge",
        "2.1.0",
        &inputs,
        "mutates: [\"external:payments\"]\nrisk_level: 2\nrequires: {network: [pay.example], secrets: [pay-key]}\n\
         approval: always\ntimeout_ms: 9000\nretry: {max_attempts: 3, backoff: fixed}\n\
         examples: [{name: one, input: {amount: 1, tenant: t}}]\n\
         metadata: {haft: {aliases: [charge], search_hint: take money, data: {classification: pii, \
         sensitive: [/amount]}, result: {max_inline_chars: 500}}, agent-tool: {vendor_field: kept, \
         interface: {runtime_input_schema: {properties: {tenant: {}}}, note: n}, name: not-ours, annotations: {rating: 5, version: old}, \
         input_contract: {schema: {type: object}, mutation_policy: none}, \
         external_mappings: [{source: a2a, agent_skill_id: s}]}}",
    )
}

fn http() -> std::sync::Arc<Driver> {
    driver(
        "pay-http",
        "http",
        "base_url: https://pay.example/v1\nnetwork: {egress: [pay.example]}\ntimeout_override_ms: 5000\n\
         implements: [{tool: shop.payment.charge, version: ^2, metadata: {http: {endpoint: /charges, method: PUT}}}]",
    )
}

#[test]
fn every_record_fits_its_published_schema() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/agent-tool");
    if !folder.exists() {
        println!("skipped: the published schemas are not beside the repository");
        return;
    }
    let documents = [exported(Format::AgentTool, &nasty()).document, records(&payment(), &http())];
    for (kind, file) in KINDS {
        let text = std::fs::read_to_string(folder.join(format!("{file}.schema.json"))).unwrap();
        let schema = Schema::compile(&serde_json::from_str(&text).unwrap()).unwrap();
        for record in documents.iter().flat_map(|all| all[kind].as_array().unwrap()) {
            assert_eq!(schema.violations(record), [], "{kind}: {record}");
        }
    }
}

#[test]
fn a_declaration_says_who_what_and_where() {
    let declaration = &records(&payment(), &http())["declarations"][0];
    for (field, value) in [
        ("schema_version", json!("0.2.0")),
        ("tool_id", json!("shop.payment.charge@2")),
        ("namespace", json!("shop.payment")),
        ("name", json!("charge")),
        ("lifecycle", json!("available")),
        ("tool_kind", json!("openapi_operation")),
        ("aliases", json!(["charge"])),
        ("interface_ref", json!("interface:shop.payment.charge@2")),
        (
            "external_mappings",
            json!([
                {"source": "http", "method": "PUT", "path": "/charges", "server_url": "https://pay.example/v1"},
                {"source": "a2a", "agent_skill_id": "s"},
            ]),
        ),
    ] {
        assert_eq!(declaration[field], value, "{field}");
    }
    assert_eq!(
        declaration["input_contract"],
        json!({
            "examples": [{"name": "one", "input": {"amount": 1}}],
            "sensitive_fields": ["/amount"],
            "model_input_schema":
                {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]},
            "strict": true, "argument_mode": "json", "mutation_policy": "none",
        })
    );
}

#[test]
fn export_keeps_extra_imported_fields_and_ours_win() {
    let declaration = &records(&payment(), &http())["declarations"][0];
    assert_eq!(declaration["vendor_field"], "kept");
    assert_eq!(declaration["name"], "charge");
    assert_eq!(declaration["interface"], json!({"note": "n"}), "schemas are ours to state");
    assert_eq!(declaration["annotations"]["rating"], 5);
    assert_eq!(declaration["annotations"]["version"], "2.1.0");
}

#[test]
fn profiles_state_the_facts_of_contract_and_driver() {
    let all = records(&payment(), &http());
    assert_eq!(
        all["permission_profiles"][0],
        json!({
            "schema_version": "0.2.0",
            "permission_profile_id": "permission:shop.payment.charge@2",
            "risk_level": "high",
            "access_kinds": ["credential", "external_send", "network"],
            "credential_refs": ["pay-key"],
            "data_sensitivity": "pii",
            "write_effects": ["remote_mutation"],
            "network_scope": "pay.example",
            "approval_required": true,
            "approval_reason": "approval: always",
            "redaction_required": true,
        })
    );
    let profile = &all["execution_profiles"][0];
    assert_eq!(profile["execution_kind"], "http_api");
    assert_eq!(profile["timeout_ms"], 5000);
    assert_eq!(profile["supports_retries"], true);
    for field in [
        "progress",
        "cancel",
        "resume",
        "partial_results",
        "background",
        "artifacts",
        "context_modifiers",
    ] {
        assert_eq!(profile[format!("supports_{field}")], false, "{field}");
    }
    assert_eq!(profile["sandboxed"], false);
}

#[test]
fn unstated_facts_export_standard_defaults_and_are_marked_inferred() {
    let silent = contract("silent", "1.0.0", &json!({"type": "object"}), "");
    let all = exported(Format::AgentTool, &[silent]).document;
    let interface = &all["interfaces"][0];
    for (fact, value) in [
        ("is_read_only", false),
        ("is_destructive", false),
        ("is_open_world", true),
        ("is_concurrency_safe", false),
        ("is_enabled", true),
        ("strict", true),
    ] {
        assert_eq!(interface[fact], value, "{fact}");
    }
    let inferred = interface["inferred_facts"].as_array().unwrap();
    let fields: Vec<_> = inferred.iter().map(|fact| fact["field"].as_str().unwrap()).collect();
    assert_eq!(
        fields,
        [
            "risk_level",
            "is_read_only",
            "is_destructive",
            "is_open_world",
            "class",
            "is_concurrency_safe"
        ]
    );
    assert_eq!(inferred[2]["value"], "unknown");
    assert_eq!(all["declarations"][0]["namespace"], "default");
    assert_eq!(all["declarations"][0]["tool_kind"], "custom");
    assert_eq!(all["permission_profiles"][0]["network_scope"], "*");
    assert_eq!(
        all["permission_profiles"][0]["write_effects"],
        json!(["irreversible", "remote_mutation"])
    );
}

#[test]
fn the_ten_partitions_can_be_read_apart() {
    let interface = &records(&payment(), &http())["interfaces"][0];
    let partitions = interface["partitions"].as_object().unwrap();
    assert_eq!(
        partitions.keys().collect::<Vec<_>>(),
        [
            "identity",
            "discovery",
            "schemas",
            "availability",
            "validation",
            "safety",
            "permission",
            "execution",
            "result",
            "rendering",
        ]
    );
    assert_eq!(interface["max_inline_chars"], 500);
    assert_eq!(partitions["result"]["max_inline_chars"], 500);
    assert_eq!(partitions["availability"]["required_credentials"], json!(["pay-key"]));
    assert_eq!(interface["permission_matcher"], "tool:shop.payment.charge");
}

#[test]
fn native_ids_are_those_of_the_backend() {
    let plain = contract("x.y", "1.0.0", &json!({"type": "object"}), "");
    let serves = |metadata: &str| {
        format!("implements: [{{tool: x.y, version: ^1, metadata: {{{metadata}}}}}]")
    };
    for (driver, kind, execution, mapping) in [
        (
            driver(
                "mm",
                "mcp",
                &format!(
                    "server: {{kind: npm, package: \"@a/server\"}}\ntransport: stdio\n{}",
                    serves("mcp: {tool_name: do_it}")
                ),
            ),
            "mcp_tool",
            "mcp_server",
            json!({"source": "mcp", "server_id": "mm", "server": "@a/server", "transport": "stdio",
                   "method": "tools/call", "tool_name": "do_it"}),
        ),
        (
            driver(
                "ss",
                "sdk",
                &format!(
                    "package: acme\npackage_manager: npm\n{}",
                    serves("sdk: {function_ref: a.b}")
                ),
            ),
            "function",
            "embedded_runtime",
            json!({"source": "sdk", "package": "acme", "package_manager": "npm", "function_ref": "a.b"}),
        ),
        (
            driver(
                "cc",
                "cli",
                &format!("bin: git\nbin_args: [-q]\n{}", serves("cli: {argv: [log, \"{{n}}\"]}")),
            ),
            "shell_command",
            "local_process",
            json!({"source": "cli", "command_id": "cc", "argv": ["git", "-q", "log", "{{n}}"]}),
        ),
    ] {
        let all = records(&plain, &driver);
        assert_eq!(all["declarations"][0]["tool_kind"], kind);
        assert_eq!(all["execution_profiles"][0]["execution_kind"], execution);
        assert_eq!(all["declarations"][0]["external_mappings"], json!([mapping]));
    }
}
