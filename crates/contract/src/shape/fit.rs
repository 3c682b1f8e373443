//! Shape fit: drops everything from a tree that breaks its shape and fills in defaults.

use serde_json::Number;

use crate::shape::check::fits;
use crate::shape::{Need, Shape, Takes};
use crate::source::{MapEntry, Node, Span, Value};

/// The fields of a map that fit its shape, with the shape's defaults for the others.
///
/// A map in a list is kept whole or not at all: half a rule would state something its author did
/// not write.
pub fn fitting(node: &Node, shape: &Shape) -> Node {
    let entries = shape.fields.iter().filter_map(|field| {
        let written = node.entry(field.name);
        let kept = written.and_then(|entry| part(&entry.value, &field.takes));
        let value = kept.or_else(|| default(field.need, &field.takes, &node.span))?;
        let key_span = written.map_or(node.span.clone(), |entry| entry.key_span.clone());
        Some(MapEntry { key: field.name.into(), key_span, value })
    });
    Node { value: Value::Map(entries.collect()), span: node.span.clone() }
}

fn part(node: &Node, takes: &Takes) -> Option<Node> {
    let same_place = |value| Some(Node { value, span: node.span.clone() });
    if let (Takes::Map(shape), Value::Map(_)) = (takes, &node.value) {
        let rest = fitting(node, shape);
        let needed = shape.fields.iter().filter(|field| field.need == Need::Required);
        return needed.into_iter().all(|field| rest.entry(field.name).is_some()).then_some(rest);
    }
    if let (Takes::List(_, inner @ Takes::Map(_)), Value::List(items)) = (takes, &node.value) {
        let whole = items.iter().filter(|item| fits(item, inner));
        return same_place(Value::List(whole.filter_map(|item| part(item, inner)).collect()));
    }
    if !fits(node, takes) {
        return None;
    }
    if let (Takes::Integer(..), Some(number)) = (takes, node.integer()) {
        // `3.0` is a whole number, and from here on it looks like one.
        return same_place(Value::Number(Number::from(number)));
    }
    Some(node.clone())
}

fn default(need: Need, takes: &Takes, place: &Span) -> Option<Node> {
    let Need::Default(json) = need else { return None };
    let json = serde_json::from_str(json).ok()?;
    part(&Node::from_json(&json, &(place.start..place.start)), takes)
}
