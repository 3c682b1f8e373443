//! Tool lint: rules across the fields of one contract.

use haft_model::{ApprovalClass, EffectClass, FactRule, Lifecycle, Risk, Tri};
use haft_notation::{Condition, Schema, Template};
use serde_json::Value as Json;

use crate::extras::out_of_order;
use crate::shape::form::TOOL_ID;
use crate::source::{Node, Value};
use crate::{Report, Rule, ToolManifest, rules};

/// Checks a contract's fields against each other.
pub(super) fn check(tool: &ToolManifest, node: &Node, report: &mut Report) {
    spelling(tool, node, report);
    effects(tool, node, report);
    action(node, report);
    constraints(tool, node, report);
    object_schemas(node, report);
    if !report.has_errors() {
        examples(tool, node, report);
    }
    if let Some(haft) = node.at(&["metadata", "haft"]) {
        lifecycle(tool, haft, report);
        conditions(haft, report);
        pointers(tool, haft, report);
        templates(tool, haft, report);
    }
}

fn spelling(tool: &ToolManifest, node: &Node, report: &mut Report) {
    let id = tool.key.id.as_str();
    if id.contains("..") {
        report.add(&rules::T045, node.place(&["id"]), format!("`{id}` has two dots in a row"));
    }
    let numbers = tool.version.split(['.', '-', '+']).take(3);
    if numbers.into_iter().any(|part| part.len() > 1 && part.starts_with('0')) {
        report.add(
            &rules::T045,
            node.place(&["version"]),
            format!("`{}` has a number with a leading zero", tool.version),
        );
    }
    let folder = tool.file.rsplit('/').nth(1);
    // No folder can be named after an id that is none.
    if TOOL_ID.fault(id).is_none() && folder.is_some_and(|folder| folder != id) {
        report
            .add(
                &rules::T044,
                node.place(&["id"]),
                format!("the folder is called `{}`, the tool `{id}`", folder.unwrap_or_default()),
            )
            .help(format!("rename the folder to `{id}`"));
    }
}

fn effects(tool: &ToolManifest, node: &Node, report: &mut Report) {
    let changes = tool.mutates.as_ref().is_some_and(|mutates| !mutates.is_empty());
    let asks = tool.approval.as_ref().is_some_and(|approval| {
        approval.class != ApprovalClass::Auto || !approval.policies.is_empty()
    });
    // An action that cannot be read has been refused; what it would have said is not known.
    let stands_alone = node.get("implements").is_none();
    if changes && !asks && stands_alone {
        report
            .add(
                &rules::T040,
                node.place(&[if tool.approval.is_some() { "approval" } else { "mutates" }]),
                "the tool changes something and asks for no approval",
            )
            .help("say `approval: on-mutate`, or leave it: rules and autonomy still decide");
    }
    let absent = |name: &&str| node.entry(name).is_none();
    let missing: Vec<&str> = ["mutates", "risk_level"].into_iter().filter(absent).collect();
    if stands_alone && !missing.is_empty() {
        let verb = if missing.len() == 1 { "is" } else { "are" };
        report
            .add(
                &rules::T046,
                node.place(&["id"]),
                format!(
                    "`{}` {verb} not stated, so the tool counts as one that may write",
                    missing.join("` and `")
                ),
            )
            .help("a tool that only reads says `mutates: []` and `risk_level: 0`");
    }
    let classes = &tool.extras.classes;
    let contradicted =
        changes || tool.risk.is_some_and(|risk| risk > Risk::READ) || classes.len() > 1;
    if classes.contains(&EffectClass::ReadOnly) && contradicted {
        report
            .add(
                &rules::E058,
                node.place(&["metadata", "haft", "class"]),
                "the tool says it is `read-only`, and says otherwise elsewhere",
            )
            .help("a reader says `mutates: []`, `risk_level: 0` and no other class");
    }
    let reversible = classes.contains(&EffectClass::ReversibleWrite);
    if reversible && tool.extras.compensation.is_none() {
        report
            .add(
                &rules::E052,
                node.place(&["metadata", "haft", "class"]),
                "`reversible-write` is claimed without a `compensation`",
            )
            .help("say how a call is undone, or call the class `irreversible`");
    }
    let facts = &tool.extras.facts;
    for rule in [&facts.read_only, &facts.destructive, &facts.open_world] {
        if matches!(rule, FactRule::Classifier(_)) {
            report
                .add(
                    &rules::E057,
                    node.place(&["metadata", "haft", "facts"]),
                    "a classifier is named, and nothing says what it looks at",
                )
                .help("write an expression over the input instead");
        }
    }
}

