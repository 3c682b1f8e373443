//! A schema as a graph: its references followed, each part with those that apply to the same place of a
//! value and those that apply below it.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use crate::Fault;
use crate::keywords::{Holds, below, holds};

/// A part of a schema, by its place in the graph.
pub(super) type Part = usize;

/// A schema with its references followed.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
}

/// One part of a schema.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) pointer: String,
    /// What looking at the part itself costs.
    pub(super) weight: u64,
    /// How many states of a pattern each byte of a text may visit.
    pub(super) per_byte: u64,
    /// The same for the names of properties.
    pub(super) per_name_byte: u64,
    /// What applies to the same place.
    pub(super) same: Vec<Part>,
    /// Whether it asks of every member what else looked at it, by asking those parts again.
    pub(super) asks_again: bool,
    pub(super) named: BTreeMap<String, Part>,
    /// What may apply to any property.
    pub(super) patterns: Vec<Part>,
    /// What applies to properties without a part of their own.
    pub(super) others: Vec<Part>,
    /// What applies to the names of properties.
    pub(super) names: Vec<Part>,
    pub(super) prefix: Vec<Part>,
    /// What applies to items.
    pub(super) items: Vec<Part>,
}

/// A schema that is still to be read, with the document that its references begin at.
struct Pending<'s> {
    part: Part,
    schema: &'s Value,
    resource: &'s Value,
    pointer: String,
}

struct Builder<'s> {
    root: &'s Value,
    nodes: Vec<Node>,
    known: HashMap<(*const Value, *const Value), Part>,
    pending: Vec<Pending<'s>>,
    anchors: BTreeMap<&'s str, Vec<&'s Value>>,
}

impl Graph {
    /// The graph of a schema. A reference that leads nowhere is left to the compiler.
    pub(super) fn of(schema: &Value) -> Result<Graph, Fault> {
        let mut anchors = BTreeMap::new();
        collect_anchors(schema, &mut anchors);
        let (nodes, known, pending) = (Vec::new(), HashMap::new(), Vec::new());
        let mut builder = Builder { root: schema, nodes, known, pending, anchors };
        builder.part(schema, schema, String::new());
        while let Some(next) = builder.pending.pop() {
            let (part, node) = (next.part, builder.read(next)?);
            if let Some(place) = builder.nodes.get_mut(part) {
                *place = node;
            }
        }
        Ok(Graph { nodes: builder.nodes })
    }

    pub(super) fn has_patterns(&self) -> bool {
        self.nodes.iter().any(|node| node.per_byte > 0 || node.per_name_byte > 0)
    }
}

impl<'s> Builder<'s> {
    fn part(&mut self, schema: &'s Value, resource: &'s Value, pointer: String) -> Part {
        let is_resource = schema.get("$id").is_some_and(Value::is_string);
        let resource = if is_resource { schema } else { resource };
        let key = (std::ptr::from_ref(schema), std::ptr::from_ref(resource));
        if let Some(part) = self.known.get(&key) {
            return *part;
        }
        let part = self.nodes.len();
        self.known.insert(key, part);
        self.nodes.push(Node::default());
        self.pending.push(Pending { part, schema, resource, pointer });
        part
    }

    fn read(&mut self, next: Pending<'s>) -> Result<Node, Fault> {
        let Pending { schema, resource, pointer, .. } = next;
        let Value::Object(fields) = schema else {
            return Ok(Node { pointer, weight: 1, ..Node::default() });
        };
        let mut node = Node {
            weight: weight(fields),
            per_byte: fields.get("pattern").and_then(Value::as_str).map_or(0, states),
            ..Node::default()
        };
        for (keyword, value) in fields {
            let here = below(&pointer, keyword);
            match (keyword.as_str(), value) {
                ("$ref", Value::String(target)) => {
                    node.same.extend(self.referred(target, resource));
                }
                ("$dynamicRef", Value::String(target)) => {
                    node.same.extend(self.dynamically(target, &here)?);
                }
                _ => self.applied(&mut node, (keyword, value), &here, resource),
            }
        }
        Ok(Node { pointer, ..node })
    }

    /// Adds what stands behind a keyword.
    fn applied(
        &mut self,
        node: &mut Node,
        (keyword, value): (&str, &'s Value),
        here: &str,
        resource: &'s Value,
    ) {
        let mut part = |schema: &'s Value, step: &str| {
            let at = if step.is_empty() { here.to_owned() } else { below(here, step) };
            self.part(schema, resource, at)
        };
        match (holds(keyword), value) {
            (Holds::Same, schema) => node.same.push(part(schema, "")),
            (Holds::SameList, Value::Array(list)) => {
                let each = list.iter().enumerate();
                node.same.extend(each.map(|(index, one)| part(one, &index.to_string())));
            }
            (Holds::NamedSame, Value::Object(named)) => {
                node.same.extend(named.iter().map(|(name, one)| part(one, name)));
            }
            (Holds::NamedParts, Value::Object(named)) if keyword == "properties" => {
                let each = named.iter().map(|(name, one)| (name.clone(), part(one, name)));
                node.named = each.collect();
            }
            (Holds::NamedParts, Value::Object(named)) => {
                node.patterns = named.iter().map(|(name, one)| part(one, name)).collect();
                node.per_name_byte = named.keys().map(|name| states(name)).sum();
            }
            (Holds::PartList, Value::Array(list)) => {
                let each = list.iter().enumerate();
                node.prefix = each.map(|(index, one)| part(one, &index.to_string())).collect();
            }
            (Holds::Part, schema) => {
                node.asks_again |= keyword.starts_with("unevaluated");
                let place = match keyword {
                    "additionalProperties" | "unevaluatedProperties" => &mut node.others,
                    "propertyNames" => &mut node.names,
                    // It says something about a text, and nothing is held against it.
                    "contentSchema" => return,
                    _ => &mut node.items,
                };
                place.push(part(schema, ""));
            }
            (_, _) => {}
        }
    }

