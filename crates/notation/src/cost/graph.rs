//! Schema graph: its references followed, each part with those that apply to the same place of a value and
//! those that apply below it.
//!
//! What the validator would follow and the graph cannot is refused, so that nothing applies uncounted.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::pattern::states;
use crate::NotationFault;
use crate::keywords::{Holds, below, holds};

/// A part of a schema, by its place in the graph.
pub(super) type SchemaPart = usize;

/// The dialect of schemas, and the address of its meta-schema.
pub(crate) const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// What a value costs per place where it is validated against the meta-schema.
const META_WEIGHT: u64 = 64;

/// How many states of the meta-schema's patterns each byte of a text may visit.
const META_STATES: u64 = 16;

/// The documents that a schema may refer to besides itself.
#[derive(Clone, Copy)]
pub(crate) enum Outside {
    /// This document, under these addresses. Its cost is counted as if it stood in the schema.
    One(&'static [&'static str], &'static Value),
    /// Documents that the operator chose. Their cost is not counted.
    Trusted,
}

/// A schema with its references followed.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
}

/// One part of a schema.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) pointer: String,
    /// The cost of the part itself, without subschemas.
    pub(super) weight: u64,
    /// How many states of a pattern each byte of a text may visit.
    pub(super) per_byte: u64,
    /// The same for the names of properties.
    pub(super) per_name_byte: u64,
    /// Parts that apply to the same place.
    pub(super) same: Vec<SchemaPart>,
    /// Whether it asks of every member which other parts evaluated it, by running those parts
    /// again.
    pub(super) asks_again: bool,
    pub(super) named: BTreeMap<String, SchemaPart>,
    /// Parts that may apply to any property.
    pub(super) patterns: Vec<SchemaPart>,
    /// Parts that apply to properties without a part of their own.
    pub(super) others: Vec<SchemaPart>,
    /// Parts that apply to the names of properties.
    pub(super) names: Vec<SchemaPart>,
    pub(super) prefix: Vec<SchemaPart>,
    /// Parts that apply to items.
    pub(super) items: Vec<SchemaPart>,
    /// Whether it stands for the meta-schema, which applies to every value inside a value.
    pub(super) is_meta_schema: bool,
}

/// A schema that is still to be read, with the document that its references begin at.
struct Pending<'s> {
    part: SchemaPart,
    schema: &'s Value,
    resource: &'s Value,
    pointer: String,
}

struct Builder<'s> {
    root: &'s Value,
    outside: Outside,
    meta_schema: Option<SchemaPart>,
    nodes: Vec<Node>,
    known: HashMap<(*const Value, *const Value), SchemaPart>,
    pending: Vec<Pending<'s>>,
    anchors: BTreeMap<&'s str, Vec<&'s Value>>,
}

