//! Redaction: removes sensitive values from results, wherever they recur, in plain text or encoded.

use std::borrow::Cow;

use haft_model::{Code, Progress, Secret, Stop, cleaned};
use serde_json::{Map, Value};

mod encoded;
mod escaped;
mod percent;
mod pieces;

/// Placeholder for a redacted value.
pub(crate) const WITHHELD: &str = "[withheld]";

/// Minimum length in bytes of a value that is redacted everywhere; shorter ones recur by chance, so
/// only their own field is redacted.
const SHORTEST: usize = 4;

/// Minimum length in bytes of a text inside a JSON secret.
const SHORTEST_PART: usize = 8;

/// Sensitive values of one call, and the JSON pointers of its sensitive fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct Redactor {
    pointers: Vec<String>,
    values: Vec<Secret>,
}

impl Redactor {
    /// A redactor for these sensitive fields, without values yet.
    pub(crate) fn new(pointers: &[String]) -> Redactor {
        Redactor { pointers: pointers.to_vec(), values: Vec::new() }
    }

    /// Collects the values of the sensitive fields.
    pub(crate) fn learn(&mut self, value: &Value) {
        for pointer in &self.pointers {
            if let Some(found) = value.pointer(pointer) {
                leaves(found, &mut self.values);
            }
        }
        self.in_order();
    }

    /// Adds a secret in every encoding in which a backend may return it.
    pub(crate) fn hide(&mut self, secret: &Secret) {
        self.values.extend(forms(secret));
        self.in_order();
    }

    /// Sorts the longest first, so that a value inside another leaves no remains.
    fn in_order(&mut self) {
        self.values.sort_by_key(|text| std::cmp::Reverse(text.expose().len()));
        self.values.dedup();
    }

    /// Collects the sensitive values of another call, to redact wherever they recur.
    pub(crate) fn learn_of_another(&mut self, pointers: &[String], value: &Value) {
        let mut other = Redactor::new(pointers);
        other.learn(value);
        self.values.append(&mut other.values);
        self.in_order();
    }

    /// Returns true if there is nothing to redact.
    pub(crate) fn is_idle(&self) -> bool {
        self.values.is_empty() && self.pointers.is_empty()
    }

    /// Redacts a text and returns the number of redactions.
    ///
    /// Invisible and control characters are removed as well, and the rest is searched again: no
    /// character splits a secret to hide it.
    pub(crate) fn text(&self, text: &str) -> (String, u64) {
        let (taken, count) = self.taken_out(text);
        match cleaned(&taken) {
            Cow::Owned(clean) => {
                let (clean, more) = self.taken_out(&clean);
                (clean, count + more)
            }
            Cow::Borrowed(_) => (taken, count),
        }
    }

    fn taken_out(&self, text: &str) -> (String, u64) {
        let mut clean = text.to_owned();
        let mut count = 0;
        for value in &self.values {
            let found = clean.matches(value.expose()).count() as u64;
            if found > 0 {
                clean = clean.replace(value.expose(), WITHHELD);
                count += found;
            }
            if let Some((without, found)) = percent::without(&clean, value.expose()) {
                clean = without;
                count += found;
            }
        }
        (clean, count)
    }

    /// Redacts a progress report and clamps its percentage to 0–100.
    pub(crate) fn progress(&self, said: Progress) -> Progress {
        let percent = said.percent.filter(|percent| percent.is_finite());
        Progress {
            percent: percent.map(|percent| percent.clamp(0.0, 100.0)),
            message: said.message.map(|message| self.text(&message).0),
            current_step: said.current_step.map(|step| self.text(&step).0),
            ..said
        }
    }

    /// Redacts the sensitive fields of a value and every sensitive text in it; returns the count.
    pub(crate) fn value(&self, value: &mut Value) -> u64 {
        let mut count = 0;
        for pointer in &self.pointers {
            if let Some(found) = value.pointer_mut(pointer) {
                *found = Value::String(WITHHELD.to_owned());
                count += 1;
            }
        }
        count + self.everywhere(value)
    }

