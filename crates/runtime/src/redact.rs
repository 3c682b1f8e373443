//! Redaction: removes sensitive values from results, wherever they recur, in plain text or encoded.

use std::borrow::Cow;

use haft_model::{Code, Content, Link, Progress, Secret, Stop, cleaned};
use serde_json::{Map, Value};

mod encoded;
mod escaped;
mod percent;

/// What stands in for a value that was taken out.
pub(crate) const WITHHELD: &str = "[withheld]";

/// Texts shorter than this turn up everywhere, so only their own place is cleaned.
const SHORTEST: usize = 4;

/// The same for a text inside a secret.
const SHORTEST_PART: usize = 8;

/// The sensitive values of one call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Redactor {
    pointers: Vec<String>,
    values: Vec<Secret>,
}

impl Redactor {
    /// Nothing to hide yet, at these places.
    pub(crate) fn new(pointers: &[String]) -> Redactor {
        Redactor { pointers: pointers.to_vec(), values: Vec::new() }
    }

    /// Remembers what stands at the sensitive places of a value.
    pub(crate) fn learn(&mut self, value: &Value) {
        for pointer in &self.pointers {
            if let Some(found) = value.pointer(pointer) {
                leaves(found, &mut self.values);
            }
        }
        self.in_order();
    }

    /// Remembers a secret, in every form in which it may come back.
    pub(crate) fn hide(&mut self, secret: &Secret) {
        self.values.extend(forms(secret));
        self.in_order();
    }

    /// The longest first, so that a value inside another leaves no remains.
    fn in_order(&mut self) {
        self.values.sort_by_key(|text| std::cmp::Reverse(text.expose().len()));
        self.values.dedup();
    }

    /// Remembers what stands at the sensitive places of another call's value, wherever it turns up.
    pub(crate) fn learn_of_another(&mut self, pointers: &[String], value: &Value) {
        let mut other = Redactor::new(pointers);
        other.learn(value);
        self.values.append(&mut other.values);
        self.in_order();
    }

    /// Whether there is anything to hide.
    pub(crate) fn is_idle(&self) -> bool {
        self.values.is_empty() && self.pointers.is_empty()
    }

    /// A text without sensitive values, and how many were taken out.
    ///
    /// What hides or steers is gone as well, and the rest is looked at again then: nothing hides
    /// between the letters of a secret.
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

    /// A report without sensitive values, and with a percentage that can be written down.
    pub(crate) fn progress(&self, said: Progress) -> Progress {
        let percent = said.percent.filter(|percent| percent.is_finite());
        Progress {
            percent: percent.map(|percent| percent.clamp(0.0, 100.0)),
            message: said.message.map(|message| self.text(&message).0),
            current_step: said.current_step.map(|step| self.text(&step).0),
            ..said
        }
    }

    /// A value with its sensitive places emptied and sensitive texts taken out.
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

    /// A value with sensitive texts taken out wherever they stand, its own places left alone.
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

    /// Fields whose very names hold something sensitive.
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

    /// A link with sensitive texts taken out.
    pub(crate) fn link(&self, link: &mut Link) -> u64 {
        let (clean, count) = self.text(&link.uri);
        link.uri = clean;
        let name = link.name.as_ref().map(|name| self.text(name));
        let more = name.as_ref().map_or(0, |(_, count)| *count);
        link.name = name.map(|(clean, _)| clean);
        count + more
    }

    /// Pieces of a result with sensitive texts taken out.
    pub(crate) fn content(&self, pieces: &mut [Content]) -> u64 {
        pieces.iter_mut().map(|piece| self.piece(piece)).sum()
    }

    fn piece(&self, piece: &mut Content) -> u64 {
        match piece {
            Content::Text { text }
            | Content::EmbeddedResource { text, .. }
            | Content::Log { text, .. }
            | Content::Diff { text, .. } => {
                let (clean, count) = self.text(text);
                *text = clean;
                count
            }
            Content::StructuredContent { data } => self.everywhere(data),
            Content::ResourceLink(link)
            | Content::ArtifactRef(link)
            | Content::PersistedOutputRef(link)
            | Content::HandoffRef(link) => self.link(link),
            Content::Image(_) | Content::Audio(_) | Content::Video(_) | Content::File(_) => 0,
        }
    }

    /// A refusal that repeats nothing sensitive.
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
        if let Some(violations) = stop.cause.get_mut("violations").and_then(Value::as_array_mut) {
            for violation in violations {
                let place = violation.get("pointer").and_then(Value::as_str).unwrap_or_default();
                let place = place.to_owned();
                if self.covers(&place) {
                    *violation = serde_json::json!({ "pointer": place, "message": WITHHELD });
                }
            }
        }
        self.everywhere(&mut stop.cause);
        for rejected in &mut stop.rejected {
            rejected.reason = self.text(&rejected.reason).0.into();
        }
        stop
    }

    /// Whether a place holds, or lies inside, something sensitive.
    fn covers(&self, place: &str) -> bool {
        self.pointers.iter().any(|pointer| overlap(place, pointer))
    }
}

/// Whether one of two places, as JSON pointers, lies inside the other or is the same.
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

/// A text, and the same text inside JSON that was written as text.
fn plain(text: &str) -> Vec<Secret> {
    let written = escaped::all(text).into_iter().map(Secret::new);
    std::iter::once(Secret::new(text.to_owned())).chain(written).collect()
}

/// A secret as it is, and as backends tend to repeat it.
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

/// The texts inside a secret that is JSON, since each may come back by itself. Short ones say what
/// kind of thing they stand beside, and turn up everywhere.
fn parts(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    if let Ok(whole @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
        leaves(&whole, &mut found);
    }
    found.retain(|part| part.expose().len() >= SHORTEST_PART);
    found
}

/// Puts the values that were withheld back into an input that somebody changed, where they stood.
/// What is left over stands where nothing was withheld, and that is a mistake.
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

/// Whether something in a value stands for what nobody may see.
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
        // A text with something withheld in it comes back only whole, as it was shown.
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
