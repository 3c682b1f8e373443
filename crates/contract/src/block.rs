//! Blocks that stand inside other documents: written out, or given by `ref`, `file` or `inline`.

use crate::Report;
use crate::diagnostic::Rule;
use crate::source::{Node, Value};

const FORMS: [&str; 3] = ["ref", "file", "inline"];

/// The block itself, where this document writes it out; `None` for one that is given by reference.
pub(crate) fn written_out<'n>(
    node: &'n Node,
    rule: &Rule,
    report: &mut Report,
) -> Option<&'n Node> {
    if FORMS.iter().all(|form| node.entry(form).is_none()) {
        return Some(node);
    }
    if node.entries().len() != 1 {
        one_form(node, rule, report);
        return None;
    }
    node.get("inline")
}

/// Whether a value is a map in which nothing but the three forms stands.
pub(crate) fn is_reference(node: &Node) -> bool {
    matches!(node.value, Value::Map(_))
        && node.entries().iter().all(|entry| FORMS.contains(&&*entry.key))
}

/// Reports a map that does not have exactly one of the three forms.
pub(crate) fn one_form(node: &Node, rule: &Rule, report: &mut Report) {
    let message = match node.entries().len() {
        0 => "nothing is named here",
        1 => return,
        _ => "it is not clear which of several things is meant",
    };
    report
        .add(rule, node.span.clone(), message)
        .help("say exactly one of `ref`, `file` and `inline`, and nothing beside it");
}