    /// Redacts sensitive texts anywhere in a value, without its sensitive fields; returns the
    /// count.
    pub(crate) fn everywhere(&self, value: &mut Value) -> u64 {
        match value {
            Value::String(text) => {
                let (clean, count) = self.text(text);
                if count > 0 {
                    *text = clean;
                }
                count
            }
            Value::Array(items) => items.iter_mut().map(|item| self.everywhere(item)).sum(),
            Value::Object(fields) => {
                let inside: u64 = fields.values_mut().map(|item| self.everywhere(item)).sum();
                inside + self.names(fields)
            }
            Value::Number(number) => {
                let number = number.to_string();
                let hidden = self.values.iter().any(|value| value.expose() == number);
                if hidden {
                    *value = Value::String(WITHHELD.to_owned());
                }
                u64::from(hidden)
            }
            Value::Null | Value::Bool(_) => 0,
        }
    }

    /// Redacts the names of fields; returns the count.
    fn names(&self, fields: &mut Map<String, Value>) -> u64 {
        let hidden = |name: &String| {
            let holds = |value: &Secret| {
                name.contains(value.expose()) || percent::holds(name, value.expose())
            };
            self.values.iter().any(holds)
        };
        if !fields.keys().any(hidden) {
            return 0;
        }
        let mut count = 0;
        let cleaned = std::mem::take(fields).into_iter().map(|(name, value)| {
            let (clean, found) = self.text(&name);
            count += found;
            (clean, value)
        });
        *fields = cleaned.collect();
        count
    }

    /// Redacts a refusal: message, help, cause and rejected drivers.
    pub(crate) fn stop(&self, mut stop: Stop) -> Stop {
        stop.message = self.text(&stop.message).0;
        stop.help = stop.help.map(|help| self.text(&help).0);
        if self.is_idle() {
            return stop;
        }
        if stop.field.as_ref().is_some_and(|field| self.covers(field)) {
            let field = stop.field.clone().unwrap_or_default();
            stop.message =
                format!("the value at `{field}` does not fit; it is sensitive and not shown");
        }
        stop.cause.edit(|cause| self.cause(cause));
        for rejected in &mut stop.rejected {
            rejected.reason = self.text(&rejected.reason).0.into();
        }
        stop
    }

    /// Redacts a cause. It stays JSON here: a driver's own shape of violations is withheld as well.
    fn cause(&self, cause: &mut Value) {
        let violations = cause.get_mut("violations").and_then(Value::as_array_mut);
        for violation in violations.into_iter().flatten() {
            let place = violation.get("pointer").and_then(Value::as_str).unwrap_or_default();
            if self.covers(place) {
                *violation = serde_json::json!({ "pointer": place, "message": WITHHELD });
            }
        }
        self.everywhere(cause);
    }

    /// Returns true if a pointer holds, or lies inside, a sensitive field.
    fn covers(&self, place: &str) -> bool {
        self.pointers.iter().any(|pointer| overlap(place, pointer))
    }
}