/// An action given as a map is given in one of three ways; with none, no floor would hold.
fn action(node: &Node, report: &mut Report) {
    let Some(written) = node.get("implements") else { return };
    let ways = ["ref", "file", "inline"].iter().filter(|way| written.get(way).is_some()).count();
    let strangers = written.entries().len() > ways;
    if matches!(written.value, Value::Map(_)) && ways != 1 && !strangers {
        let message = match ways {
            0 => "`implements` names no action".to_owned(),
            _ => format!("`implements` names its action in {ways} ways"),
        };
        report
            .add(&Rule::error("T016", ""), written.span.clone(), message)
            .help("say one of ref, file and inline");
    }
}

fn constraints(tool: &ToolManifest, node: &Node, report: &mut Report) {
    for kind in &tool.require_kind {
        if tool.forbid.contains(kind) {
            report
                .add(
                    &rules::T043,
                    node.place(&["driver_constraints"]),
                    format!("`{kind}` is required and forbidden"),
                )
                .help("forbidding wins; remove it from `require_kind`");
        }
    }
}

fn object_schemas(node: &Node, report: &mut Report) {
    for name in ["inputs", "outputs"] {
        if let Some(schema) = node.get(name) {
            object_schema(schema, name, report);
        }
    }
}

/// Reports a schema of something other than an object.
pub(crate) fn object_schema(schema: &Node, name: &str, report: &mut Report) {
    let stated = schema.get("type").and_then(Node::text);
    // A type that JSON Schema does not have was refused with the schema.
    const OTHERS: [&str; 6] = ["array", "string", "number", "integer", "boolean", "null"];
    if let Some(kind) = stated.filter(|kind| OTHERS.contains(kind)) {
        report
            .add(
                &rules::T055,
                schema.place(&["type"]),
                format!("`{name}` describes a value of type `{kind}`"),
            )
            .help("wrap it in an object with one property");
    }
}

fn examples(tool: &ToolManifest, node: &Node, report: &mut Report) {
    let Some(written) = node.get("examples") else { return };
    if written.items().is_empty() {
        return;
    }
    let compiled = [Schema::compile(&tool.inputs), Schema::compile(&tool.outputs)];
    for (index, example) in written.items().iter().enumerate() {
        let sides = [("input", &rules::T041), ("output", &rules::T042)];
        for ((side, rule), schema) in sides.into_iter().zip(&compiled) {
            let (Some(value), Ok(schema)) = (example.get(side), schema) else { continue };
            for violation in schema.violations(&value.to_json()) {
                report.add(
                    rule,
                    value.nearest(&violation.pointer).span.clone(),
                    format!(
                        "`examples[{index}].{side}{}`: {}",
                        violation.pointer, violation.message
                    ),
                );
            }
        }
    }
}

fn lifecycle(tool: &ToolManifest, haft: &Node, report: &mut Report) {
    if tool.extras.always_load && tool.extras.lifecycle.state == Lifecycle::Deferred {
        report.add(
            &rules::E059,
            haft.place(&["always_load"]),
            "the tool says `always_load`, and that it is deferred",
        );
    }
    if let Some((name, later, earlier)) = out_of_order(&tool.extras.lifecycle) {
        report.add(
            &rules::E051,
            haft.place(&["lifecycle", name]),
            format!("`{name}` is {later}, before {earlier}"),
        );
    }
}

