//! Elicitation form: the fields that a backend wants a person to fill in.
//!
//! Every word of it is the backend's and untrusted: it is read field by field, and what is not
//! understood is refused.

mod check;
mod field;
mod secret;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{Cause, CauseDetail, Code, FormRefusal, Stop, cleaned, is_shown};

/// Longest message shown, in characters.
const LONGEST_MESSAGE: usize = 2000;

/// Most fields of a form.
const MOST_FIELDS: usize = 32;

/// Largest form, in bytes.
const LARGEST: usize = 32 * 1024;

/// A form: the backend's message and its fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElicitationForm {
    /// The backend's message, sanitized of control and invisible characters.
    pub message: String,
    /// Its fields, as a JSON Schema of plain values: `properties` and `required`.
    pub schema: Value,
}

impl ElicitationForm {
    /// Parses a backend's request; the refusal says why the form cannot be shown.
    pub fn read(params: &Value) -> Result<ElicitationForm, Stop> {
        let message = prose(text(params, "message"), LONGEST_MESSAGE);
        let asked = params.get("requestedSchema").and_then(|schema| schema.get("properties"));
        let asked = asked.and_then(Value::as_object);
        let asked = asked.ok_or_else(|| refused("it does not say which fields it has"))?;
        if asked.len() > MOST_FIELDS {
            let words = format!("it has {} fields, and {MOST_FIELDS} are shown", asked.len());
            return Err(refused(&words));
        }
        let mut properties = Map::new();
        for (name, described) in asked {
            let plain = !name.is_empty() && name.len() <= 64 && name.chars().all(is_shown);
            if !plain {
                return Err(refused("a field of it has a name that cannot be shown"));
            }
            if let Some(why) = secret::looks_like_one(name, described) {
                return Err(of_a_secret(name, why));
            }
            let field = field::read(described);
            let field = field.map_err(|why| refused(&format!("its field `{name}` {why}")))?;
            properties.insert(name.clone(), field);
        }
        let required = params.pointer("/requestedSchema/required").and_then(Value::as_array);
        let required: Vec<&Value> = required
            .into_iter()
            .flatten()
            .filter(|name| name.as_str().is_some_and(|name| properties.contains_key(name)))
            .collect();
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        if schema.to_string().len() > LARGEST {
            return Err(refused(&format!("it takes more than {LARGEST} bytes")));
        }
        Ok(ElicitationForm { message, schema })
    }

    /// Its fields, each with its schema and whether it is required.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Value, bool)> {
        let fields = self.schema.get("properties").and_then(Value::as_object);
        let required = self.schema.get("required").and_then(Value::as_array);
        let needs = move |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
        let fields = fields.into_iter().flatten();
        fields.map(move |(name, field)| (name.as_str(), field, needs(name)))
    }
}

/// The refusal of a form that is never shown.
fn refused(why: &str) -> Stop {
    Stop::new(
        Code::ApprovalRequired,
        format!("the backend asks by a form that is not shown: {why}"),
    )
    .help("ask the backend's author to request less")
    .because(Cause::running().with(CauseDetail::Form(FormRefusal::Refused)))
}

/// The refusal of a form that asks for a secret.
fn of_a_secret(name: &str, why: &str) -> Stop {
    let words = format!("the backend asks for a secret by a form: its field `{name}` {why}");
    Stop::new(Code::ApprovalRequired, words)
        .help("forms are never for secrets: hand them over with `haft secrets set` and the driver's `auth`")
        .because(
            Cause::running()
                .with(CauseDetail::Form(FormRefusal::Secret))
                .with(CauseDetail::Field(name.to_owned())),
        )
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Backend text with its line breaks, cut to a maximum length.
fn prose(words: &str, most: usize) -> String {
    capped(cleaned(words).trim(), most)
}

/// The same on one line.
fn line(words: &str, most: usize) -> String {
    capped(&cleaned(words).split_whitespace().collect::<Vec<_>>().join(" "), most)
}

fn capped(words: &str, most: usize) -> String {
    match words.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default().trim_end()),
        None => words.to_owned(),
    }
}

#[cfg(test)]
mod tests;
