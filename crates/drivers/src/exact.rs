//! Exact numbers: parses the JSON of backends without losing digits that a double does not hold.
//!
//! `Value` has no room for such digits, so the text is rewritten before it is parsed: each number
//! that would be rounded becomes a marked string, which survives extraction and wrapping. `settled`
//! turns the marks of an output back into numbers and keeps the digits beside the value.

use std::borrow::Cow;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::LazyLock;

use haft_driver::{ExactNumber, Output};
use haft_model::{JsonFlaw, JsonScope, is_exact_number};
use serde_json::{Number, Value};

/// Random prefix of a marked number. No backend knows it, so none can forge one.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let part = || RandomState::new().build_hasher().finish();
    format!("number-{:016x}{:016x}:", part(), part())
});

/// Parses JSON; numbers that would be rounded are marked.
pub(crate) fn read(text: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(&marked(text, &[]))
}

/// Marks the numbers that would be rounded below a path of keys. Text that is not JSON stays
/// invalid.
pub(crate) fn marked<'t>(text: &'t [u8], below: &[&str]) -> Cow<'t, [u8]> {
    if !may_round(text) {
        return Cow::Borrowed(text);
    }
    let scope = if below.is_empty() { JsonScope::Whole } else { JsonScope::Below(&[below]) };
    match JsonFlaw::within(text, scope) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(with_marks(text, below)),
    }
}

/// Whether a text may hold a number that a double rounds: only one of more than 15 digits or with an
/// exponent is. Most results hold none, and are spared the whole scan.
fn may_round(text: &[u8]) -> bool {
    let mut digits = 0;
    for byte in text {
        match byte {
            b'0'..=b'9' => digits += 1,
            b'e' | b'E' if digits > 0 => return true,
            b'.' => {}
            _ => digits = 0,
        }
        if digits > 15 {
            return true;
        }
    }
    false
}

/// Turns the marks of an output back into numbers, and lists their digits.
pub(crate) fn settled(mut output: Output) -> Output {
    if let Some(value) = output.structured.as_mut().filter(|value| has_mark(value)) {
        settle(value, &mut String::new(), &mut output.exact);
    }
    output
}

/// Whether a value holds a marked number. Most hold none, and are spared the pointers of `settle`.
fn has_mark(value: &Value) -> bool {
    match value {
        Value::String(text) => digits(text).is_some(),
        Value::Array(items) => items.iter().any(has_mark),
        Value::Object(fields) => fields.values().any(has_mark),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Turns marks into rounded numbers and drops the extra digits.
pub(crate) fn rounded(mut value: Value) -> Value {
    settle(&mut value, &mut String::new(), &mut Vec::new());
    value
}

/// The digits of a marked number.
pub(crate) fn digits(text: &str) -> Option<&str> {
    text.strip_prefix(MARK.as_str())
}

fn settle(value: &mut Value, pointer: &mut String, found: &mut Vec<ExactNumber>) {
    let length = pointer.len();
    match value {
        Value::String(text) => {
            let Some(digits) = digits(text).map(str::to_owned) else { return };
            let double = digits.parse().ok().and_then(Number::from_f64);
            // A number that no double approximates stays a text.
            *value = double.map_or_else(|| Value::String(digits.clone()), Value::Number);
            found.push(ExactNumber { pointer: pointer.clone(), digits });
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                pointer.push_str(&format!("/{index}"));
                settle(item, pointer, found);
                pointer.truncate(length);
            }
        }
        Value::Object(fields) => {
            for (name, item) in fields {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                settle(item, pointer, found);
                pointer.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A position in a JSON text.
#[derive(Default)]
struct JsonPosition<'t> {
    /// The enclosing containers: the current key of an object, `None` for an array.
    around: Vec<Option<&'t [u8]>>,
    /// Whether the next string of the innermost object is a key.
    key_next: bool,
}

impl<'t> JsonPosition<'t> {
    fn pass(&mut self, byte: u8) {
        match byte {
            b'{' => {
                self.around.push(Some(&[]));
                self.key_next = true;
            }
            b'[' => {
                self.around.push(None);
                self.key_next = false;
            }
            b'}' | b']' => {
                self.around.pop();
                self.key_next = false;
            }
            b',' => self.key_next = matches!(self.around.last(), Some(Some(_))),
            b':' => self.key_next = false,
            _ => {}
        }
    }

    fn pass_string(&mut self, inside: &'t [u8]) {
        if let (true, Some(Some(key))) = (self.key_next, self.around.last_mut()) {
            *key = inside;
        }
    }

    fn is_below(&self, keys: &[&str]) -> bool {
        let fits = |(key, around): (&&str, &Option<&[u8]>)| *around == Some(key.as_bytes());
        self.around.len() >= keys.len() && keys.iter().zip(&self.around).all(fits)
    }
}

fn with_marks(text: &[u8], below: &[&str]) -> Vec<u8> {
    let mut marked = Vec::with_capacity(text.len());
    let (mut rest, mut place) = (text, JsonPosition::default());
    while let Some(&byte) = rest.first() {
        let length = match byte {
            b'"' => string_length(rest),
            b'-' | b'0'..=b'9' => number_length(rest),
            _ => 1,
        };
        let (token, after) = rest.split_at(length.clamp(1, rest.len()));
        rest = after;
        match byte {
            b'"' => place.pass_string(token.get(1..token.len().max(2) - 1).unwrap_or_default()),
            b'-' | b'0'..=b'9' if !is_kept(token) && place.is_below(below) => {
                marked.push(b'"');
                marked.extend_from_slice(MARK.as_bytes());
                marked.extend_from_slice(token);
                marked.push(b'"');
                continue;
            }
            other => place.pass(other),
        }
        marked.extend_from_slice(token);
    }
    marked
}

/// The length of a string with its quotes, in bytes.
fn string_length(text: &[u8]) -> usize {
    let mut escaped = false;
    let end = text.iter().skip(1).position(|byte| match byte {
        _ if escaped => {
            escaped = false;
            false
        }
        b'\\' => {
            escaped = true;
            false
        }
        byte => *byte == b'"',
    });
    end.map_or(text.len(), |end| end + 2)
}

fn number_length(text: &[u8]) -> usize {
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    text.iter().take_while(|byte| is_part(byte)).count()
}

/// Whether a `Value` keeps all digits of a number, or the text is not a number.
fn is_kept(number: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(number) else { return true };
    let whole = text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok();
    // Text that is not a number is left to the parser, which reports it.
    whole || is_exact_number(number) || !is_number(text)
}

/// Whether a text is a JSON number, however large.
fn is_number(text: &str) -> bool {
    let plain = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = plain.split_at(plain.find(['e', 'E']).unwrap_or(plain.len()));
    let (whole, fraction) = mantissa.split_at(mantissa.find('.').unwrap_or(mantissa.len()));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let exponent = exponent.get(1..).map(|power| power.strip_prefix(['+', '-']).unwrap_or(power));
    digits(whole)
        && (whole.len() == 1 || !whole.starts_with('0'))
        && fraction.strip_prefix('.').is_none_or(digits)
        && exponent.is_none_or(digits)
}

#[cfg(test)]
mod tests;
