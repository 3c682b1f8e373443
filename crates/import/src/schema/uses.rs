//! Reference counting: which references of a schema are used once, often, or recursively.

use std::collections::{HashMap, HashSet};

use haft_notation::keywords::{Holds, holds};
use serde_json::Value;

use super::{Dialect, Root, reference};

/// How deep references are looked at; one that lies deeper stays a reference.
const DEEPEST_REFERENCE: usize = 400;

/// How many values are counted. A graph that has more does not fit into a contract, and is large in
/// the same way for every operation that leads into it: counting all of it for each would take a
/// time that grows with both.
const MOST_COUNTED: usize = 8_000;

/// How often each reference is used, and which lead back to themselves.
pub(super) struct Uses<'a, 'd> {
    root: &'a Root<'d>,
    counted: usize,
    counts: HashMap<&'d str, usize>,
    open: Vec<&'d str>,
    circular: HashSet<&'d str>,
}

impl<'a, 'd> Uses<'a, 'd> {
    pub(super) fn new(root: &'a Root<'d>) -> Uses<'a, 'd> {
        Uses {
            root,
            counted: 0,
            counts: HashMap::new(),
            open: Vec::new(),
            circular: HashSet::new(),
        }
    }

    /// Whether the schemas and all that they lead to are more than a contract can hold.
    pub(super) fn is_large(&self) -> bool {
        self.counted > MOST_COUNTED
    }

    pub(super) fn count(&mut self, raw: &'d Value, depth: usize) {
        if depth > DEEPEST_REFERENCE || self.is_large() {
            return;
        }
        self.counted += 1 + raw.as_object().map_or(0, serde_json::Map::len);
        if let Some(target) = reference(raw) {
            if self.open.contains(&target) {
                self.circular.insert(target);
            }
            let count = self.counts.entry(target).or_default();
            *count += 1;
            if *count == 1
                && let Some(found) = self.root.target(target)
            {
                self.open.push(target);
                self.count(found, depth + 1);
                self.open.pop();
            }
        }
        for below in below(raw) {
            self.count(below, depth + 1);
        }
    }

    /// Whether a reference stays one.
    pub(super) fn stays(&self, target: &str) -> bool {
        if self.root.dialect == Dialect::Complete {
            return true;
        }
        if self.is_large() {
            return !self.is_small(target);
        }
        // What was not looked at may lead anywhere, itself included.
        let often = self.counts.get(target).is_none_or(|count| *count > 1);
        self.circular.contains(target) || (often && !self.is_small(target))
    }

    /// What is no longer than a reference to it is written out each time.
    fn is_small(&self, target: &str) -> bool {
        self.root.target(target).is_some_and(|found| below(found).next().is_none())
    }
}

/// Every schema right below one. Definitions count where something refers to them.
fn below(raw: &Value) -> impl Iterator<Item = &Value> {
    let fields = raw.as_object().into_iter().flatten();
    fields.flat_map(|(word, value)| -> Box<dyn Iterator<Item = &Value>> {
        match (holds(word), value) {
            (Holds::Part | Holds::Same, _) => Box::new(std::iter::once(value)),
            (Holds::PartList | Holds::SameList, Value::Array(items)) => Box::new(items.iter()),
            (Holds::NamedParts | Holds::NamedSame, Value::Object(named)) => {
                Box::new(named.values())
            }
            _ => Box::new(std::iter::empty()),
        }
    })
}
