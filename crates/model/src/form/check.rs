//! Form validation: checks what a person filled in against the form.

use serde_json::{Map, Value};

use super::{ElicitationForm, capped};
use crate::{Code, Stop, parse_date, parse_timestamp, settle_numbers};

/// Largest filled-in form, in bytes.
const LARGEST: usize = 64 * 1024;

impl ElicitationForm {
    /// Validates the content and adds defaults; a refusal names the field, the value and what is
    /// allowed.
    pub fn check(&self, content: Option<Value>) -> Result<Value, Stop> {
        let given = match content {
            None => Map::new(),
            Some(Value::Object(given)) => given,
            Some(other) => {
                let words =
                    format!("a form is filled in by fields, and not by `{}`", short(&other));
                return Err(Stop::new(Code::InputValue, words).help("write `--field name=value`"));
            }
        };
        if let Some(name) =
            given.keys().find(|name| self.fields().all(|(known, ..)| known != *name))
        {
            let known: Vec<String> = self.fields().map(|(name, ..)| format!("`{name}`")).collect();
            let help = match known.is_empty() {
                true => "it has none: approve it as it is".to_owned(),
                false => format!("it has {}", known.join(", ")),
            };
            let words = format!("the form has no field `{}`", capped(name, 80));
            return Err(Stop::new(Code::InputValue, words).at(pointer(name)).help(help));
        }
        let mut filled = Map::new();
        for (name, field, required) in self.fields() {
            let value = given.get(name).or_else(|| field.get("default"));
            let Some(value) = value else {
                if required {
                    let words = format!("the field `{name}` has to be filled in");
                    let help = format!("add `--field {name}=…`, {}", wanted(field));
                    return Err(Stop::new(Code::InputValue, words).at(pointer(name)).help(help));
                }
                continue;
            };
            if let Err(why) = one(field, value) {
                let words = format!("the field `{name}` cannot be `{}`: {why}", short(value));
                let help = format!("give `{name}` {}", wanted(field));
                return Err(Stop::new(Code::InputValue, words).at(pointer(name)).help(help));
            }
            filled.insert(name.to_owned(), value.clone());
        }
        let mut filled = Value::Object(filled);
        settle_numbers(&mut filled).map_err(|flaw| flaw.stop())?;
        if filled.to_string().len() > LARGEST {
            let words = format!("what was filled in takes more than {LARGEST} bytes");
            return Err(Stop::new(Code::InputValue, words).help("write less"));
        }
        Ok(filled)
    }
}

fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn short(value: &Value) -> String {
    match value {
        Value::String(text) => capped(text, 80),
        other => capped(&other.to_string(), 80),
    }
}

/// Validates one value against a field; the error says why not.
pub(super) fn one(field: &Value, value: &Value) -> Result<(), String> {
    let bound = |name: &str| field.get(name).and_then(Value::as_f64);
    match (super::text(field, "type"), value) {
        ("boolean", Value::Bool(_)) => Ok(()),
        ("integer", Value::Number(number)) if !is_whole(number) => {
            Err("it is no whole number".into())
        }
        ("number" | "integer", Value::Number(number)) => {
            within(number.as_f64().unwrap_or(f64::NAN), bound("minimum"), bound("maximum"))
        }
        ("string", Value::String(text)) => {
            chosen(field, text)?;
            let letters = text.chars().count() as f64;
            within(letters, bound("minLength"), bound("maxLength"))
                .map_err(|why| format!("its length is {letters}, and {why}"))?;
            formed(super::text(field, "format"), text)
        }
        ("array", Value::Array(values)) => {
            let items = field.get("items").unwrap_or(&Value::Null);
            for value in values {
                let text = value.as_str().ok_or("it holds something that is no text")?;
                chosen(items, text)?;
            }
            within(values.len() as f64, bound("minItems"), bound("maxItems"))
                .map_err(|why| format!("it holds {} values, and {why}", values.len()))
        }
        (kind, _) => Err(format!("it is not {}", article(kind))),
    }
}

fn is_whole(number: &serde_json::Number) -> bool {
    number.is_i64()
        || number.is_u64()
        || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn within(value: f64, least: Option<f64>, most: Option<f64>) -> Result<(), String> {
    match (least, most) {
        (Some(least), _) if value < least => Err(format!("it must be at least {least}")),
        (_, Some(most)) if value > most => Err(format!("it must be at most {most}")),
        _ => Ok(()),
    }
}

fn chosen(field: &Value, text: &str) -> Result<(), String> {
    let Some(options) = field.get("oneOf").and_then(Value::as_array) else { return Ok(()) };
    match options.iter().any(|one| super::text(one, "const") == text) {
        true => Ok(()),
        false => Err("it is none of the choices".to_owned()),
    }
}

fn formed(format: &str, text: &str) -> Result<(), String> {
    let fits = match format {
        "email" => matches!(text.split_once('@'), Some((name, host))
            if !name.is_empty() && !host.is_empty() && !text.contains(char::is_whitespace)),
        "uri" => matches!(text.split_once(':'), Some((scheme, rest))
            if scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && !rest.is_empty()
                && !text.contains(char::is_whitespace)),
        "date" => parse_date(text).is_some(),
        "date-time" => parse_timestamp(text).is_some(),
        _ => true,
    };
    if fits { Ok(()) } else { Err(format!("it is not of the format `{format}`")) }
}

/// What a field accepts, in words.
fn wanted(field: &Value) -> String {
    let options = |field: &Value| {
        let all = field.get("oneOf").and_then(Value::as_array)?;
        let shown: Vec<&str> = all.iter().take(12).map(|one| super::text(one, "const")).collect();
        let more = if all.len() > shown.len() { ", …" } else { "" };
        Some(format!("{}{more}", shown.join(", ")))
    };
    if let Some(options) = options(field) {
        return format!("one of {options}");
    }
    if let Some(options) = field.get("items").and_then(options) {
        return format!("a list of {options}, as JSON");
    }
    let kind = article(super::text(field, "type"));
    match super::text(field, "format") {
        "" => kind.to_owned(),
        format => format!("{kind} of the format `{format}`"),
    }
}

fn article(kind: &str) -> &'static str {
    match kind {
        "string" => "a text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        _ => "known",
    }
}
