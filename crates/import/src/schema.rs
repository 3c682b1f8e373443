//! Schema extraction: standalone JSON Schema 2020-12 from the schemas of a document.
//!
//! A schema that is used once is written where it is used. One that is used several times, or that
//! leads back to itself, stands under `$defs` and is referred to.

mod cut;
mod keyword;
mod loss;
mod polymorphism;
mod root;
mod uses;

use std::collections::{HashMap, VecDeque};

use haft_notation::keywords::{Holds, below, holds};
use serde_json::{Map, Value, json};

pub(crate) use loss::Loss;
use loss::Losses;
pub(crate) use root::{Dialect, Root, reference, unescaped};
use uses::Uses;

/// How JSON Schema 2020-12 calls itself.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// How deep schemas are followed; nothing that people write comes near.
const DEEPEST: usize = 100;

/// Below this depth a reference stays one, so that contracts nest no deeper than their reader goes.
const DEEPEST_INLINE: usize = 16;

/// Which way the values go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Input,
    Output,
}

/// A schema by itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct StandaloneSchema {
    pub(crate) schema: Value,
    /// What it refers to, by name.
    pub(crate) definitions: Map<String, Value>,
    /// References that lead nowhere.
    pub(crate) lost: Vec<String>,
    /// Every part that is not kept.
    pub(crate) losses: Vec<Loss>,
    /// Whether parts of it are types alone, because all of it is more than a contract can hold.
    pub(crate) is_cut: bool,
}

/// Takes one schema out of its document.
pub(crate) fn shaped<'d>(root: &Root<'d>, raw: &'d Value, side: Side) -> StandaloneSchema {
    let mut shaper = Shaper::new(root, side, &[raw]);
    let schema = shaper.outermost(raw);
    shaper.finish(schema)
}

impl StandaloneSchema {
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
    /// Definitions that are referred to and not written yet, the nearest to the top first.
    open: VecDeque<(String, &'d str, &'d Value)>,
    /// How many values the definitions so far have.
    spent: usize,
    is_cut: bool,
    definitions: Map<String, Value>,
    lost: Vec<String>,
    losses: Losses,
    /// Where definitions stand that something may refer to.
    definable: Vec<String>,
}

