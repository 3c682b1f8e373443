//! Shapes: what a document may hold, as tables.
//!
//! One table per document says each field's name, rule, type, limits, default and meaning. The
//! checker, the suggestions, the editors' JSON Schemas and the rule list are all read from it, so
//! they cannot disagree.

mod check;
pub mod documents;
mod fit;
pub mod form;
mod kind;
mod schema;
mod strangers;

pub use check::check;
pub(crate) use check::field_value;
pub use fit::fitting;
pub use schema::json_schema;
pub use strangers::strangers;

use crate::diagnostic::Rule;
use form::TextFormat;

/// What one map may hold.
pub struct Shape {
    /// What the map is, for messages.
    pub title: &'static str,
    /// What happens to a field that is not listed.
    pub strangers: Strangers,
    /// The fields.
    pub fields: &'static [Field],
    /// Fields that once belonged here, or that people expect here.
    pub moved: &'static [MovedField],
}

/// What happens to a field that a shape does not list.
#[derive(Clone, Copy)]
pub enum Strangers {
    /// Refused under this rule; an empty code stands for the rule of the field around it.
    Refused(&'static str),
    /// Kept as it is.
    Kept,
}

/// One field.
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its rule; empty for the rule of the field around it.
    pub code: &'static str,
    /// Whether it must be there.
    pub need: Need,
    /// What it takes.
    pub takes: Takes,
    /// What it means, in one sentence.
    pub about: &'static str,
}

/// Whether a field must be there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// It must.
    Required,
    /// It may.
    Optional,
    /// It may; when absent this JSON value holds.
    Default(&'static str),
}

/// A field that does not belong here any more.
pub struct MovedField {
    /// Its name.
    pub name: &'static str,
    /// The rule that refuses it.
    pub code: &'static str,
    /// Where it went.
    pub help: &'static str,
}

/// What a field takes.
pub enum Takes {
    /// Anything at all.
    Any,
    /// Text of some length.
    Text(usize, usize),
    /// Text of some form.
    Formed(&'static TextFormat),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A whole number in a range.
    Integer(i64, i64),
    /// A number from a lower bound on.
    Number(f64),
    /// True or false.
    Flag,
    /// A list of at least so many.
    List(usize, &'static Takes),
    /// A list in which nothing stands twice.
    Set(&'static Takes),
    /// A map from names of the author's choosing.
    Names(Option<&'static TextFormat>, &'static Takes),
    /// A map of one shape.
    Map(&'static Shape),
    /// A map whose field decides its shape.
    Kinds(&'static str, &'static [(&'static str, &'static Shape)]),
    /// A JSON Schema.
    Schema,
    /// An object with anything in it.
    Object,
    /// Any of these, told apart by what kind of value is written.
    Either(&'static [Takes]),
    /// Null means absent.
    Nullable(&'static Takes),
}

impl Shape {
    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Every rule the table states, its own and those of the maps inside, each once.
    pub fn rules(&self) -> Vec<Rule> {
        let mut rules = Vec::new();
        self.collect(&mut rules, 0);
        rules.sort_by_key(|rule| rule.code);
        rules.dedup_by_key(|rule| rule.code);
        rules
    }

    fn collect(&self, rules: &mut Vec<Rule>, depth: usize) {
        if let Strangers::Refused(code) = self.strangers
            && !code.is_empty()
        {
            rules.push(Rule::error(code, "A field that the document does not have is refused."));
        }
        for moved in self.moved {
            rules.push(Rule::error(moved.code, "A field that moved elsewhere is refused."));
        }
        for field in self.fields {
            if !field.code.is_empty() {
                rules.push(Rule::error(field.code, field.about));
            }
            field.takes.collect(rules, depth);
        }
    }
}

impl Takes {
    fn collect(&self, rules: &mut Vec<Rule>, depth: usize) {
        // A command tree holds itself; no document's rules lie deeper than this.
        if depth > 8 {
            return;
        }
        match self {
            Takes::List(_, inner)
            | Takes::Set(inner)
            | Takes::Names(_, inner)
            | Takes::Nullable(inner) => inner.collect(rules, depth + 1),
            Takes::Map(shape) => shape.collect(rules, depth + 1),
            Takes::Kinds(_, kinds) => {
                kinds.iter().for_each(|(_, shape)| shape.collect(rules, depth + 1));
            }
            Takes::Either(choices) => {
                choices.iter().for_each(|choice| choice.collect(rules, depth + 1));
            }
            Takes::Any
            | Takes::Text(..)
            | Takes::Formed(_)
            | Takes::Word(_)
            | Takes::Integer(..)
            | Takes::Number(_)
            | Takes::Flag
            | Takes::Schema
            | Takes::Object => {}
        }
    }
}

/// A required field.
pub const fn required(
    name: &'static str,
    code: &'static str,
    takes: Takes,
    about: &'static str,
) -> Field {
    Field { name, code, need: Need::Required, takes, about }
}

/// An optional field.
pub const fn optional(
    name: &'static str,
    code: &'static str,
    takes: Takes,
    about: &'static str,
) -> Field {
    Field { name, code, need: Need::Optional, takes, about }
}

/// An optional field that may be null: producers of JSON write null for what they do not say.
pub const fn maybe(
    name: &'static str,
    code: &'static str,
    takes: &'static Takes,
    about: &'static str,
) -> Field {
    optional(name, code, Takes::Nullable(takes), about)
}

impl Field {
    /// The same field with what holds when it is absent, as JSON.
    pub const fn or(self, default: &'static str) -> Field {
        // Rebuilt by hand: a const function cannot use `..self` on a type with drop glue.
        let Field { name, code, takes, about, .. } = self;
        Field { name, code, need: Need::Default(default), takes, about }
    }
}
