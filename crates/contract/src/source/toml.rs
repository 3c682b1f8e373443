//! TOML reader: parses the settings and the lock file into the tree that YAML becomes.

use serde_json::Number;
use toml_edit::{Document, Item, Table, Value as Toml};

use crate::source::{MapEntry, Node, Source, Span, Value};
use crate::{Report, rules};

/// Reads a stretch of a source as TOML.
pub(super) fn parse(source: &Source, block: Span, report: &mut Report) -> Option<Node> {
    let text = source.text().get(block.clone())?;
    match Document::parse(text.to_owned()) {
        Ok(document) => {
            let mut root = table(document.as_table(), 0..text.len());
            root.shift(block.start);
            Some(root)
        }
        Err(fault) => {
            let at = fault.span().unwrap_or(0..0);
            let at = at.start + block.start..at.end + block.start;
            report.add(&rules::Y005, at, fault.message().to_owned());
            None
        }
    }
}

fn table(table: &Table, around: Span) -> Node {
    let span = table.span().unwrap_or(around);
    let entries = table.iter().filter_map(|(key, value)| {
        let key_span = table.key(key).and_then(|key| key.span()).unwrap_or(span.clone());
        item(value, &key_span).map(|value| MapEntry { key: key.into(), key_span, value })
    });
    Node { value: Value::Map(entries.collect()), span: span.clone() }
}

fn item(item: &Item, around: &Span) -> Option<Node> {
    let span = item.span().unwrap_or(around.clone());
    match item {
        Item::None => None,
        Item::Value(value) => Some(plain(value, around)),
        Item::Table(inner) => Some(table(inner, around.clone())),
        Item::ArrayOfTables(tables) => {
            let items = tables.iter().map(|inner| table(inner, span.clone())).collect();
            Some(Node { value: Value::List(items), span })
        }
    }
}

fn plain(value: &Toml, around: &Span) -> Node {
    let span = value.span().unwrap_or(around.clone());
    let value = match value {
        Toml::String(text) => Value::Text(text.value().as_str().into()),
        Toml::Integer(number) => Value::Number(Number::from(*number.value())),
        Toml::Float(number) => Number::from_f64(*number.value()).map_or(Value::Null, Value::Number),
        Toml::Boolean(flag) => Value::Flag(*flag.value()),
        Toml::Datetime(date) => Value::Text(date.value().to_string().into()),
        Toml::Array(items) => Value::List(items.iter().map(|item| plain(item, &span)).collect()),
        Toml::InlineTable(inner) => Value::Map(
            inner
                .iter()
                .map(|(key, value)| {
                    let key_span =
                        inner.key(key).and_then(|key| key.span()).unwrap_or(span.clone());
                    let value = plain(value, &key_span);
                    MapEntry { key: key.into(), key_span, value }
                })
                .collect(),
        ),
    };
    Node { value, span }
}
