//! Call input from the command line: `key=value` words and `--input` become one JSON object.

use std::collections::HashSet;
use std::fmt;
use std::fs;

use haft_model::{Call, DriverId, JsonFlaw, JsonFlawKind};
use serde_json::{Map, Value};

/// A usage error of the command line.
#[derive(Debug)]
pub(crate) struct Misuse(pub(crate) String);

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misuse {}

impl From<JsonFlaw> for Misuse {
    fn from(flaw: JsonFlaw) -> Misuse {
        let help = flaw.stop().help.unwrap_or_default();
        Misuse(format!("{flaw}; {help}"))
    }
}

/// What a caller may ask of a call beside its input.
#[derive(clap::Args)]
pub(crate) struct Wishes {
    /// The driver to insist on.
    #[arg(long, value_name = "DRIVER")]
    pin: Option<String>,
    /// A region the call must stay in.
    #[arg(long)]
    region: Vec<String>,
    /// What the host adds, as JSON or `@FILE`.
    #[arg(long, value_name = "JSON|@FILE")]
    context: Option<String>,
}

impl Wishes {
    /// Puts them into a call.
    pub(crate) fn apply(&self, call: &mut Call) -> Result<(), Misuse> {
        call.pinned = self.pin.as_deref().map(DriverId::from);
        call.region.clone_from(&self.region);
        if let Some(given) = &self.context {
            call.context = exact_json_or_file(given)?;
        }
        Ok(())
    }
}

/// The input of a call, in either of its spellings.
#[derive(clap::Args)]
pub(crate) struct Input {
    /// Arguments, each `key=value`.
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) words: Vec<String>,
    /// The whole input as JSON, or `@FILE`.
    #[arg(long, value_name = "JSON|@FILE", conflicts_with = "words")]
    pub(crate) input: Option<String>,
}

impl Input {
    /// The text of `--input`, byte for byte, if it was given.
    pub(crate) fn sent(&self) -> Result<Option<String>, Misuse> {
        self.input.as_deref().map(text_or_file).transpose()
    }

    /// The flaw of the input's text, which its parsed value no longer shows.
    pub(crate) fn flaw(&self, schema: &Value) -> Result<Option<JsonFlaw>, Misuse> {
        if let Some(text) = self.sent()? {
            return Ok(JsonFlaw::in_text(text));
        }
        let mut keys = HashSet::new();
        Ok(self.words.iter().filter_map(|word| word.split_once('=')).find_map(|(key, value)| {
            if !keys.insert(key) {
                let kind = JsonFlawKind::DuplicateKey(key.to_owned());
                return Some(JsonFlaw { pointer: String::new(), kind }.inside(key));
            }
            let property = schema.pointer(&format!("/properties/{key}"));
            Some(typed_flaw(value, property)?.inside(key))
        }))
    }

    /// The input as JSON, if one was given. The contract's schema says whether `5` is a number.
    pub(crate) fn read(&self, schema: &Value) -> Result<Option<Value>, Misuse> {
        if let Some(input) = &self.input {
            return json_or_file(input).map(Some);
        }
        if self.words.is_empty() {
            return Ok(None);
        }
        let mut fields = Map::new();
        for word in &self.words {
            let Some((key, value)) = word.split_once('=') else {
                let help = "use `--input` for a whole JSON object";
                return Err(Misuse(format!("`{word}` is not `key=value`; {help}")));
            };
            fields.insert(
                key.to_owned(),
                typed(value, schema.pointer(&format!("/properties/{key}"))),
            );
        }
        Ok(Some(Value::Object(fields)))
    }
}

/// JSON given on the command line, or the file behind an `@`, in which every number and every key arrives
/// as it was written.
pub(crate) fn exact_json_or_file(text: &str) -> Result<Value, Misuse> {
    match JsonFlaw::in_text(text_or_file(text)?) {
        Some(flaw) => Err(Misuse::from(flaw)),
        None => json_or_file(text),
    }
}

fn json_or_file(text: &str) -> Result<Value, Misuse> {
    let text = text_or_file(text)?;
    serde_json::from_str(&text)
        .map_err(|cause| Misuse(format!("`{}` is not JSON: {cause}", text.trim())))
}

fn text_or_file(text: &str) -> Result<String, Misuse> {
    match text.strip_prefix('@') {
        Some(file) => fs::read_to_string(file)
            .map_err(|cause| Misuse(format!("cannot read `{file}`: {cause}"))),
        None => Ok(text.to_owned()),
    }
}

/// The flaw of a text that is read as JSON; a text that stays text may say anything.
pub(crate) fn typed_flaw(value: &str, property: Option<&Value>) -> Option<JsonFlaw> {
    let is_json = !wants_text(property) && serde_json::from_str::<Value>(value).is_ok();
    is_json.then(|| JsonFlaw::in_text(value)).flatten()
}

fn wants_text(property: Option<&Value>) -> bool {
    let kind = property.and_then(|property| property.get("type"));
    kind.and_then(Value::as_str) == Some("string")
}

/// Text stays text where the schema wants text; elsewhere JSON is tried first.
pub(crate) fn typed(value: &str, property: Option<&Value>) -> Value {
    if wants_text(property) {
        return Value::String(value.to_owned());
    }
    serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_become_what_the_schema_wants() {
        let input = Input {
            words: ["amount=5", "card=4242", "deep={\"a\":1}", "note=a=b"]
                .map(str::to_owned)
                .into(),
            input: None,
        };
        let schema =
            json!({"properties": {"card": {"type": "string"}, "amount": {"type": "integer"}}});
        assert_eq!(
            input.read(&schema).unwrap(),
            Some(json!({"amount": 5, "card": "4242", "deep": {"a": 1}, "note": "a=b"}))
        );
    }

    #[test]
    fn a_word_without_an_equals_sign_is_refused() {
        let input = Input { words: vec!["amount".into()], input: None };
        assert!(input.read(&json!({})).is_err());
    }
}
