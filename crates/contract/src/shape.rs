//! Document shapes: tables of the fields that a document may hold.
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

/// The shape of one map.
pub struct Shape {
    /// The map's name in messages.
    pub title: &'static str,
    /// What happens to an unknown field.
    pub strangers: Strangers,
    /// The fields, in the order of the document.
    pub fields: &'static [Field],
    /// Fields that once belonged here, or that people expect here.
    pub moved: &'static [MovedField],
}

/// What happens to an unknown field.
#[derive(Clone, Copy)]
pub enum Strangers {
    /// Refused under this rule; an empty code stands for the rule of the field around it.
    Refused(&'static str),
    /// Kept as it is.
    Kept,
}

/// One field of a map.
pub struct Field {
    /// The field's key.
    pub name: &'static str,
    /// Its rule; empty for the rule of the field around it.
    pub code: &'static str,
    /// Whether it must be there.
    pub need: Need,
    /// The values that it takes.
    pub takes: Takes,
    /// Its meaning, in one sentence; messages and schemas show it.
    pub about: &'static str,
    /// Whether this version acts on it.
    pub standing: FieldStanding,
}

/// Whether this version acts on a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldStanding {
    /// It does, or the field is for people alone.
    Enforced,
    /// The value is checked and recorded, and changes nothing: `haft check` warns of it (Y014).
    Recorded,
}

/// Whether a field must be there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The field must be present.
    Required,
    /// The field may be absent.
    Optional,
    /// It may; when absent this JSON value holds.
    Default(&'static str),
}

/// A field that does not belong here any more.
pub struct MovedField {
    /// The field's former key.
    pub name: &'static str,
    /// The rule that refuses it.
    pub code: &'static str,
    /// Where the field went, as help.
    pub help: &'static str,
}

/// The values that a field takes.
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
    /// Any of these, distinguished by the kind of value.
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
    Field { name, code, need: Need::Required, takes, about, standing: FieldStanding::Enforced }
}

/// An optional field.
pub const fn optional(
    name: &'static str,
    code: &'static str,
    takes: Takes,
    about: &'static str,
) -> Field {
    Field { name, code, need: Need::Optional, takes, about, standing: FieldStanding::Enforced }
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
    /// The same field with a default, as JSON.
    pub const fn or(self, default: &'static str) -> Field {
        // Rebuilt by hand: a const function cannot use `..self` on a type with drop glue.
        let Field { name, code, takes, about, standing, .. } = self;
        Field { name, code, need: Need::Default(default), takes, about, standing }
    }

    /// The same field, on which this version does not act.
    pub const fn recorded(self) -> Field {
        let Field { name, code, need, takes, about, .. } = self;
        Field { name, code, need, takes, about, standing: FieldStanding::Recorded }
    }
}
