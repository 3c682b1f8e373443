//! Value kinds: which kind of value a field takes, to tell choices apart and to name them.

use crate::shape::{Need, Shape, Takes};
use crate::source::{Node, Value};

impl Takes {
    /// Whether a value is of the right kind, whatever its details.
    pub(super) fn suits(&self, node: &Node) -> bool {
        match self {
            Takes::Any => true,
            Takes::Text(..) | Takes::Formed(_) | Takes::Word(_) => node.text().is_some(),
            Takes::Integer(..) => node.integer().is_some(),
            Takes::Number(_) => node.number().is_some(),
            Takes::Flag => node.flag().is_some(),
            Takes::List(..) | Takes::Set(_) => matches!(node.value, Value::List(_)),
            Takes::Map(shape) => {
                matches!(node.value, Value::Map(_))
                    && shape
                        .fields
                        .iter()
                        .filter(|field| field.need == Need::Required)
                        .all(|field| node.entry(field.name).is_some())
            }
            Takes::Names(..) | Takes::Kinds(..) | Takes::Schema | Takes::Object => {
                matches!(node.value, Value::Map(_))
            }
            Takes::Either(choices) => choices.iter().any(|choice| choice.suits(node)),
            Takes::Nullable(inner) => node.value == Value::Null || inner.suits(node),
        }
    }

    /// What it takes, in a person's words.
    pub(super) fn kind(&self) -> String {
        match self {
            Takes::Any => "anything".into(),
            Takes::Text(..) => "text".into(),
            Takes::Formed(form) => form.what.into(),
            Takes::Word(words) => one_of(words),
            Takes::Integer(..) => "a whole number".into(),
            Takes::Number(_) => "a number".into(),
            Takes::Flag => "true or false".into(),
            Takes::List(..) | Takes::Set(_) => "a list".into(),
            Takes::Map(shape) => map_of(shape),
            Takes::Names(..) | Takes::Kinds(..) | Takes::Object => "a map".into(),
            Takes::Schema => "a JSON Schema".into(),
            Takes::Either(choices) => {
                choices.iter().map(Takes::kind).collect::<Vec<_>>().join(" or ")
            }
            Takes::Nullable(inner) => inner.kind(),
        }
    }
}

/// Some words to choose from.
pub(super) fn one_of(words: &[&str]) -> String {
    match words {
        [only] => format!("`{only}`"),
        _ => format!("one of {}", words.join(", ")),
    }
}

/// A map by what it cannot be without, which is what tells it from other maps.
fn map_of(shape: &Shape) -> String {
    let required = shape.fields.iter().filter(|field| field.need == Need::Required);
    let names: Vec<String> = required.map(|field| format!("`{}`", field.name)).collect();
    match names.is_empty() {
        true => format!("a map ({})", shape.title),
        false => format!("a map with {}", names.join(" and ")),
    }
}