/// Returns true if two JSON pointers are equal or one lies inside the other.
pub(crate) fn overlap(one: &str, other: &str) -> bool {
    let inside = |a: &str, b: &str| {
        a.strip_prefix(b).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    inside(one, other) || inside(other, one)
}

fn leaves(value: &Value, found: &mut Vec<Secret>) {
    match value {
        Value::String(text) if text.len() >= SHORTEST => found.extend(plain(text)),
        Value::Number(number) if number.to_string().len() >= SHORTEST => {
            found.push(Secret::new(number.to_string()));
        }
        Value::Array(items) => items.iter().for_each(|item| leaves(item, found)),
        Value::Object(fields) => fields.values().for_each(|item| leaves(item, found)),
        Value::String(_) | Value::Number(_) | Value::Null | Value::Bool(_) => {}
    }
}

/// A text, and its forms when escaped inside a JSON string.
fn plain(text: &str) -> Vec<Secret> {
    let written = escaped::all(text).into_iter().map(Secret::new);
    std::iter::once(Secret::new(text.to_owned())).chain(written).collect()
}

/// A secret in every form in which backends return it.
fn forms(secret: &Secret) -> Vec<Secret> {
    let text = secret.expose();
    if text.len() < SHORTEST {
        return Vec::new();
    }
    let mut forms = plain(text);
    forms.extend(encoded::all(text));
    for part in parts(text) {
        forms.extend(encoded::all(part.expose()));
        forms.push(part);
    }
    forms
}

/// The strings and numbers inside a JSON secret, since each may come back alone. Short ones are
/// left out, because they recur by chance.
fn parts(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    if let Ok(whole @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
        leaves(&whole, &mut found);
    }
    found.retain(|part| part.expose().len() >= SHORTEST_PART);
    found
}

/// Restores redacted values in an edited input, where they stood. A placeholder elsewhere is an
/// error.
pub(crate) fn put_back(edited: &mut Value, shown: &Value, original: &Value) -> Result<(), Stop> {
    restore(edited, shown, Some(original));
    match holds_withheld(edited) {
        false => Ok(()),
        true => Err(Stop::new(
            Code::InputValue,
            format!("`{WITHHELD}` stands where no value was withheld"),
        )
        .help("write the value itself, or leave the field as it was shown")),
    }
}

/// Returns true if a value contains the placeholder.
pub(crate) fn holds_withheld(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(WITHHELD),
        Value::Array(items) => items.iter().any(holds_withheld),
        Value::Object(fields) => fields.values().any(holds_withheld),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn restore(edited: &mut Value, shown: &Value, original: Option<&Value>) {
    let Some(original) = original else { return };
    match (edited, shown) {
        (Value::Object(edited), Value::Object(shown)) => {
            for (name, value) in edited {
                if let Some(shown) = shown.get(name) {
                    restore(value, shown, original.get(name));
                }
            }
        }
        (Value::Array(edited), Value::Array(shown)) => {
            for (index, (value, shown)) in edited.iter_mut().zip(shown).enumerate() {
                restore(value, shown, original.get(index));
            }
        }
        // A partly redacted text is restored only if it is unchanged.
        (edited, shown) if *edited == *shown && *edited != *original => *edited = original.clone(),
        (_, _) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redactor() -> Redactor {
        let mut redactor = Redactor::new(&["/card".into(), "/pin".into()]);
        redactor.learn(&json!({"card": {"number": "4111-canary"}, "pin": 12, "amount": 5}));
        redactor
    }

    #[test]
    fn sensitive_value_is_redacted_wherever_it_appears() {
        let mut value = json!({"card": 1, "pin": 12, "note": "paid with 4111-canary", "n": [5]});
        let count = redactor().value(&mut value);
        assert_eq!(
            (value, count),
            (
                json!({"card": WITHHELD, "pin": WITHHELD, "note": "paid with [withheld]", "n": [5]}),
                3
            )
        );
    }

    #[test]
    fn what_was_withheld_comes_back_only_where_it_stood() {
        let original = json!({"card": {"number": "4111"}, "amount": 5, "keys": ["a", "b"]});
        let shown = json!({"card": WITHHELD, "amount": 5, "keys": [WITHHELD, "b"]});
        let mut edited = json!({"card": WITHHELD, "amount": 6, "keys": [WITHHELD, "c"]});
        assert_eq!(put_back(&mut edited, &shown, &original), Ok(()));
        assert_eq!(edited, json!({"card": {"number": "4111"}, "amount": 6, "keys": ["a", "c"]}));
        for misplaced in [json!({"amount": WITHHELD}), json!({"note": "for [withheld], again"})] {
            let mut misplaced = misplaced;
            assert!(put_back(&mut misplaced, &shown, &original).is_err(), "{misplaced}");
        }
    }

    #[test]
    fn error_at_sensitive_pointer_omits_its_value() {
        let stop = Stop::new(Code::InputSchema, "the input does not fit at `/pin`: 12 is odd")
            .at("/pin")
            .because(
                json!({"violations": [{"pointer": "/pin", "message": "12 is odd", "value": 12}]}),
            );
        let clean = redactor().stop(stop);
        assert_eq!(
            clean.message,
            "the value at `/pin` does not fit; it is sensitive and not shown"
        );
        assert_eq!(clean.cause, json!({"violations": [{"pointer": "/pin", "message": WITHHELD}]}));
    }
}
