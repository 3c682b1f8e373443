//! Elicitation form output: a backend's form in words, marked as the backend's.

use haft_model::ElicitationForm;
use serde_json::Value;

use super::visible;

/// Its lines: what the backend says, and each field with what it takes.
pub(crate) fn form(form: &ElicitationForm) -> Vec<String> {
    let said = visible(&form.message).replace('\n', "\n  | ");
    let mut lines = vec!["  the backend says:".to_owned(), format!("  | {said}")];
    for (name, field, required) in form.fields() {
        let must = if required { "" } else { ", may be left out" };
        let about = ["title", "description"].iter().filter_map(|name| field.get(*name)?.as_str());
        let about: Vec<String> = about.map(visible).collect();
        let about =
            if about.is_empty() { String::new() } else { format!(": {}", about.join("; ")) };
        lines.push(format!("  field {}  {}{must}{about}", visible(name), takes(field)));
    }
    lines
}

/// The values that a field takes, in a few words.
pub(crate) fn takes(field: &Value) -> String {
    let choices = |field: &Value| {
        let all = field.get("oneOf")?.as_array()?;
        let one = |one: &Value| {
            let said = |name: &str| one.get(name).and_then(Value::as_str).unwrap_or_default();
            let (value, title) = (said("const"), said("title"));
            if value == title { visible(value) } else { visible(&format!("{value} ({title})")) }
        };
        Some(all.iter().map(one).collect::<Vec<_>>().join(", "))
    };
    let kind = field.get("type").and_then(Value::as_str).unwrap_or_default();
    let mut words = match (choices(field), field.get("items").and_then(choices)) {
        (Some(one), _) => format!("one of {one}"),
        (None, Some(several)) => format!("a JSON list of {several}"),
        (None, None) => match field.get("format").and_then(Value::as_str) {
            Some(format) => format!("{kind} ({format})"),
            None => kind.to_owned(),
        },
    };
    for (bound, word) in BOUNDS {
        if let Some(value) = field.get(*bound) {
            words.push_str(&format!(", {word} {value}"));
        }
    }
    if let Some(default) = field.get("default") {
        words.push_str(&format!(", else {}", visible(&default.to_string())));
    }
    words
}

/// The bounds of a field, in words.
const BOUNDS: &[(&str, &str)] = &[
    ("minimum", "at least"),
    ("maximum", "at most"),
    ("minLength", "letters at least"),
    ("maxLength", "letters at most"),
    ("minItems", "values at least"),
    ("maxItems", "values at most"),
];
