//! Agent Tool reader (v0.2.0 and v0.1): reads declarations and interfaces in JSON into the same
//! contract.
//!
//! A declaration makes a tool by itself; an interface is an overlay that adds to a tool. The
//! contract's metadata keeps both records whole, so fields that Haft does not read survive.

mod interface;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use haft_model::{FactRule, Lifecycle, LifecycleDates, ToolKey};
use haft_notation::Schema;
use serde_json::{Value as Json, json};

pub(crate) use interface::read_interface;
pub use interface::{Interface, apply};

use crate::extras::{Extras, ImportSource, StatedFacts};
use crate::foreign::{fold, guarded, object_schemas, split_version};
use crate::read::{list, owned, text, whole};
use crate::shape::form::TOOL_ID;
use crate::shape::{check, documents};
use crate::source::Node;
use crate::tool::open_schema;
use crate::{Example, Report, Source, ToolManifest, range, rules};

/// The metadata key under which a contract keeps its declaration.
const KEPT: &str = "agent-tool";

/// The version of a declaration that states none.
const FIRST_VERSION: &str = "1.0.0";

/// The declaration a contract was read from, as it was written.
pub fn to_declaration(tool: &ToolManifest) -> Option<Json> {
    tool.metadata.get(KEPT).cloned()
}

/// Reads a declaration.
pub(crate) fn read_declaration(
    source: &Source,
    node: &Node,
    report: &mut Report,
) -> Option<Arc<ToolManifest>> {
    check(node, &documents::agent_tool::DECLARATION, "J001", report);
    stated(node, &["schema_version", "namespace", "lifecycle", "tool_kind"], report);
    object_schemas(node, SCHEMAS, report);
    let mut tool = from_node(source.file(), node, report)?;
    if !report.has_errors() {
        tool.examples = examples(node, &tool.inputs, report);
    }
    Some(Arc::new(tool))
}

/// Where a declaration holds the schemas that become the contract's.
const SCHEMAS: &[&[&str]] = &[
    &["input_contract", "model_input_schema"],
    &["input_contract", "schema"],
    &["output_contract", "structured_schema"],
];

fn from_node(file: &Arc<str>, node: &Node, report: &mut Report) -> Option<ToolManifest> {
    let (name, description) = (text(node, "name")?, text(node, "description")?);
    let (key, version) = identity(node, report)?;
    let schema = |path: &[&str]| node.at(path).map(Node::to_json);
    let inputs = schema(&["input_contract", "model_input_schema"])
        .or_else(|| schema(&["input_contract", "schema"]))
        .unwrap_or_else(open_schema);
    Some(ToolManifest {
        extras: extras(node, &inputs),
        outputs: schema(&["output_contract", "structured_schema"]).unwrap_or_else(open_schema),
        metadata: json!({ KEPT: node.to_json() }),
        inputs,
        ..ToolManifest::bare(file, name, key, &version, description)
    })
}

fn extras(node: &Node, inputs: &Json) -> Extras {
    let fields = |name| {
        let listed = node.get("input_contract").map(|contract| list(contract, name));
        guarded(&listed.unwrap_or_default(), inputs)
    };
    Extras {
        title: owned(node, "title"),
        aliases: list(node, "aliases"),
        search_hint: owned(node, "search_hint"),
        kind: owned(node, "tool_kind"),
        sensitive: fields("sensitive_fields"),
        internal: fields("internal_only_fields"),
        max_inline_chars: node
            .get("output_contract")
            .and_then(|contract| whole(contract, "max_inline_chars")),
        lifecycle: LifecycleDates {
            state: text(node, "lifecycle").and_then(Lifecycle::parse).unwrap_or_default(),
            ..LifecycleDates::default()
        },
        facts: node.get("annotations").map(hints).unwrap_or_default(),
        imported: node.get("imported").and_then(ImportSource::read),
        ..Extras::default()
    }
}

/// The safety facts that annotations tighten. The author of the annotations is untrusted, so the
/// reassuring value of a hint counts for nothing.
fn hints(annotations: &Node) -> StatedFacts {
    let warned = |names: [&str; 2], cautious: bool| {
        let said = |name: &&str| annotations.get(name).and_then(Node::flag) == Some(cautious);
        if names.iter().any(said) { FactRule::Stated(cautious) } else { FactRule::Unstated }
    };
    StatedFacts {
        read_only: warned(["readOnlyHint", "is_read_only"], false),
        destructive: warned(["destructiveHint", "is_destructive"], true),
        open_world: warned(["openWorldHint", "is_open_world"], true),
    }
}

