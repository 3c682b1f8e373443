//! Schema losses: lists every part of a source schema that the contract does not keep.
//!
//! No drop site lists its own loss. The written schema is compared with the source, so that a
//! keyword which is forgotten tomorrow is listed tomorrow.

use std::collections::BTreeSet;

use haft_notation::keywords::{Holds, below, holds};
use serde_json::{Map, Value, json};

use super::{DIALECT, Dialect, Side};

/// A part of a schema that was not kept, or not as it was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Loss {
    /// The position: a JSON pointer into the schema, or behind a `#` into the document.
    pub(crate) pointer: String,
    /// Why it is not kept.
    pub(crate) why: String,
}

/// The losses so far, and the current position.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// The position of the schema that is being written.
    pub(super) place: String,
    found: BTreeSet<Loss>,
}

impl Losses {
    /// Notes something below the schema that is being written.
    pub(super) fn add(&mut self, step: &str, why: &str) {
        let pointer = if step.is_empty() { self.place.clone() } else { below(&self.place, step) };
        self.found.insert(Loss { pointer, why: why.to_owned() });
    }

    /// The same one step further down.
    pub(super) fn add_in(&mut self, word: &str, step: &str, why: &str) {
        let pointer = below(&below(&self.place, word), step);
        self.found.insert(Loss { pointer, why: why.to_owned() });
    }

    /// Everything, each part once.
    pub(super) fn all(self) -> Vec<Loss> {
        self.found.into_iter().collect()
    }

    /// Holds a schema as it was written against what was read.
    pub(super) fn compare(
        &mut self,
        read: &Map<String, Value>,
        written: &Map<String, Value>,
        (dialect, side): (Dialect, Side),
    ) {
        for (word, value) in read {
            let kept = written.get(word);
            let why = match (word.as_str(), holds(word)) {
                ("nullable", _) if dialect == Dialect::Old && value.is_boolean() => None,
                ("exclusiveMinimum" | "exclusiveMaximum", _) if value.is_boolean() => {
                    flag(value, kept)
                }
                ("minimum", _) if moved(value, read, written, "exclusiveMinimum") => None,
                ("maximum", _) if moved(value, read, written, "exclusiveMaximum") => None,
                ("example", _) => shown(value, written),
                ("examples", _) => examples(value, written),
                ("discriminator", _) => discriminator(read, side),
                ("$schema", _) => self.dialect(value),
                // Where they are referred to they are kept; the others are found in the end.
                (_, Holds::Definitions) => None,
                (_, Holds::Nothing) => differs(value, kept),
                // What stands below was compared when it was written.
                (_, _) if kept.is_some() => None,
                (_, _) => Some("it holds no schema"),
            };
            if let Some(why) = why {
                self.add(word, why);
            }
        }
    }

    /// Holds what stands beside a reference against what was written in its place.
    pub(super) fn compare_beside(
        &mut self,
        read: &Map<String, Value>,
        written: &Value,
        dialect: Dialect,
    ) {
        for (word, value) in read.iter().filter(|(word, _)| *word != "$ref") {
            let kept = word == "description" && dialect != Dialect::Old;
            let why = match dialect {
                Dialect::Old => Some("beside a reference it means nothing in OpenAPI 3.0"),
                _ if holds(word) == Holds::Definitions => None,
                _ if word == "$schema" => self.dialect(value),
                _ if kept => differs(value, written.get(word)),
                Dialect::New | Dialect::Complete => Some("it stands beside a reference"),
            };
            if let Some(why) = why {
                self.add(word, why);
            }
        }
    }

    /// A contract says which dialect it is in only at its top.
    fn dialect(&self, value: &Value) -> Option<&'static str> {
        let kept = value == DIALECT && self.place.is_empty();
        (!kept).then_some("contracts are written in JSON Schema 2020-12")
    }
}

/// Whether a bound stands under another word because a flag beside it says so.
fn moved(
    value: &Value,
    read: &Map<String, Value>,
    written: &Map<String, Value>,
    word: &str,
) -> bool {
    read.get(word) == Some(&Value::Bool(true)) && written.get(word) == Some(value)
}

/// A bound that is a flag is a number now; one that is off says nothing.
fn flag(value: &Value, kept: Option<&Value>) -> Option<&'static str> {
    let told = value == &Value::Bool(false) || kept.is_some_and(Value::is_number);
    (!told).then_some("it has no bound beside it")
}

fn shown(value: &Value, written: &Map<String, Value>) -> Option<&'static str> {
    let kept = written.get("examples") == Some(&json!([value]));
    (!kept).then_some("only a short text or a number is kept as an example")
}

fn examples(value: &Value, written: &Map<String, Value>) -> Option<&'static str> {
    let kept = written.get("examples") == Some(value);
    (!kept).then_some("of examples only the first is kept, and only a short text or a number")
}

/// A discriminator is told by each branch; where there are none to tell apart, by none.
fn discriminator(read: &Map<String, Value>, side: Side) -> Option<&'static str> {
    let named = read.get("discriminator").and_then(|one| one.get("propertyName"));
    let branches = ["oneOf", "anyOf"].iter().filter_map(|word| read.get(*word)?.as_array());
    let told = side == Side::Input
        && named.is_some_and(Value::is_string)
        && branches.flatten().any(|branch| super::reference(branch).is_some());
    (!told).then_some("JSON Schema has no discriminators")
}

/// Whether something else was written than was read. A count may be another spelling of itself.
fn differs(read: &Value, kept: Option<&Value>) -> Option<&'static str> {
    let Some(kept) = kept else { return Some("a contract cannot hold it") };
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    let same = match (read, kept) {
        (Value::String(read), Value::String(kept)) => plain(read) == plain(kept),
        (Value::Number(read), Value::Number(kept)) => read.as_f64() == kept.as_f64(),
        (read, kept) => read == kept,
    };
    (!same).then_some("only a part of it is kept")
}