fn conditions(haft: &Node, report: &mut Report) {
    let places: [(&[&str], &[&str]); 6] = [
        (&["concurrency", "safe"], &["input"]),
        (&["facts", "read_only"], &["input"]),
        (&["facts", "destructive"], &["input"]),
        (&["facts", "open_world"], &["input"]),
        (&["status", "committed"], &["output", "input"]),
        (&["status", "absent"], &["output", "input"]),
    ];
    for (path, names) in places {
        let Some(node) = haft.at(path) else { continue };
        let Some(text) = node.text() else { continue };
        if text.starts_with("classifier:") || text.starts_with("same_as:") {
            continue;
        }
        if let Err(fault) = Condition::parse(text, names) {
            report
                .add(&rules::E050, node.span.clone(), format!("`{}`: {fault}", path.join(".")))
                .maybe_help(fault.help);
        }
    }
}

fn pointers(tool: &ToolManifest, haft: &Node, report: &mut Report) {
    let places: [(&[&str], &Json, &str); 4] = [
        (&["data", "sensitive"], &tool.inputs, "inputs"),
        (&["data", "internal"], &tool.inputs, "inputs"),
        (&["audit"], &tool.inputs, "inputs"),
        (&["result", "redact"], &tool.outputs, "outputs"),
    ];
    for (path, schema, name) in places {
        for item in haft.at(path).map(Node::items).unwrap_or_default() {
            let Some(pointer) = item.text() else { continue };
            if leads_somewhere(schema, pointer) == Tri::No {
                report.add(
                    &rules::E053,
                    item.span.clone(),
                    format!("`{pointer}` leads to no property of `{name}`"),
                );
            }
        }
    }
}

/// Whether a pointer into a value leads to something the schema describes.
fn leads_somewhere(schema: &Json, pointer: &str) -> Tri {
    let mut here = schema;
    for step in pointer.split('/').skip(1) {
        let Some(properties) = here.get("properties").and_then(Json::as_object) else {
            // Items, references and open objects: nothing can be said.
            return Tri::Unknown;
        };
        match properties.get(step) {
            Some(next) => here = next,
            None => return Tri::No,
        }
    }
    Tri::Yes
}

/// Whether a field takes templates, rather than values that hold some.
fn is_template(path: &[&str]) -> bool {
    matches!(path, ["resource"] | ["idempotency", "key"] | ["concurrency", "locks"])
}

fn templates(tool: &ToolManifest, haft: &Node, report: &mut Report) {
    let known = tool.inputs.get("properties").and_then(Json::as_object);
    let places: [(&[&str], &[&str]); 6] = [
        (&["resource"], &["input", "context"]),
        (&["idempotency", "key"], &["input", "context"]),
        (&["concurrency", "locks"], &["input", "context"]),
        (&["status", "input"], &["input", "context", "idempotency"]),
        (&["status", "output"], &["output", "input"]),
        (&["compensation", "input"], &["input", "output", "idempotency"]),
    ];
    for (path, roots) in places {
        let Some(node) = haft.at(path) else { continue };
        node.each_text(&mut |leaf, text| {
            let template = match Template::parse(text) {
                Ok(template) => template,
                // The table takes templates here and has said so.
                Err(_) if is_template(path) => return,
                Err(fault) => {
                    report
                        .add(&rules::E055, leaf.span.clone(), fault.message)
                        .maybe_help(fault.help);
                    return;
                }
            };
            for expression in template.expressions() {
                let root = expression.root();
                if !roots.contains(&root) {
                    report
                        .add(
                            &rules::E055,
                            leaf.span.clone(),
                            format!(
                                "`{}` looks at `{root}`, which does not exist here",
                                path.join(".")
                            ),
                        )
                        .help(format!("it can look at {}", roots.join(", ")));
                } else if let ("input", Some(field), Some(known)) =
                    (root, expression.field(), known)
                    && !known.contains_key(field)
                {
                    report.add(
                        &rules::E055,
                        leaf.span.clone(),
                        format!(
                            "`{}` uses `input.{field}`, which `inputs` does not have",
                            path.join(".")
                        ),
                    );
                }
            }
        });
    }
}
