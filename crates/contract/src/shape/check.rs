//! Shape check: validates a tree against a shape and reports every difference.

use std::collections::HashMap;

use crate::diagnostic::{Report, Rule, suggestion};
use crate::rules;
use crate::shape::form::TextFormat;
use crate::shape::kind::one_of;
use crate::shape::strangers::stranger;
use crate::shape::{Field, FieldStanding, Need, Shape, Takes};
use crate::source::{MapEntry, Node, Source, Value};

/// Reports every way in which a map differs from its shape. `code` is the rule of whatever holds it.
pub fn check(node: &Node, shape: &Shape, code: &'static str, report: &mut Report) {
    let Value::Map(entries) = &node.value else {
        report.add(
            &breach(code),
            node.span.clone(),
            format!("{} must be a map, not {}", shape.title, node.kind()),
        );
        return;
    };
    for entry in entries {
        match shape.field(&entry.key) {
            Some(field) => field_value(entry, field, code, report),
            None => stranger(entry, shape, code, report),
        }
    }
    for field in shape.fields {
        if field.need == Need::Required && node.entry(field.name).is_none() {
            let start = node.span.start;
            report
                .add(
                    &breach(code_of(field, code)),
                    start..start,
                    format!("`{}` is missing from {}", field.name, shape.title),
                )
                .help(format!("add `{}`: {}", field.name, as_help(field.about)));
        }
    }
}

/// Whether a value is all that a field takes.
pub(super) fn fits(node: &Node, takes: &Takes) -> bool {
    let mut report = Report::new(&Source::new("", ""));
    value(node, "", takes, "", &mut report);
    !report.has_errors()
}

/// Holds one entry against its field. `around` is the rule of whatever holds it.
pub(crate) fn field_value(
    entry: &MapEntry,
    field: &Field,
    around: &'static str,
    report: &mut Report,
) {
    let code = code_of(field, around);
    if entry.value.value == Value::Null && field.need != Need::Required {
        if matches!(field.takes, Takes::Nullable(_)) {
            return;
        }
        // `key:` with nothing behind it is a common way to write "nothing".
        report
            .add(&breach(code), entry.key_span.clone(), format!("`{}` has no value", entry.key))
            .help("give it a value or leave it out");
        return;
    }
    value(&entry.value, &entry.key, &field.takes, code, report);
    if field.standing == FieldStanding::Recorded && fits(&entry.value, &field.takes) {
        let message = format!("`{}` is recorded and not enforced", entry.key);
        report
            .add(&rules::Y014, entry.key_span.clone(), message)
            .help("leave it out, or do not rely on it");
    }
}

/// Holds one value against what a field takes. `name` is how messages call it.
fn value(node: &Node, name: &str, takes: &Takes, code: &'static str, report: &mut Report) {
    match takes {
        Takes::Any => {}
        Takes::Nullable(inner) => {
            if node.value != Value::Null {
                value(node, name, inner, code, report);
            }
        }
        Takes::Text(least, most) => text(node, name, (*least, *most), code, report),
        Takes::Formed(form) => formed(node, name, form, code, report),
        Takes::Word(words) => word(node, name, words, code, report),
        Takes::Integer(least, most) => match node.integer() {
            Some(number) if number < *least || number > *most => {
                add(report, code, node, format!("`{name}` is {number}; {}", bounds(*least, *most)));
            }
            Some(_) => {}
            None => wrong_kind(node, name, "a whole number", code, report),
        },
        Takes::Number(least) => match node.number() {
            Some(number) if number < *least => {
                add(
                    report,
                    code,
                    node,
                    format!("`{name}` is {number}; it must be at least {least}"),
                );
            }
            Some(_) => {}
            None => wrong_kind(node, name, "a number", code, report),
        },
        Takes::Flag => {
            if node.flag().is_none() {
                wrong_kind(node, name, "true or false", code, report);
            }
        }
        Takes::List(least, inner) => list(node, name, *least, inner, code, report),
        Takes::Set(inner) => {
            list(node, name, 0, inner, code, report);
            repeated(node, name, code, report);
        }
        Takes::Names(form, inner) => names(node, name, *form, inner, code, report),
        Takes::Map(shape) => map(node, name, shape, code, report),
        Takes::Kinds(key, kinds) => kind(node, name, key, kinds, code, report),
        Takes::Schema => schema(node, name, code, report),
        Takes::Object => {
            if !matches!(node.value, Value::Map(_)) {
                wrong_kind(node, name, "a map", code, report);
            }
        }
        Takes::Either(choices) => match choices.iter().find(|choice| choice.suits(node)) {
            Some(choice) => value(node, name, choice, code, report),
            None => {
                let kinds: Vec<_> = choices.iter().map(Takes::kind).collect();
                wrong_kind(node, name, &kinds.join(" or "), code, report);
            }
        },
    }
}

fn text(
    node: &Node,
    name: &str,
    (least, most): (usize, usize),
    code: &'static str,
    report: &mut Report,
) {
    let Some(text) = node.text() else { return wrong_kind(node, name, "text", code, report) };
    let length = text.chars().count();
    if length < least {
        let message = match length {
            0 => format!("`{name}` is empty"),
            _ => format!("`{name}` has {length} characters; at least {least} are needed"),
        };
        add(report, code, node, message);
    } else if length > most {
        add(report, code, node, format!("`{name}` has {length} characters; at most {most} fit"));
    }
}

