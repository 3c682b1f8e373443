//! SARIF 2.1.0 output: diagnostics for code review.

use std::collections::BTreeSet;

use haft_contract::{Diagnostic, Severity, all_rules};
use serde_json::{Value, json};

/// One SARIF log of one run.
pub(crate) fn sarif(diagnostics: &[Diagnostic]) -> Value {
    let used: BTreeSet<&str> = diagnostics.iter().map(|found| found.code).collect();
    let rules: Vec<Value> = all_rules()
        .into_iter()
        .filter(|rule| used.contains(rule.code))
        .map(|rule| json!({ "id": rule.code, "shortDescription": { "text": rule.about } }))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "haft", "version": env!("CARGO_PKG_VERSION"), "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": diagnostics.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn result(found: &Diagnostic) -> Value {
    let level = match found.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let text = match &found.help {
        Some(help) => format!("{}\n{help}", found.message),
        None => found.message.clone(),
    };
    json!({
        "ruleId": found.code,
        "level": level,
        "message": { "text": text },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": &*found.file, "uriBaseId": "%SRCROOT%" },
            "region": { "startLine": found.line.max(1), "startColumn": found.column.max(1) },
        } }],
    })
}
