//! Schemas of the document as JSON Schema 2020-12, complete in themselves.
//!
//! A schema that is used once is written where it is used. One that is used several times, or that
//! leads back to itself, stands under `$defs` and is referred to.

mod cut;
mod keyword;
mod polymorphism;
mod root;
mod uses;

use std::collections::HashMap;

use haft_notation::keywords::{Holds, holds};
use serde_json::{Map, Value, json};

pub(crate) use root::{Dialect, Root, reference};
use uses::Uses;

/// How JSON Schema 2020-12 calls itself.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// How deep schemas are followed; nothing that people write comes near.
const DEEPEST: usize = 100;

/// Which way the values go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Input,
    Output,
}

/// A schema by itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shaped {
    pub(crate) schema: Value,
    /// What it refers to, by name.
    pub(crate) definitions: Map<String, Value>,
    /// References that lead nowhere.
    pub(crate) lost: Vec<String>,
}

/// Takes one schema out of its document.
pub(crate) fn shaped<'d>(root: &Root<'d>, raw: &'d Value, side: Side) -> Shaped {
    let mut shaper = Shaper::new(root, side, &[raw]);
    let schema = shaper.outermost(raw);
    shaper.finish(schema)
}

impl Shaped {
    /// The same for one that says which dialect it is in, where that is the one that it is written in.
    pub(crate) fn whole_of(self, raw: &Value) -> Value {
        let stated = raw.get("$schema").filter(|stated| *stated == DIALECT).cloned();
        match (self.whole(), stated) {
            (Value::Object(fields), Some(stated)) => {
                let said = [("$schema".to_owned(), stated)];
                Value::Object(said.into_iter().chain(fields).collect())
            }
            (schema, _) => schema,
        }
    }

    /// The schema with its definitions inside.
    pub(crate) fn whole(self) -> Value {
        let Value::Object(mut fields) = self.schema else { return self.schema };
        if !self.definitions.is_empty() {
            fields.insert("$defs".to_owned(), Value::Object(self.definitions));
        }
        Value::Object(fields)
    }
}