    /// The part that a reference leads to, within the document that it stands in.
    fn referred(&mut self, target: &str, resource: &'s Value) -> Option<Part> {
        let fragment = percent_decoded(target.strip_prefix('#')?);
        let pointed = resource.pointer(&fragment).map(|found| (found, resource));
        let pointed = pointed.or_else(|| Some((self.root.pointer(&fragment)?, self.root)));
        let anchored = self.anchors.get(fragment.as_str()).and_then(|all| all.first());
        let (found, resource) = pointed.or_else(|| Some((*anchored?, self.root)))?;
        let at = if fragment.starts_with('/') { fragment } else { String::new() };
        Some(self.part(found, resource, at))
    }

    /// The same for one that depends on the way there. Where it may lead to several parts, what it costs
    /// cannot be counted.
    fn dynamically(&mut self, target: &str, here: &str) -> Result<Option<Part>, Fault> {
        let name = target.strip_prefix('#').unwrap_or(target);
        let count = self.anchors.get(name).map_or(0, Vec::len);
        match count {
            0 | 1 => Ok(self.referred(target, self.root)),
            _ => Err(Fault::new(format!(
                "`{target}` may mean several anchors, so what the schema costs cannot be counted"
            ))
            .at(here)
            .help("give each `$dynamicAnchor` a name of its own, or use `$ref`")),
        }
    }
}

fn collect_anchors<'s>(schema: &'s Value, anchors: &mut BTreeMap<&'s str, Vec<&'s Value>>) {
    match schema {
        Value::Object(fields) => {
            for key in ["$anchor", "$dynamicAnchor"] {
                if let Some(name) = fields.get(key).and_then(Value::as_str) {
                    anchors.entry(name).or_default().push(schema);
                }
            }
            fields.values().for_each(|value| collect_anchors(value, anchors));
        }
        Value::Array(items) => items.iter().for_each(|value| collect_anchors(value, anchors)),
        _ => {}
    }
}

/// What looking at a part itself costs: its keywords, and whatever a value is compared with.
fn weight(fields: &Map<String, Value>) -> u64 {
    let compared = ["enum", "const", "required", "dependentRequired"].map(|name| fields.get(name));
    let compared: u64 = compared.into_iter().flatten().map(parts_of).sum();
    1 + fields.len() as u64 / 2 + compared
}

fn parts_of(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(parts_of).sum::<u64>(),
        Value::Object(fields) => 1 + fields.values().map(parts_of).sum::<u64>(),
        _ => 1,
    }
}

/// About how many states a pattern has, which each byte of a text may visit; counted repetitions multiply
/// what they repeat.
fn states(pattern: &str) -> u64 {
    let mut outer: Vec<u64> = Vec::new();
    let (mut total, mut last) = (0_u64, 0_u64);
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                letters.next();
                (total, last) = (total.saturating_add(last), 1);
            }
            '[' => {
                while let Some(inside) = letters.next().filter(|inside| *inside != ']') {
                    if inside == '\\' {
                        letters.next();
                    }
                }
                (total, last) = (total.saturating_add(last), 1);
            }
            '(' => {
                outer.push(total.saturating_add(last));
                (total, last) = (0, 0);
            }
            ')' => (total, last) = (outer.pop().unwrap_or(0), total.saturating_add(last)),
            '{' => {
                let mut bounds = String::new();
                while let Some(bound) = letters.next_if(|bound| matches!(bound, '0'..='9' | ',')) {
                    bounds.push(bound);
                }
                let most = bounds.split(',').filter_map(|bound| bound.parse::<u64>().ok()).max();
                last = last.saturating_mul(most.unwrap_or(1).max(1));
            }
            '}' | '*' | '+' | '?' | '^' | '$' | '|' => {}
            _ => (total, last) = (total.saturating_add(last), 1),
        }
    }
    let open: u64 = outer.iter().fold(0, |sum, one| sum.saturating_add(*one));
    open.saturating_add(total).saturating_add(last).max(1)
}

fn percent_decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = match after {
            [high, low, ..] if *first == b'%' => std::str::from_utf8(&[*high, *low])
                .ok()
                .and_then(|digits| u8::from_str_radix(digits, 16).ok()),
            _ => None,
        };
        match digits {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| fragment.to_owned())
}