fn formed(node: &Node, name: &str, form: &TextFormat, code: &'static str, report: &mut Report) {
    let Some(text) = node.text() else {
        let message = format!("`{name}` must be {}, not {}", form.what, node.kind());
        let help = form.pattern.is_some().then(|| form.help.to_owned());
        add(report, code, node, message).maybe_help(help);
        return;
    };
    if text.is_empty() && form.length.0 > 0 {
        add(report, code, node, format!("`{name}` is empty")).help(form.help);
    } else if let Some(fault) = form.fault(text) {
        let span = node.span.clone();
        report
            .add(&breach(code), span, format!("`{name}`: {}", fault.message))
            .maybe_help(fault.help);
    }
}

fn word(node: &Node, name: &str, words: &[&'static str], code: &'static str, report: &mut Report) {
    let Some(text) = node.text() else {
        return wrong_kind(node, name, &one_of(words), code, report);
    };
    if words.contains(&text) {
        return;
    }
    let help =
        suggestion(text, words.iter().copied()).unwrap_or_else(|| format!("use {}", one_of(words)));
    add(report, code, node, format!("`{name}` cannot be `{text}`")).help(help);
}

fn list(
    node: &Node,
    name: &str,
    least: usize,
    inner: &Takes,
    code: &'static str,
    report: &mut Report,
) {
    let Value::List(items) = &node.value else {
        return wrong_kind(node, name, "a list", code, report);
    };
    if items.len() < least {
        add(report, code, node, format!("`{name}` needs at least {least} entry"));
    }
    for (index, item) in items.iter().enumerate() {
        value(item, &format!("{name}[{index}]"), inner, code, report);
    }
}

fn repeated(node: &Node, name: &str, code: &'static str, report: &mut Report) {
    // Each value is named once however often it stands there, so that no file can fill a screen.
    let mut times = HashMap::new();
    for item in node.items() {
        let Some(text) = item.text() else { continue };
        let seen = times.entry(text).or_insert(0_usize);
        *seen += 1;
        if *seen == 2 {
            add(report, code, item, format!("`{name}` lists `{text}` twice"));
        }
    }
}

fn names(
    node: &Node,
    name: &str,
    form: Option<&'static TextFormat>,
    inner: &Takes,
    code: &'static str,
    report: &mut Report,
) {
    let Value::Map(entries) = &node.value else {
        return wrong_kind(node, name, "a map", code, report);
    };
    for entry in entries {
        if let Some(fault) = form.and_then(|form| form.fault(&entry.key)) {
            report
                .add(&breach(code), entry.key_span.clone(), format!("`{name}`: {}", fault.message))
                .maybe_help(fault.help);
        }
        value(&entry.value, &format!("{name}.{}", entry.key), inner, code, report);
    }
}

fn map(node: &Node, name: &str, shape: &Shape, code: &'static str, report: &mut Report) {
    if matches!(node.value, Value::Map(_)) {
        check(node, shape, code, report);
    } else {
        wrong_kind(node, name, "a map", code, report);
    }
}

fn kind(
    node: &Node,
    name: &str,
    key: &'static str,
    kinds: &[(&'static str, &'static Shape)],
    code: &'static str,
    report: &mut Report,
) {
    if !matches!(node.value, Value::Map(_)) {
        return wrong_kind(node, name, "a map", code, report);
    }
    let words: Vec<&'static str> = kinds.iter().map(|(word, _)| *word).collect();
    let Some(stated) = node.get(key) else {
        add(report, code, node, format!("`{name}` does not say its `{key}`"))
            .help(format!("use {}", one_of(&words)));
        return;
    };
    match kinds.iter().find(|(word, _)| Some(*word) == stated.text()) {
        Some((_, shape)) => check(node, shape, code, report),
        None => word(stated, key, &words, code, report),
    }
}

fn schema(node: &Node, name: &str, code: &'static str, report: &mut Report) {
    if !matches!(node.value, Value::Map(_)) {
        return wrong_kind(node, name, "a JSON Schema", code, report);
    }
    for fault in haft_notation::inspect(&node.to_json()) {
        let place = node.nearest(&fault.pointer).span.clone();
        let at = if fault.pointer.is_empty() {
            String::new()
        } else {
            format!(" at `{}`", fault.pointer)
        };
        report
            .add(&breach(code), place, format!("`{name}`{at}: {}", fault.message))
            .maybe_help(fault.help);
    }
}

fn wrong_kind(node: &Node, name: &str, wanted: &str, code: &'static str, report: &mut Report) {
    add(report, code, node, format!("`{name}` must be {wanted}, not {}", node.kind()));
}

fn add<'r>(
    report: &'r mut Report,
    code: &'static str,
    node: &Node,
    message: String,
) -> &'r mut crate::Diagnostic {
    report.add(&breach(code), node.span.clone(), message)
}

/// Shapes state what must hold, so every breach of one is an error.
pub(super) fn breach(code: &'static str) -> Rule {
    Rule::error(code, "")
}

fn code_of(field: &Field, around: &'static str) -> &'static str {
    if field.code.is_empty() { around } else { field.code }
}

fn bounds(least: i64, most: i64) -> String {
    match most {
        i64::MAX => format!("it must be at least {least}"),
        _ => format!("it must be from {least} to {most}"),
    }
}

/// A sentence in the form of a message: without its capital and its full stop.
fn as_help(sentence: &str) -> String {
    let mut chars = sentence.strip_suffix('.').unwrap_or(sentence).chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}
