//! In-place edit of YAML: unchanged parts stay as people wrote them, comments included.

use std::ops::Range;

use haft_contract::source::{MapEntry, Node};
use serde_json::{Map, Value};

use super::tree::identity;
use crate::manifest::Frontmatter;
use crate::yaml;

/// The head of a manifest with other fields, up to where its body begins. Nothing where the text is
/// written in a way that cannot be edited piece by piece.
pub(super) fn rewritten(text: &str, front: &Frontmatter, fields: &Value) -> Option<String> {
    let mut edits = Edits { text, changes: Vec::new() };
    edits.map(&front.node, fields.as_object()?);
    edits.changes.sort_by_key(|(range, _)| (range.start, range.end));
    let mut out = String::new();
    let mut at = 0;
    for (range, new) in &edits.changes {
        out.push_str(text.get(at..range.start)?);
        out.push_str(new);
        at = range.end;
    }
    out.push_str(text.get(at..front.body_at)?);
    Some(out)
}

struct Edits<'t> {
    text: &'t str,
    changes: Vec<(Range<usize>, String)>,
}

impl Edits<'_> {
    /// Makes a map that stands in lines of its own say something else.
    fn map(&mut self, node: &Node, new: &Map<String, Value>) {
        let entries = node.entries();
        for (at, entry) in entries.iter().enumerate() {
            match new.get(&*entry.key) {
                None => self.remove(entry, entries.get(at + 1)),
                Some(value) if *value == entry.value.to_json() => {}
                Some(value) => self.change(entry, value),
            }
        }
        let known = |name: &String| entries.iter().any(|entry| *entry.key == **name);
        let added = new.iter().filter(|(name, _)| !known(name));
        let added: Map<String, Value> = added.map(|(k, v)| (k.clone(), v.clone())).collect();
        if let (Some(last), false) = (entries.last(), added.is_empty()) {
            let at = self.line_end(self.end(&last.value).max(last.key_span.end));
            self.insert(at, yaml::entries(&added, self.column(last.key_span.start)));
        }
    }

    fn change(&mut self, entry: &MapEntry, value: &Value) {
        match value {
            Value::Object(fields) if self.is_block(&entry.value) && !fields.is_empty() => {
                self.map(&entry.value, fields);
            }
            Value::Array(items) if self.is_block(&entry.value) && self.has_names(entry, items) => {
                self.list(&entry.value, items);
            }
            _ => {
                let column = self.column(entry.key_span.start);
                let only = Map::from_iter([(entry.key.to_string(), value.clone())]);
                let new = yaml::entries(&only, column);
                let end = self.line_end(self.end(&entry.value).max(entry.key_span.end));
                self.changes.push((entry.key_span.start..end, new.trim_start().to_owned()));
            }
        }
    }

    fn has_names(&self, entry: &MapEntry, items: &[Value]) -> bool {
        let old: Vec<Value> = entry.value.items().iter().map(Node::to_json).collect();
        !items.is_empty() && identity(&[&old, items]).is_some()
    }

    /// Makes a list whose items have names say something else.
    fn list(&mut self, node: &Node, new: &[Value]) {
        let old: Vec<Value> = node.items().iter().map(Node::to_json).collect();
        let Some(name) = identity(&[&old, new]) else { return };
        for (item, said) in node.items().iter().zip(&old) {
            match new.iter().find(|other| other.get(name) == said.get(name)) {
                Some(value) if value == said => {}
                Some(Value::Object(fields)) if self.is_block(item) => self.map(item, fields),
                found => self.replace_item(item, found),
            }
        }
        let added =
            new.iter().filter(|item| !old.iter().any(|other| other.get(name) == item.get(name)));
        let Some(last) = node.items().last() else { return };
        let column = self.dash(last).map_or(0, |dash| self.column(dash));
        let text: String = added.map(|item| yaml::item(item, column)).collect();
        let at = self.line_end(self.end(last));
        self.insert(at, text);
    }

    fn replace_item(&mut self, item: &Node, new: Option<&Value>) {
        let Some(dash) = self.dash(item) else { return };
        let new = new.map(|new| yaml::item(new, self.column(dash))).unwrap_or_default();
        let start = self.line_start(dash);
        self.changes.push((start..self.line_end(self.end(item)), new));
    }

    fn remove(&mut self, entry: &MapEntry, next: Option<&MapEntry>) {
        let start = entry.key_span.start;
        let line = self.line_start(start);
        let alone = self.text.get(line..start).is_some_and(|before| before.trim().is_empty());
        let range = match next {
            // The first field of an item stands behind its dash, and the next one takes its place.
            Some(next) if !alone => start..next.key_span.start,
            _ => line..self.line_end(self.end(&entry.value).max(entry.key_span.end)),
        };
        self.changes.push((range, String::new()));
    }

    fn insert(&mut self, at: usize, text: String) {
        if !text.is_empty() {
            self.changes.push((at..at, text));
        }
    }

    /// Whether a map or list stands in lines of its own, and not inside of braces.
    fn is_block(&self, node: &Node) -> bool {
        let holds_something = !node.entries().is_empty() || !node.items().is_empty();
        let first = self.text.get(node.span.start..).and_then(|rest| rest.chars().next());
        holds_something && !matches!(first, Some('{' | '['))
    }

    /// Where a value ends, without the blank lines and comments behind it.
    fn end(&self, node: &Node) -> usize {
        let last = node.entries().last().map(|entry| (&entry.value, entry.key_span.end));
        let last = last.or_else(|| node.items().last().map(|item| (item, 0)));
        match last.filter(|_| self.is_block(node)) {
            Some((last, key_end)) => self.end(last).max(key_end),
            None => {
                let text = self.text.get(node.span.clone()).unwrap_or_default();
                node.span.start + text.trim_end().len()
            }
        }
    }

    /// The dash before an item.
    fn dash(&self, item: &Node) -> Option<usize> {
        self.text.get(..item.span.start)?.rfind('-')
    }

    fn line_start(&self, at: usize) -> usize {
        self.text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1)
    }

    fn line_end(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        rest.find('\n').map_or(self.text.len(), |newline| at + newline + 1)
    }

    fn column(&self, at: usize) -> usize {
        at - self.line_start(at)
    }
}
