//! JSON flaws: numbers that canonical JSON would change, and duplicate keys.
//!
//! A parsed value has lost both, so this walks the text itself: one pass, no values, and no
//! allocation while nothing is wrong. Text that is not JSON is left to the parser, which reports
//! it.

mod decimal;
mod scan;

use std::fmt;

use serde_json::{Number, Value};

use crate::{Canonical, Code, Stop};

pub use decimal::is_exact_number;

/// The first part of a JSON text that parsing would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonFlaw {
    /// JSON pointer to the number, or to the duplicate key.
    pub pointer: String,
    /// Kind of the flaw.
    pub kind: JsonFlawKind,
}

/// Kind of a JSON flaw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonFlawKind {
    /// The number, as it was written: its canonical form is another number.
    InexactNumber(String),
    /// The key occurs twice in its object.
    DuplicateKey(String),
    /// Nested more deeply than the parser reads.
    TooDeep,
}

/// Part of a JSON text to check.
#[derive(Clone, Copy, Debug)]
pub enum JsonScope<'s> {
    /// The whole text.
    Whole,
    /// What lies below one of these paths of nested keys; at most eight. A duplicate key on the way
    /// is a flaw too, since it is ambiguous which of the two is meant.
    Below(&'s [&'s [&'s str]]),
    /// What lies below every key of this name; elsewhere only duplicate keys are flaws.
    Member(&'s str),
}

impl JsonFlaw {
    /// The first flaw of a text.
    pub fn in_text(text: impl AsRef<[u8]>) -> Option<JsonFlaw> {
        JsonFlaw::within(text, JsonScope::Whole)
    }

    /// The first flaw of a part of a text. Its pointer starts at the root of the text.
    pub fn within(text: impl AsRef<[u8]>, scope: JsonScope<'_>) -> Option<JsonFlaw> {
        scan::first_flaw(text.as_ref(), scope)
    }

    /// The first flaw of a value: an integer that no double represents.
    pub fn in_value(value: &Value) -> Option<JsonFlaw> {
        match value {
            Value::Number(number) => inexact(number).map(JsonFlaw::at_root),
            Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
                Some(JsonFlaw::in_value(item)?.inside(&index.to_string()))
            }),
            Value::Object(fields) => {
                fields.iter().find_map(|(name, item)| Some(JsonFlaw::in_value(item)?.inside(name)))
            }
            Value::Null | Value::Bool(_) | Value::String(_) => None,
        }
    }

    /// The same flaw with its pointer relative to a place, where it lies below that. One elsewhere
    /// stays as it is: only the first flaw is known, so the rest is not known to be free of flaws.
    #[must_use]
    pub fn seen_from(mut self, place: &str) -> JsonFlaw {
        let rest = self.pointer.strip_prefix(place);
        if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            self.pointer = rest.to_owned();
        }
        self
    }

    /// The same flaw as seen from an object that holds this value under a key.
    #[must_use]
    pub fn inside(mut self, key: &str) -> JsonFlaw {
        let step = key.replace('~', "~0").replace('/', "~1");
        self.pointer.insert_str(0, &format!("/{step}"));
        self
    }

    /// The refusal of an input with this flaw.
    pub fn stop(&self) -> Stop {
        let stop = match &self.kind {
            JsonFlawKind::InexactNumber(_) => {
                Stop::new(Code::InputNumberNotExact, self.to_string()).help("send it as a string")
            }
            JsonFlawKind::DuplicateKey(_) => {
                Stop::new(Code::InputSchema, self.to_string()).help("give each key once")
            }
            JsonFlawKind::TooDeep => {
                Stop::new(Code::InputSchema, self.to_string()).help("nest it less deeply")
            }
        };
        stop.at(self.pointer.clone())
    }

    fn at_root(number: String) -> JsonFlaw {
        JsonFlaw { pointer: String::new(), kind: JsonFlawKind::InexactNumber(number) }
    }
}

impl fmt::Display for JsonFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.pointer;
        match &self.kind {
            JsonFlawKind::InexactNumber(text) => write!(
                f,
                "the number `{text}` at `{place}` is not exact: as a double it would be another one"
            ),
            JsonFlawKind::DuplicateKey(key) => {
                write!(f, "the key `{key}` comes twice, at `{place}`")
            }
            JsonFlawKind::TooDeep => {
                let top: String = place.chars().take(40).collect();
                write!(f, "the JSON is nested too deeply, below `{top}…`")
            }
        }
    }
}

/// Normalizes numbers: gives equal numbers one form, an integer where it is whole and fits 64 bits.
/// So `1.0`, `1` and `10e-1` are one value wherever it is compared, shown or sent.
///
/// Refuses a whole number whose canonical text is another number.
pub fn settle_numbers(value: &mut Value) -> Result<(), JsonFlaw> {
    if let Some(flaw) = JsonFlaw::in_value(value) {
        return Err(flaw);
    }
    settle(value);
    Ok(())
}

fn settle(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(whole) = whole(number) {
                *number = whole;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle),
        Value::Object(fields) => fields.values_mut().for_each(settle),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// A float that is whole, as an integer of the same decimal digits.
fn whole(number: &Number) -> Option<Number> {
    /// First double beyond the 64-bit integers.
    const BEYOND: f64 = 18_446_744_073_709_551_616.0;
    if !number.is_f64() {
        return None;
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < BEYOND)?;
    // The shortest digits, which are those of canonical JSON; the double itself may be a little
    // off.
    let text = Canonical::of(&float)?.text;
    text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from)).ok()
}

/// The text of a whole number whose canonical form is another number.
fn inexact(number: &Number) -> Option<String> {
    /// Every integer up to here is a double.
    const EXACT: u64 = 1 << 53;
    let magnitude = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs))?;
    let rounds = magnitude > EXACT && Canonical::of(&magnitude).is_none_or(|form| form.rounded);
    rounds.then(|| number.to_string())
}

#[cfg(test)]
mod tests;
