//! Form field: a text, a number, a boolean or a choice.

use serde_json::{Map, Value, json};

use super::{line, text};
use crate::is_shown;

/// Most choices of a field, and the longest choice.
const MOST_CHOICES: usize = 200;
const LONGEST_CHOICE: usize = 200;

/// Longest description of a field shown, in characters.
const LONGEST_WORDS: usize = 300;

/// Formats that a text field may ask for.
pub(super) const FORMATS: &[&str] = &["email", "uri", "date", "date-time"];

/// The understood part of the field; the error says why it is refused.
pub(super) fn read(described: &Value) -> Result<Value, String> {
    let kind = text(described, "type");
    let mut field = Map::from_iter([("type".to_owned(), json!(kind))]);
    for name in ["title", "description"] {
        let words = line(text(described, name), LONGEST_WORDS);
        if !words.is_empty() {
            field.insert(name.to_owned(), json!(words));
        }
    }
    let bounds: &[&str] = match kind {
        "string" => &["minLength", "maxLength"],
        "number" | "integer" => &["minimum", "maximum"],
        "boolean" => &[],
        "array" => &["minItems", "maxItems"],
        "" => return Err("does not say what it holds".to_owned()),
        other => return Err(format!("holds `{}`, which is no plain value", line(other, 40))),
    };
    let given = bounds.iter().filter_map(|name| Some((*name, described.get(name)?)));
    let given = given.filter(|(_, bound)| bound.is_number());
    field.extend(given.map(|(name, bound)| (name.to_owned(), bound.clone())));
    match kind {
        "string" => {
            field.extend(choices(described, "oneOf")?);
            let format = text(described, "format");
            if FORMATS.contains(&format) {
                field.insert("format".to_owned(), json!(format));
            } else if !format.is_empty() {
                return Err(format!("wants the format `{}`, which is unknown", line(format, 40)));
            }
        }
        "array" => {
            let items = described.get("items").unwrap_or(&Value::Null);
            let mut choices: Map<String, Value> = choices(items, "anyOf")?.into_iter().collect();
            if choices.is_empty() {
                return Err("is a list of anything, and only a choice of several is shown".into());
            }
            choices.insert("type".to_owned(), json!("string"));
            field.insert("items".to_owned(), Value::Object(choices));
        }
        _ => {}
    }
    // A default that would be refused from a person is dropped.
    let default = described.get("default").cloned();
    let whole = Value::Object(field.clone());
    if let Some(default) = default.filter(|default| super::check::one(&whole, default).is_ok()) {
        field.insert("default".to_owned(), default);
    }
    Ok(Value::Object(field))
}

/// The choices with their titles, if the field is a choice.
fn choices(described: &Value, titled: &str) -> Result<Option<(String, Value)>, String> {
    let titles = described.get("enumNames").and_then(Value::as_array);
    let plain = described.get("enum").and_then(Value::as_array).map(|values| {
        let title = |at: usize| titles.and_then(|titles| titles.get(at)).and_then(Value::as_str);
        let values = values.iter().enumerate();
        values.map(|(at, value)| (value.as_str(), title(at))).collect::<Vec<_>>()
    });
    let titled = described.get(titled).and_then(Value::as_array).map(|options| {
        let named = |one: &'_ Value, name: &str| one.get(name).and_then(Value::as_str).is_some();
        let fit = options.iter().filter(|one| named(one, "const"));
        fit.map(|one| (one.get("const").and_then(Value::as_str), Some(text(one, "title"))))
            .collect::<Vec<_>>()
    });
    let Some(options) = plain.or(titled) else { return Ok(None) };
    if options.is_empty() || options.len() > MOST_CHOICES {
        return Err(format!("offers {} choices, and 1 to {MOST_CHOICES} are shown", options.len()));
    }
    let mut shown = Vec::new();
    for (value, title) in options {
        let fits = |value: &&str| value.len() <= LONGEST_CHOICE && value.chars().all(is_shown);
        let value = value.filter(fits);
        let value = value.ok_or("offers a choice that cannot be shown as it is")?;
        let title =
            title.map(|title| line(title, LONGEST_CHOICE)).filter(|title| !title.is_empty());
        let title = title.unwrap_or_else(|| value.to_owned());
        shown.push(json!({ "const": value, "title": title }));
    }
    Ok(Some(("oneOf".to_owned(), Value::Array(shown))))
}
