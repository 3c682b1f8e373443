//! ARuntime reader: reads tool contracts in JSON into the same contract and keeps the record whole
//! in its metadata.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_model::{
    Approval, ApprovalClass, Backoff, EffectClass, FactRule, IdempotencyMode, LifecycleDates,
    RetryPolicy, Risk, ToolKey, parse_date,
};
use serde_json::{Value as Json, json};

use crate::extras::{
    Compensation, Concurrency, DeclaredError, Extras, Idempotency, ImportSource, fact,
    out_of_order, rates,
};
use crate::foreign::{fold, fold_reference, needs, object_schemas, shown, split_version};
use crate::read::{duration, flag, json as to_json, list, owned, set, text, whole};
use crate::shape::check;
use crate::shape::documents::aruntime::{APPROVALS, CONTRACT, MODES, word};
use crate::source::{Node, Value};
use crate::tool::DEFAULT_TIMEOUT_MS;
use crate::{Report, Source, ToolManifest, range, rules};

/// The metadata key under which a contract keeps its ARuntime record.
const KEPT: &str = "aruntime";

/// The upper bound of retry attempts that a contract can request.
const MOST_ATTEMPTS: u64 = 20;

/// The ARuntime contract that a contract was read from, as it was written.
pub fn to_contract(tool: &ToolManifest) -> Option<Json> {
    tool.metadata.get(KEPT).cloned()
}

/// Reads a contract.
pub(crate) fn read(source: &Source, node: &Node, report: &mut Report) -> Option<Arc<ToolManifest>> {
    check(node, &CONTRACT, "V001", report);
    object_schemas(node, &[&["inputSchema"], &["outputSchema"]], report);
    let tool = from_node(source.file(), node)?;
    lint(&tool, node, report);
    Some(Arc::new(tool))
}

fn from_node(file: &Arc<str>, node: &Node) -> Option<ToolManifest> {
    let (name, version) = (text(node, "toolId")?, text(node, "version")?);
    let key = ToolKey::new(&fold(split_version(name).0)?, range::major(version)?);
    let inputs = to_json(node, "inputSchema")?;
    let extras = extras(node, &inputs);
    let mode = extras.idempotency.as_ref().and_then(|idempotency| idempotency.mode);
    Some(ToolManifest {
        outputs: to_json(node, "outputSchema")?,
        idempotent: mode == Some(IdempotencyMode::Natural),
        mutates: only_reads(&extras.classes).then(BTreeSet::new),
        risk: extras.classes.iter().map(|class| class.risk()).max(),
        requires: needs(hosts(node), one_or_several(node, "authenticationRef").collect()),
        approval: node.get("approvalTriggers").map(approval),
        timeout_ms: node
            .get("timeoutSeconds")
            .and_then(Node::number)
            .map_or(DEFAULT_TIMEOUT_MS, |seconds| (seconds * 1000.0).round() as u64),
        retry: node.get("retryPolicy").and_then(retry),
        metadata: json!({ KEPT: node.to_json() }),
        inputs,
        extras,
        ..ToolManifest::bare(file, name, key, version, text(node, "description")?)
    })
}

fn extras(node: &Node, inputs: &Json) -> Extras {
    Extras {
        classes: one_or_several(node, "sideEffectClass")
            .filter_map(|name| EffectClass::parse(&name))
            .collect(),
        idempotency: node.get("idempotency").map(idempotency),
        compensation: node.get("compensation").and_then(compensation),
        concurrency: node.get("concurrency").map(concurrency).unwrap_or_default(),
        limits: node.get("rateLimits").map(rates).unwrap_or_default(),
        classification: owned(node, "dataClassification"),
        audit: shown(&list(node, "auditFields"), inputs),
        errors: node.get("errors").map(errors).unwrap_or_default(),
        lifecycle: node.get("deprecation").map(lifecycle).unwrap_or_default(),
        imported: node.get("imported").and_then(ImportSource::read),
        ..Extras::default()
    }
}

/// The texts of a field that holds one or a list.
fn one_or_several(node: &Node, key: &str) -> impl Iterator<Item = String> {
    owned(node, key).into_iter().chain(list(node, key))
}

fn only_reads(classes: &BTreeSet<EffectClass>) -> bool {
    *classes == BTreeSet::from([EffectClass::ReadOnly])
}

/// The hosts of a policy that lists them.
fn hosts(node: &Node) -> Option<BTreeSet<String>> {
    let policy = node.get("egressPolicy")?;
    match policy.value {
        Value::List(_) => Some(set(node, "egressPolicy")),
        _ => policy.get("allow").map(|_| set(policy, "allow")),
    }
}