impl Graph {
    /// The graph of a schema, or the first reference that cannot be followed.
    pub(super) fn of(schema: &Value, outside: Outside) -> Result<Graph, NotationFault> {
        let mut anchors = BTreeMap::new();
        collect_anchors(schema, &mut anchors);
        let mut builder = Builder {
            root: schema,
            outside,
            meta_schema: None,
            nodes: Vec::new(),
            known: HashMap::new(),
            pending: Vec::new(),
            anchors,
        };
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
    fn part(&mut self, schema: &'s Value, resource: &'s Value, pointer: String) -> SchemaPart {
        let resource = if is_resource(schema) { schema } else { resource };
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

    fn read(&mut self, next: Pending<'s>) -> Result<Node, NotationFault> {
        let Pending { schema, resource, pointer, .. } = next;
        let Value::Object(fields) = schema else {
            return Ok(Node { pointer, weight: 1, ..Node::default() });
        };
        let is_root = std::ptr::eq(schema, self.root);
        let mut node = Node {
            weight: weight(fields),
            per_byte: fields.get("pattern").and_then(Value::as_str).map_or(0, states),
            ..Node::default()
        };
        for (keyword, value) in fields {
            let here = below(&pointer, keyword);
            match (keyword.as_str(), value) {
                ("$ref" | "$dynamicRef", Value::String(target)) => {
                    node.same.extend(self.referred(target, resource, &here)?);
                }
                // The validator reads this keyword of older drafts as well.
                ("dependencies", Value::Object(named)) => {
                    let schemas = named.iter().filter(|(_, one)| !one.is_array());
                    let part = |(name, one): (&String, &'s Value)| {
                        self.part(one, resource, below(&here, name))
                    };
                    node.same.extend(schemas.map(part).collect::<Vec<_>>());
                }
                ("$schema", Value::String(dialect)) if !is_root => {
                    check_dialect(dialect, &here)?;
                }
                _ => self.applied(&mut node, (keyword, value), &here, resource),
            }
        }
        Ok(Node { pointer, ..node })
    }

    /// Adds the subschemas of a keyword.
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
                let each = named.keys().map(|name| states(name));
                node.per_name_byte = each.fold(0, u64::saturating_add);
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

    /// The part that a reference leads to, in this schema or in a document outside.
    fn referred(
        &mut self,
        target: &str,
        resource: &'s Value,
        here: &str,
    ) -> Result<Option<SchemaPart>, NotationFault> {
        let Some(fragment) = target.strip_prefix('#') else {
            return self.referred_outside(target, here);
        };
        if !std::ptr::eq(resource, self.root) {
            let words = format!("`{target}` stands in a schema with an `$id` of its own");
            return Err(NotationFault::new(words).at(here).help("leave that `$id` out"));
        }
        let fragment = percent_decoded(fragment);
        let is_pointer = fragment.is_empty() || fragment.starts_with('/');
        let found = match is_pointer {
            true => pointed(resource, &fragment, here)?,
            false => self.anchored(&fragment, here)?,
        };
        let Some(found) = found else {
            return Err(
                NotationFault::new(format!("`{target}` points at nothing in this schema")).at(here)
            );
        };
        let at = if is_pointer { fragment } else { String::new() };
        Ok(Some(self.part(found, resource, at)))
    }

    /// The part with an anchor. Where several have it, the way to a reference decides between them, so that
    /// the cost cannot be counted.
    fn anchored(&self, name: &str, here: &str) -> Result<Option<&'s Value>, NotationFault> {
        match self.anchors.get(name).map(Vec::as_slice) {
            None | Some([]) => Ok(None),
            Some([found]) => Ok(Some(*found)),
            Some([_, _, ..]) => Err(NotationFault::new(format!(
                "`#{name}` may mean several anchors, so what the schema costs cannot be counted"
            ))
            .at(here)
            .help("give each anchor a name of its own, or refer to `#/$defs/…`")),
        }
    }

    fn referred_outside(
        &mut self,
        target: &str,
        here: &str,
    ) -> Result<Option<SchemaPart>, NotationFault> {
        match self.outside {
            Outside::Trusted => Ok(None),
            Outside::One(addresses, document) if addresses.contains(&target) => {
                Ok(Some(self.part(document, document, here.to_owned())))
            }
            // An anchor of this name would take the place of the meta-schema wherever that refers to itself.
            Outside::One(..) if target == DIALECT && !self.anchors.contains_key("meta") => {
                Ok(Some(self.meta_schema(here)))
            }
            Outside::One(..) => Err(NotationFault::new(format!(
                "`{target}` cannot be followed, so what the schema costs cannot be counted"
            ))
            .at(here)
            .help("copy what it refers to into `$defs` and refer to `#/$defs/…`")),
        }
    }

    /// The meta-schema as one part that applies to every value inside a value.
    fn meta_schema(&mut self, here: &str) -> SchemaPart {
        let part = self.nodes.len();
        if let Some(known) = self.meta_schema {
            return known;
        }
        self.meta_schema = Some(part);
        self.nodes.push(Node {
            pointer: here.to_owned(),
            weight: META_WEIGHT,
            per_byte: META_STATES,
            per_name_byte: META_STATES,
            others: vec![part],
            items: vec![part],
            is_meta_schema: true,
            ..Node::default()
        });
        part
    }
}

/// What a JSON pointer leads to within a resource. A pointer into a resource inside it would change what
/// the references there mean.
fn pointed<'s>(
    resource: &'s Value,
    pointer: &str,
    here: &str,
) -> Result<Option<&'s Value>, NotationFault> {
    let steps = pointer.match_indices('/').map(|(end, _)| end).skip(1);
    let mut passed = steps.filter_map(|end| resource.pointer(pointer.get(..end)?));
    match passed.any(is_resource) {
        true => Err(NotationFault::new(format!(
            "`#{pointer}` leads into a schema with an `$id` of its own"
        ))
        .at(here)
        .help("leave that `$id` out")),
        false => Ok(resource.pointer(pointer)),
    }
}

fn is_resource(schema: &Value) -> bool {
    schema.get("$id").is_some_and(Value::is_string)
}

/// Parts in another dialect have other keywords, which are not counted.
fn check_dialect(dialect: &str, here: &str) -> Result<(), NotationFault> {
    match dialect.trim_end_matches('#') == DIALECT {
        true => Ok(()),
        false => Err(NotationFault::new(format!("a part of the schema is written in `{dialect}`"))
            .at(here)
            .help("write it in draft 2020-12, and leave `$schema` out")),
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
