//! Violations of a schema: each with its place and rule, bounded one by one and in all.

use std::fmt::{self, Display, Write as _};

use haft_model::SchemaViolation;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

/// How many violations are reported.
const MOST_VIOLATIONS: usize = 100;

/// How many bytes they may have together; the first is reported in any case.
const MOST_BYTES: usize = 32 << 10;

/// How many bytes a message or a pointer may have.
const LONGEST_TEXT: usize = 1000;

/// How many characters of a value are shown.
const LONGEST_VALUE: usize = 120;

/// One way in which a value does not fit.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Violation {
    /// JSON pointer into the value, cut short if it is long.
    pub pointer: String,
    /// The keyword that says no.
    pub rule: String,
    /// The violation, in one line of a thousand bytes at most.
    pub message: String,
    /// The value that does not fit, cut short if it is long.
    pub value: Value,
}

impl From<Violation> for SchemaViolation {
    fn from(violation: Violation) -> SchemaViolation {
        let Violation { pointer, rule, message, value } = violation;
        SchemaViolation { pointer, rule: Some(rule), message, value: Some(value) }
    }
}

impl Violation {
    /// The refusal of a value as a whole, since checking it costs too much.
    pub(super) fn of_cost(message: &str, value: &Value) -> Violation {
        Violation {
            pointer: String::new(),
            rule: "cost".to_owned(),
            message: message.to_owned(),
            value: shortened(value),
        }
    }

    fn from_error(error: &ValidationError<'_>) -> Violation {
        // A long value hides what is wrong with it, so that the message is written without it.
        let message = written(error, LONGEST_TEXT)
            .or_else(|_| written(&error.masked(), LONGEST_TEXT))
            .unwrap_or_else(|cut| cut);
        let message = message + &unquoted(error).unwrap_or_default();
        Violation {
            pointer: written(error.instance_path(), LONGEST_TEXT).unwrap_or_else(|cut| cut),
            rule: error.kind().keyword().to_owned(),
            message,
            value: shortened(error.instance()),
        }
    }

    fn bytes(&self) -> usize {
        let value = self.value.as_str().map_or(LONGEST_VALUE, str::len);
        self.pointer.len() + self.rule.len() + self.message.len() + value
    }
}

/// What to send instead of a text that holds a value of the type that was expected, such as `"12"`.
/// We convert no type: `"007"` may be a name, and a record says what was sent.
fn unquoted(error: &ValidationError<'_>) -> Option<String> {
    let ValidationErrorKind::Type { kind } = error.kind() else { return None };
    let text = error.instance().as_str().filter(|text| text.len() <= LONGEST_VALUE)?.trim();
    let value: Value = serde_json::from_str(text).ok()?;
    let expects = |name: &str| match kind {
        TypeKind::Single(kind) => kind.as_str() == name,
        TypeKind::Multiple(kinds) => kinds.iter().any(|kind| kind.as_str() == name),
    };
    let is_expected = match &value {
        Value::Bool(_) => expects("boolean"),
        Value::Number(number) => {
            expects("number") || expects("integer") && (number.is_i64() || number.is_u64())
        }
        Value::Array(_) => expects("array"),
        Value::Object(_) => expects("object"),
        Value::Null | Value::String(_) => false,
    };
    is_expected.then(|| format!("; send {text} without the quotes around it"))
}

/// The violations of a value.
pub(super) fn found(validator: &Validator, value: &Value) -> Vec<Violation> {
    let mut left = Some(MOST_BYTES);
    let errors = validator.iter_errors(value).take(MOST_VIOLATIONS);
    let within = errors.map(|error| Violation::from_error(&error)).take_while(|violation| {
        let is_within = left.is_some();
        left = left.and_then(|left| left.checked_sub(violation.bytes()));
        is_within
    });
    within.collect()
}

/// A value as it is, or the beginning of its text.
fn shortened(value: &Value) -> Value {
    let text = match value {
        Value::String(text) if text.len() <= LONGEST_VALUE => return value.clone(),
        Value::String(text) => return Value::String(shorten(text)),
        // A character has four bytes at most.
        Value::Array(_) | Value::Object(_) => written(value, LONGEST_VALUE * 4),
        Value::Null | Value::Bool(_) | Value::Number(_) => return value.clone(),
    };
    match text {
        Ok(text) if text.len() <= LONGEST_VALUE => value.clone(),
        Ok(text) | Err(text) => Value::String(shorten(&text)),
    }
}

/// The first characters of a text.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(LONGEST_VALUE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Writes something whole, or its beginning without going on behind it.
fn written(what: &impl Display, most: usize) -> Result<String, String> {
    let mut beginning = Beginning { text: String::new(), most };
    match write!(beginning, "{what}") {
        Ok(()) => Ok(beginning.text),
        Err(fmt::Error) => Err(beginning.text + "…"),
    }
}

/// The beginning of a text; writing more is an error.
struct Beginning {
    text: String,
    most: usize,
}

impl fmt::Write for Beginning {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let left = self.most - self.text.len();
        if more.len() <= left {
            self.text.push_str(more);
            return Ok(());
        }
        let end = (0..=left).rev().find(|end| more.is_char_boundary(*end)).unwrap_or(0);
        self.text.push_str(more.get(..end).unwrap_or_default());
        Err(fmt::Error)
    }
}