impl<'a, 'd> Shaper<'a, 'd> {
    /// A shaper for these schemas.
    pub(crate) fn new(root: &'a Root<'d>, side: Side, all: &[&'d Value]) -> Self {
        let mut uses = Uses::new(root);
        all.iter().for_each(|raw| uses.count(raw, 0));
        let (names, definitions) = (HashMap::new(), Map::new());
        Shaper {
            root,
            side,
            uses,
            names,
            open: VecDeque::new(),
            spent: 0,
            is_cut: false,
            definitions,
            lost: Vec::new(),
            losses: Losses::default(),
            definable: Vec::new(),
        }
    }

    /// Says where the next schema stands, for the list of what was lost.
    pub(crate) fn at(&mut self, place: &str) -> &mut Self {
        place.clone_into(&mut self.losses.place);
        self
    }

    /// A schema that is written out even where it is a reference, since it has to say what it is.
    pub(crate) fn outermost(&mut self, raw: &'d Value) -> Value {
        match (self.root.resolved(raw), reference(raw)) {
            (Some(found), Some(target)) => {
                let out = self.there(target, |this| this.written(found, 0));
                self.beside(raw, &out);
                out
            }
            (Some(found), None) => self.written(found, 0),
            (None, _) => self.schema(raw, 0),
        }
    }

    /// Does something with what a reference leads to, which stands elsewhere.
    fn there<T>(&mut self, target: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        // Of a schema that is complete in itself every place is one in itself.
        let place = match self.root.dialect {
            Dialect::Complete => target.trim_start_matches('#'),
            Dialect::Old | Dialect::New => target,
        };
        let here = std::mem::replace(&mut self.losses.place, place.to_owned());
        let done = work(self);
        self.losses.place = here;
        done
    }

    /// Notes what stands beside a reference and is not kept.
    fn beside(&mut self, raw: &'d Value, out: &Value) {
        if let Value::Object(fields) = raw {
            self.definable(fields);
            self.losses.compare_beside(fields, out, self.root.dialect);
        }
    }

    /// Remembers the definitions of a schema, which are kept where something refers to them.
    fn definable(&mut self, fields: &'d Map<String, Value>) {
        let words = fields.iter().filter(|(word, _)| holds(word) == Holds::Definitions);
        for (word, named) in words {
            let here = below(&self.losses.place, word);
            match named {
                Value::Object(named) => {
                    self.definable.extend(named.keys().map(|name| below(&here, name)));
                }
                _ => self.losses.add(word, "it holds no schemas"),
            }
        }
    }

    /// Notes the definitions that nothing refers to, unless something inside of them is.
    fn unreferred(&mut self) {
        let used: Vec<String> = self.names.keys().map(|target| root::unescaped(target)).collect();
        self.losses.place.clear();
        for place in std::mem::take(&mut self.definable) {
            let is_used = used.iter().any(|used| used.trim_start_matches('#') == place);
            if !is_used {
                self.losses.place = place;
                self.losses.add("", "nothing refers to it");
            }
        }
    }

    /// A schema together with everything that it refers to.
    pub(crate) fn finish(mut self, schema: Value) -> StandaloneSchema {
        self.define();
        if self.root.dialect == Dialect::Complete {
            self.unreferred();
        }
        let losses = self.losses.all();
        cut::to_size(StandaloneSchema {
            schema,
            definitions: self.definitions,
            lost: self.lost,
            losses,
            is_cut: self.is_cut,
        })
    }

    /// What is defined so far, everything that is referred to included.
    pub(crate) fn define(&mut self) -> &Map<String, Value> {
        let budget = cut::budget(&self.uses, self.side);
        while let Some((name, target, found)) = self.open.pop_front() {
            let schema = self.there(target, |this| match this.spent < budget {
                true => this.schema(found, 0),
                false => this.outlined(found),
            });
            self.spent += cut::size(&schema);
            self.definitions.insert(name, schema);
        }
        &self.definitions
    }

    fn outlined(&mut self, found: &'d Value) -> Value {
        self.is_cut = true;
        self.losses.add("", cut::TOO_LARGE);
        cut::outline(self.root.resolved(found).unwrap_or(found))
    }

    pub(crate) fn schema(&mut self, raw: &'d Value, depth: usize) -> Value {
        match reference(raw) {
            _ if depth > DEEPEST => {
                self.losses.add("", "it lies too deep");
                json!({})
            }
            Some(target) => self.referred(raw, target, depth),
            None => self.written(raw, depth),
        }
    }

    fn referred(&mut self, raw: &'d Value, target: &'d str, depth: usize) -> Value {
        let Some(found) = self.root.target(target) else {
            self.lost.push(target.to_owned());
            self.losses.add("$ref", "it leads nowhere inside of the document");
            self.beside(raw, &json!({}));
            return json!({});
        };
        let mut out = if self.uses.stays(target) || depth > DEEPEST_INLINE {
            json!({ "$ref": format!("#/$defs/{}", self.defined(target, found)) })
        } else {
            self.there(target, |this| this.schema(found, depth + 1))
        };
        // 3.1 lets words stand beside a reference; in 3.0 they mean nothing.
        let beside = raw.get("description").filter(|_| self.root.dialect != Dialect::Old);
        if let (Some(Value::String(words)), Some(fields)) = (beside, out.as_object_mut()) {
            fields.insert("description".to_owned(), crate::text::prose(words, 1000).into());
        }
        self.beside(raw, &out);
        out
    }

    /// The name under which what a reference leads to is defined.
    fn defined(&mut self, target: &'d str, found: &'d Value) -> String {
        if let Some(name) = self.names.get(target) {
            return name.clone();
        }
        let wanted = crate::text::input_name(&root::last_name(target));
        let numbered = (2u32..).map(|number| format!("{wanted}-{number}"));
        let mut names = std::iter::once(wanted.clone()).chain(numbered);
        let free = names.find(|name| !self.definitions.contains_key(name)).unwrap_or(wanted);
        self.names.insert(target, free.clone());
        self.definitions.insert(free.clone(), Value::Null);
        self.open.push_back((free.clone(), target, found));
        free
    }

    fn written(&mut self, raw: &'d Value, depth: usize) -> Value {
        let Value::Object(fields) = raw else {
            if !raw.is_boolean() && !raw.is_null() {
                self.losses.add("", "it is no schema");
            }
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
        keyword::example(fields, &mut out);
        self.definable(fields);
        self.losses.compare(fields, &out, (self.root.dialect, self.side));
        if self.side == Side::Input {
            polymorphism::tell_apart(fields, &mut out);
        }
        let old = self.root.dialect == Dialect::Old;
        let nullable = old && fields.get("nullable") == Some(&json!(true));
        if nullable { keyword::or_null(out) } else { Value::Object(out) }
    }

    fn nested(&mut self, word: &str, value: &'d Value, depth: usize) -> Option<Value> {
        match (holds(word), value) {
            (Holds::Part | Holds::Same, Value::Object(_) | Value::Bool(_)) => {
                Some(self.step(&[word], value, depth))
            }
            (Holds::PartList | Holds::SameList, Value::Array(items)) if !items.is_empty() => {
                let items = items.iter().enumerate();
                let each = items.map(|(at, one)| self.step(&[word, &at.to_string()], one, depth));
                Some(each.collect())
            }
            (Holds::NamedParts | Holds::NamedSame, Value::Object(named)) => {
                let mut kept = Map::new();
                for (name, one) in named {
                    if word == "patternProperties" && !keyword::is_pattern(&Value::from(&**name)) {
                        self.losses.add_in(
                            word,
                            name,
                            "Haft cannot hold a value against the pattern",
                        );
                        continue;
                    }
                    kept.insert(name.clone(), self.step(&[word, name], one, depth));
                }
                Some(Value::Object(kept))
            }
            _ => None,
        }
    }

    /// A schema below the one that is being written.
    fn step(&mut self, steps: &[&str], raw: &'d Value, depth: usize) -> Value {
        let further = steps.iter().fold(self.losses.place.clone(), |at, step| below(&at, step));
        let here = std::mem::replace(&mut self.losses.place, further);
        let schema = self.schema(raw, depth + 1);
        self.losses.place = here;
        schema
    }

    /// Leaves out what only the server writes, or only the caller.
    fn hide(&mut self, raw: &'d Map<String, Value>, out: &mut Map<String, Value>) {
        let (word, why) = match self.side {
            Side::Input => ("readOnly", "only the server writes it"),
            Side::Output => ("writeOnly", "only the caller writes it"),
        };
        let properties = raw.get("properties").and_then(Value::as_object).into_iter().flatten();
        let is_hidden = |value: &'d Value| {
            let found = self.root.resolved(value);
            found.and_then(|found| found.get(word)) == Some(&json!(true))
        };
        let hidden: Vec<&String> =
            properties.filter(|(_, value)| is_hidden(value)).map(|(name, _)| name).collect();
        for name in hidden {
            self.losses.add_in("properties", name, why);
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

#[cfg(test)]
mod tests;