/// The key and the full version that a declaration's ids amount to.
fn identity(node: &Node, report: &mut Report) -> Option<(ToolKey, String)> {
    let stated = text(node, "tool_id")?;
    let Some(id) = id(node) else {
        report
            .add(&rules::J042, node.place(&["tool_id"]), format!("no id can be made of `{stated}`"))
            .help(TOOL_ID.help);
        return None;
    };
    let version = split_version(stated).1.unwrap_or_else(|| {
        report
            .add(
                &rules::J041,
                node.place(&["tool_id"]),
                format!("`{stated}` names no major version, so {FIRST_VERSION} is assumed"),
            )
            .help(format!("write `{stated}@1`"));
        FIRST_VERSION.to_owned()
    });
    Some((ToolKey::new(&id, range::major(&version)?), version))
}

/// The id that a record gives its tool: its own where that is one of ours and says more than the
/// name, otherwise namespace and name.
pub(crate) fn id(node: &Node) -> Option<String> {
    let (own, _) = split_version(text(node, "tool_id")?);
    let name = text(node, "name");
    let namespace = text(node, "namespace").filter(|namespace| !namespace.is_empty());
    let full = namespace.zip(name).map(|(namespace, name)| {
        let inside = name.strip_prefix(namespace).is_some_and(|rest| rest.starts_with('.'));
        if inside { name.to_owned() } else { format!("{namespace}.{name}") }
    });
    if TOOL_ID.fault(own).is_none() && (full.is_none() || Some(own) != name) {
        return Some(own.to_owned());
    }
    full.as_deref().and_then(fold).or_else(|| fold(own)).or_else(|| name.and_then(fold))
}

/// Warns of what the standard requires of every record and this one leaves out.
fn stated(node: &Node, fields: &[&str], report: &mut Report) {
    let missing: Vec<String> = fields
        .iter()
        .filter(|field| node.get(field).is_none())
        .map(|field| format!("`{field}`"))
        .collect();
    if !missing.is_empty() {
        let start = node.span.start;
        report
            .add(
                &rules::J040,
                start..start,
                format!("the record does not say {}", missing.join(", ")),
            )
            .help("Haft reads it all the same; other readers may refuse it");
    }
    let version = text(node, "schema_version");
    if let Some(version) = version.filter(|version| !KNOWN.iter().any(|known| fits(version, known)))
    {
        report
            .add(
                &rules::J045,
                node.place(&["schema_version"]),
                format!("`{version}` is a version of the standard that Haft does not know"),
            )
            .help("Haft knows 0.1 and 0.2, and reads this record as 0.2");
    }
}

/// The versions of the standard that this reader was written for.
const KNOWN: [&str; 2] = ["0.1", "0.2"];

fn fits(version: &str, known: &str) -> bool {
    let rest = version.trim_start_matches('v').strip_prefix(known);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The examples that fit the input, written out or wrapped in `input`.
fn examples(node: &Node, inputs: &Json, report: &mut Report) -> Vec<Example> {
    let written = node.at(&["input_contract", "examples"]).map(Node::items).unwrap_or_default();
    let Ok(schema) = Schema::compile(inputs) else { return Vec::new() };
    let takes_input = inputs.pointer("/properties/input").is_some();
    let mut examples = Vec::new();
    for (index, item) in written.iter().enumerate() {
        let input = item.get("input").filter(|_| !takes_input).unwrap_or(item);
        let violations = schema.violations(&input.to_json());
        for violation in &violations {
            report.add(
                &rules::J043,
                input.nearest(&violation.pointer).span.clone(),
                format!("`examples[{index}]{}`: {}", violation.pointer, violation.message),
            );
        }
        if violations.is_empty() {
            let name = owned(item, "name").filter(|_| !std::ptr::eq(input, item));
            let name = name.unwrap_or_else(|| format!("example {}", index + 1));
            examples.push(Example { name, input: input.to_json(), output: None });
        }
    }
    examples
}
