//! Unknown fields: reports fields that no table lists.

use crate::diagnostic::{Report, Rule, suggestion};
use crate::shape::check::breach;
use crate::shape::{Shape, Strangers};
use crate::source::{MapEntry, Node};

/// Reports the fields that none of some shapes knows: for documents that several tables describe.
/// Those in `others` have a rule of their own.
pub fn strangers(
    node: &Node,
    shapes: &[&Shape],
    others: &[&str],
    rule: &Rule,
    report: &mut Report,
) {
    for entry in node.entries().iter().filter(|entry| !others.contains(&&*entry.key)) {
        let known = |shape: &&&Shape| {
            shape.field(&entry.key).is_some()
                || shape.moved.iter().any(|moved| moved.name == &*entry.key)
        };
        if shapes.iter().any(|shape| known(&shape)) {
            continue;
        }
        let names = shapes.iter().flat_map(|shape| shape.fields).map(|field| field.name);
        let title = shapes.last().map_or("the document", |shape| shape.title);
        report
            .add(rule, entry.key_span.clone(), format!("{title} has no field `{}`", entry.key))
            .maybe_help(suggestion(&entry.key, names));
    }
}

/// Reports a field that a shape does not list. `around` is the rule of whatever holds it.
pub(super) fn stranger(entry: &MapEntry, shape: &Shape, around: &'static str, report: &mut Report) {
    if let Some(moved) = shape.moved.iter().find(|moved| moved.name == &*entry.key) {
        report
            .add(
                &breach(moved.code),
                entry.key_span.clone(),
                format!("`{}` does not belong in {}", entry.key, shape.title),
            )
            .help(moved.help);
        return;
    }
    let Strangers::Refused(code) = shape.strangers else { return };
    let code = if code.is_empty() { around } else { code };
    let known = || shape.fields.iter().map(|field| field.name);
    let help = suggestion(&entry.key, known())
        .unwrap_or_else(|| format!("it can hold {}", known().collect::<Vec<_>>().join(", ")));
    report
        .add(
            &breach(code),
            entry.key_span.clone(),
            format!("{} has no field `{}`", shape.title, entry.key),
        )
        .help(help);
}