/// Takes schemas out of the document that share their definitions.
pub(crate) struct Shaper<'a, 'd> {
    root: &'a Root<'d>,
    side: Side,
    uses: Uses<'a, 'd>,
    /// References and the names that they have under `$defs`.
    names: HashMap<&'d str, String>,
    /// Definitions that are referred to and not written yet.
    open: Vec<(String, &'d Value)>,
    definitions: Map<String, Value>,
    lost: Vec<String>,
}

impl<'a, 'd> Shaper<'a, 'd> {
    /// A shaper for these schemas.
    pub(crate) fn new(root: &'a Root<'d>, side: Side, all: &[&'d Value]) -> Self {
        let mut uses = Uses::new(root);
        all.iter().for_each(|raw| uses.count(raw, 0));
        let (names, definitions) = (HashMap::new(), Map::new());
        Shaper { root, side, uses, names, open: Vec::new(), definitions, lost: Vec::new() }
    }

    /// A schema that is written out even where it is a reference, since it has to say what it is.
    pub(crate) fn outermost(&mut self, raw: &'d Value) -> Value {
        match self.root.resolved(raw) {
            Some(found) => self.written(found, 0),
            None => self.schema(raw, 0),
        }
    }

    /// A schema together with everything that it refers to.
    pub(crate) fn finish(mut self, schema: Value) -> Shaped {
        self.define();
        cut::to_size(Shaped { schema, definitions: self.definitions, lost: self.lost })
    }

    /// What is defined so far, everything that is referred to included.
    pub(crate) fn define(&mut self) -> &Map<String, Value> {
        while let Some((name, found)) = self.open.pop() {
            let schema = self.schema(found, 0);
            self.definitions.insert(name, schema);
        }
        &self.definitions
    }

    pub(crate) fn schema(&mut self, raw: &'d Value, depth: usize) -> Value {
        match reference(raw) {
            _ if depth > DEEPEST => json!({}),
            Some(target) => self.referred(raw, target, depth),
            None => self.written(raw, depth),
        }
    }

    fn referred(&mut self, raw: &'d Value, target: &'d str, depth: usize) -> Value {
        let Some(found) = self.root.target(target) else {
            self.lost.push(target.to_owned());
            return json!({});
        };
        let mut out = if self.uses.stays(target) {
            json!({ "$ref": format!("#/$defs/{}", self.defined(target, found)) })
        } else {
            self.schema(found, depth + 1)
        };
        // 3.1 lets words stand beside a reference; in 3.0 they mean nothing.
        let beside = raw.get("description").filter(|_| self.root.dialect != Dialect::Old);
        if let (Some(Value::String(words)), Some(fields)) = (beside, out.as_object_mut()) {
            fields.insert("description".to_owned(), crate::text::prose(words, 1000).into());
        }
        out
    }

    /// The name under which what a reference leads to is defined.
    fn defined(&mut self, target: &'d str, found: &'d Value) -> String {
        if let Some(name) = self.names.get(target) {
            return name.clone();
        }
        let last = target.rsplit('/').next().unwrap_or_default();
        let wanted = crate::text::input_name(last);
        let numbered = (2u32..).map(|number| format!("{wanted}-{number}"));
        let mut names = std::iter::once(wanted.clone()).chain(numbered);
        let free = names.find(|name| !self.definitions.contains_key(name)).unwrap_or(wanted);
        self.names.insert(target, free.clone());
        self.definitions.insert(free.clone(), Value::Null);
        self.open.push((free.clone(), found));
        free
    }

    fn written(&mut self, raw: &'d Value, depth: usize) -> Value {
        let Value::Object(fields) = raw else {
            // Only `false` says something that `{}` does not.
            return if raw == &Value::Bool(false) { json!(false) } else { json!({}) };
        };
        let mut out = keyword::plain(fields);
        if self.root.dialect == Dialect::Complete {
            out.extend(keyword::marks(fields));
        }
        for (word, value) in fields {
            if let Some(value) = self.nested(word, value, depth) {
                out.insert(word.clone(), value);
            }
        }
        self.hide(fields, &mut out);
        example(fields, &mut out);
        if self.side == Side::Input {
            polymorphism::tell_apart(fields, &mut out);
        }
        let old = self.root.dialect == Dialect::Old;
        let nullable = old && fields.get("nullable") == Some(&json!(true));
        if nullable { or_null(out) } else { Value::Object(out) }
    }

    fn nested(&mut self, word: &str, value: &'d Value, depth: usize) -> Option<Value> {
        let mut each = |value: &'d Value| self.schema(value, depth + 1);
        match (holds(word), value) {
            (Holds::Part | Holds::Same, Value::Object(_) | Value::Bool(_)) => Some(each(value)),
            (Holds::PartList | Holds::SameList, Value::Array(items)) if !items.is_empty() => {
                Some(items.iter().map(each).collect())
            }
            (Holds::NamedParts | Holds::NamedSame, Value::Object(named)) => {
                let fits = |name: &str| {
                    word != "patternProperties" || keyword::is_pattern(&Value::from(name))
                };
                let named = named.iter().filter(|(name, _)| fits(name));
                Some(Value::Object(named.map(|(name, one)| (name.clone(), each(one))).collect()))
            }
            _ => None,
        }
    }

    /// Leaves out what only the server writes, or only the caller.
    fn hide(&self, raw: &'d Map<String, Value>, out: &mut Map<String, Value>) {
        let word = match self.side {
            Side::Input => "readOnly",
            Side::Output => "writeOnly",
        };
        let properties = raw.get("properties").and_then(Value::as_object).into_iter().flatten();
        let is_hidden = |value: &'d Value| {
            let found = self.root.resolved(value);
            found.and_then(|found| found.get(word)) == Some(&json!(true))
        };
        for (name, _) in properties.filter(|(_, value)| is_hidden(value)) {
            if let Some(Value::Object(kept)) = out.get_mut("properties") {
                kept.shift_remove(name);
            }
            if let Some(Value::Array(names)) = out.get_mut("required") {
                names.retain(|required| required.as_str() != Some(name));
            }
        }
        if out.get("required").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            out.shift_remove("required");
        }
    }
}

/// An example that is small enough to help.
fn example(raw: &Map<String, Value>, out: &mut Map<String, Value>) {
    let examples = raw.get("examples").and_then(Value::as_array).and_then(|list| list.first());
    let small = |value: &&Value| match value {
        Value::String(text) => !text.is_empty() && text.len() <= 80,
        Value::Number(_) => true,
        _ => false,
    };
    if let Some(example) = raw.get("example").or(examples).filter(small) {
        out.insert("examples".to_owned(), json!([example]));
    }
}

/// 3.0 says `nullable` where JSON Schema lists null among the types.
fn or_null(mut schema: Map<String, Value>) -> Value {
    if let Some(Value::Array(choices)) = schema.get_mut("enum")
        && !choices.contains(&Value::Null)
    {
        choices.push(Value::Null);
    }
    let composed =
        ["$ref", "allOf", "anyOf", "oneOf"].iter().any(|word| schema.contains_key(*word));
    match schema.get_mut("type") {
        Some(Value::String(kind)) => {
            let kinds = json!([kind, "null"]);
            schema.insert("type".to_owned(), kinds);
            Value::Object(schema)
        }
        Some(Value::Array(kinds)) => {
            if !kinds.contains(&json!("null")) {
                kinds.push(json!("null"));
            }
            Value::Object(schema)
        }
        _ if composed => json!({ "anyOf": [schema, { "type": "null" }] }),
        _ => Value::Object(schema),
    }
}