/// Any trigger asks a person every time, since Haft cannot tell when it applies; one that names a
/// policy leaves it to that policy.
fn approval(triggers: &Node) -> Approval {
    let one = std::slice::from_ref(triggers);
    let all = if triggers.text().is_some() { one } else { triggers.items() };
    all.iter().fold(Approval::default(), |so_far, trigger| {
        let policy = trigger.text().and_then(|text| text.strip_prefix("policy:"));
        so_far.and(&match policy.filter(|name| !name.is_empty()) {
            Some(name) => {
                Approval { class: ApprovalClass::Auto, policies: BTreeSet::from([name.to_owned()]) }
            }
            None => Approval { class: ApprovalClass::Always, policies: BTreeSet::new() },
        })
    })
}

fn idempotency(node: &Node) -> Idempotency {
    let mode = |text: &str| word(MODES, text).and_then(IdempotencyMode::parse);
    match node.text() {
        Some(text) => Idempotency { mode: mode(text), ..Idempotency::default() },
        None => Idempotency {
            mode: text(node, "mode").and_then(mode),
            key: owned(node, "key"),
            ttl: duration(node, "ttl"),
            window: duration(node, "window"),
        },
    }
}

fn compensation(node: &Node) -> Option<Compensation> {
    Some(Compensation {
        tool: fold_reference(node.text().or_else(|| text(node, "toolId"))?)?,
        input: to_json(node, "input").unwrap_or_default(),
        approval: text(node, "approval")
            .and_then(|text| word(APPROVALS, text))
            .and_then(Approval::parse),
        window: duration(node, "window"),
    })
}

fn concurrency(node: &Node) -> Concurrency {
    let cap = node.integer().and_then(|number| u64::try_from(number).ok());
    Concurrency {
        safe: if node.text().is_some() { FactRule::Unstated } else { fact(node, "safe") },
        locks: Vec::new(),
        max_parallel: cap.or_else(|| whole(node, "maxParallel")),
    }
}

fn retry(node: &Node) -> Option<RetryPolicy> {
    let attempts = whole(node, "maxAttempts")?.min(MOST_ATTEMPTS);
    let exponential = text(node, "backoff").is_some_and(|word| word.starts_with("exponential"));
    Some(RetryPolicy {
        max_attempts: u32::try_from(attempts).ok()?,
        backoff: if exponential { Backoff::Exponential } else { Backoff::Fixed },
        initial_ms: whole(node, "initialMs").unwrap_or(0),
    })
}

fn errors(node: &Node) -> Vec<DeclaredError> {
    let error = |node: &Node| {
        Some(DeclaredError {
            code: node.text().map(str::to_owned).or_else(|| owned(node, "code"))?,
            retryable: flag(node, "retryable").unwrap_or(false),
            meaning: owned(node, "meaning").or_else(|| owned(node, "description")),
        })
    };
    node.items().iter().filter_map(error).collect()
}

fn lifecycle(node: &Node) -> LifecycleDates {
    let date = |key| text(node, key).and_then(parse_date);
    LifecycleDates {
        introduced: date("introduced"),
        deprecated: date("deprecated"),
        removal: date("removal"),
        replacement: text(node, "replacement").and_then(fold_reference),
        ..LifecycleDates::default()
    }
}

fn lint(tool: &ToolManifest, node: &Node, report: &mut Report) {
    effects(tool, node, report);
    if let Some((name, later, earlier)) = out_of_order(&tool.extras.lifecycle) {
        report.add(
            &rules::E051,
            node.place(&["deprecation", name]),
            format!("`{name}` is {later}, before {earlier}"),
        );
    }
}

fn effects(tool: &ToolManifest, node: &Node, report: &mut Report) {
    let extras = &tool.extras;
    if node.get("sideEffectClass").is_none() {
        report
            .add(
                &rules::V041,
                node.place(&["toolId"]),
                "`sideEffectClass` is not stated, so the tool counts as one that may write",
            )
            .help("a tool that only reads says `\"sideEffectClass\": \"read-only\"`");
    }
    let reversible = extras.classes.contains(&EffectClass::ReversibleWrite);
    if reversible && extras.compensation.is_none() {
        report
            .add(
                &rules::E052,
                node.place(&["sideEffectClass"]),
                "`reversible-write` is claimed without a `compensation`",
            )
            .help("name the tool that undoes a call in `compensation.toolId`, or call the class `irreversible`");
    }
    let recognised = extras.idempotency.as_ref().is_some_and(|idempotency| {
        let mode = idempotency.mode;
        mode.map_or(idempotency.key.is_some(), |mode| mode != IdempotencyMode::None)
    });
    if tool.risk.is_some_and(|risk| risk > Risk::READ) && !recognised {
        let stated = node.get("idempotency").is_some();
        report
            .add(
                &rules::V040,
                node.place(&[if stated { "idempotency" } else { "sideEffectClass" }]),
                "the tool writes, and nothing says how a repeated call is recognised",
            )
            .help("say `\"idempotency\": \"required\"`, or `natural` where repeating does no harm");
    }
}
