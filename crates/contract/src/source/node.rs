//! Syntax tree: values that carry their positions in the text.

use serde_json::{Map, Number};

use crate::source::Span;

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value itself.
    pub value: Value,
    /// The bytes of the value in its source.
    pub span: Span,
}

/// The value of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`, or an empty value.
    Null,
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(Number),
    /// Text.
    Text(Box<str>),
    /// Values in order.
    List(Vec<Node>),
    /// Values by name, in the order written.
    Map(Vec<MapEntry>),
}

/// One name and its value in a map.
#[derive(Clone, Debug, PartialEq)]
pub struct MapEntry {
    /// The key as written.
    pub key: Box<str>,
    /// The bytes of the name in its source.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

impl Node {
    /// The entries of a map; none for anything else.
    pub fn entries(&self) -> &[MapEntry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; none for anything else.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The entry of this name.
    pub fn entry(&self, key: &str) -> Option<&MapEntry> {
        self.entries().iter().find(|entry| &*entry.key == key)
    }

    /// The value of this name; a null counts as absent.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value).filter(|node| node.value != Value::Null)
    }

    /// The value at the end of a path of names.
    pub fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The span of the value at the end of a path, or of the last one on the way.
    pub fn place(&self, path: &[&str]) -> Span {
        let found = path.iter().try_fold(self, |node, key| node.get(key).ok_or(node));
        found.unwrap_or_else(|nearest| nearest).span.clone()
    }

    /// Visits every text at or below this node.
    pub fn each_text<'n>(&'n self, visit: &mut impl FnMut(&'n Node, &'n str)) {
        if let Some(text) = self.text() {
            visit(self, text);
        }
        self.items().iter().for_each(|item| item.each_text(visit));
        self.entries().iter().for_each(|entry| entry.value.each_text(visit));
    }

    /// Moves the node and all below it: what was read from a stretch stands in the whole.
    pub(super) fn shift(&mut self, by: usize) {
        if by == 0 {
            return;
        }
        self.span = self.span.start + by..self.span.end + by;
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(|item| item.shift(by)),
            Value::Map(entries) => {
                for entry in entries {
                    entry.key_span = entry.key_span.start + by..entry.key_span.end + by;
                    entry.value.shift(by);
                }
            }
            Value::Null | Value::Flag(_) | Value::Number(_) | Value::Text(_) => {}
        }
    }

    /// The node a JSON pointer leads to, or the last one on the way.
    pub fn nearest(&self, pointer: &str) -> &Node {
        let mut node = self;
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let next = match &node.value {
                Value::Map(_) => node.entry(&step).map(|entry| &entry.value),
                Value::List(items) => step.parse::<usize>().ok().and_then(|at| items.get(at)),
                _ => None,
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }

    /// The text, if it is text.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The flag, if it is one.
    pub fn flag(&self) -> Option<bool> {
        match &self.value {
            Value::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    /// The whole number, if it is one.
    pub fn integer(&self) -> Option<i64> {
        match &self.value {
            Value::Number(number) => number.as_i64().or_else(|| {
                // 3.0 is a whole number in JSON Schema.
                number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < 9e15).map(|n| n as i64)
            }),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match &self.value {
            Value::Number(number) => number.as_f64(),
            _ => None,
        }
    }

    /// The texts of a list; other items are left out.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.items().iter().filter_map(Node::text)
    }

    /// The kind of value, in words for messages.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Flag(_) => "true or false",
            Value::Number(number) if number.is_f64() => "a number",
            Value::Number(_) => "a whole number",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// A JSON value as if it had been written at one place.
    pub fn from_json(json: &serde_json::Value, span: &Span) -> Node {
        let value = match json {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(flag) => Value::Flag(*flag),
            serde_json::Value::Number(number) => Value::Number(number.clone()),
            serde_json::Value::String(text) => Value::Text(text.as_str().into()),
            serde_json::Value::Array(items) => {
                Value::List(items.iter().map(|item| Node::from_json(item, span)).collect())
            }
            serde_json::Value::Object(map) => {
                let entry = |(key, value): (&String, &serde_json::Value)| MapEntry {
                    key: key.as_str().into(),
                    key_span: span.clone(),
                    value: Node::from_json(value, span),
                };
                Value::Map(map.iter().map(entry).collect())
            }
        };
        Node { value, span: span.clone() }
    }

    /// The same value as JSON, without places.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Flag(flag) => serde_json::Value::Bool(*flag),
            Value::Number(number) => serde_json::Value::Number(number.clone()),
            Value::Text(text) => serde_json::Value::String(text.to_string()),
            Value::List(items) => items.iter().map(Node::to_json).collect(),
            Value::Map(entries) => serde_json::Value::Object(
                entries
                    .iter()
                    .map(|entry| (entry.key.to_string(), entry.value.to_json()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }
}
