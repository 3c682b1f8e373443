//! Cost estimate: counts what a schema expands to, and the steps that a value takes through it.
//!
//! The estimate is itself bounded: it ends at the first step beyond its budget, and every pair of a part and
//! a place is counted once.

use std::collections::HashMap;

use serde_json::Value;

use super::graph::{Graph, Node, SchemaPart};
use crate::NotationFault;

/// How many states of a pattern cost as much as one step of the validator.
const STATES: u64 = 16;

/// How many pairs of a part and a value are remembered while steps are counted.
const MOST_PAIRS: usize = 1 << 20;

/// How many subschemas of the meta-schema apply to one place, and how deep they stand in each other: it is
/// made of eight vocabularies.
const META_STEPS: u64 = 64;
const META_DEPTH: u32 = 8;

/// What applies to one place, at the part where it is the most.
pub(super) struct InPlace {
    pub(super) steps: u64,
    pub(super) depth: u32,
    pub(super) pointer: String,
}

/// Where a walk over the graph is.
#[derive(Clone, Copy, PartialEq)]
enum Mark<T> {
    Unseen,
    Open,
    Done(T),
}

/// An edge leads back to where the walk came from.
struct GoesRound(SchemaPart);

impl Graph {
    /// What applies to one place, all references expanded.
    pub(super) fn in_place(&self) -> Result<InPlace, NotationFault> {
        let join = |node: &Node, below: &[(u64, u32)]| {
            let again = if node.asks_again { 3 } else { 1 };
            let own = if node.is_meta_schema { (META_STEPS, META_DEPTH) } else { (1, 0) };
            let steps = below.iter().fold(0_u64, |sum, (steps, _)| sum.saturating_add(*steps));
            let depth = below.iter().map(|(_, depth)| depth.saturating_add(1)).max().unwrap_or(0);
            (steps.saturating_mul(again).saturating_add(own.0), depth.max(own.1))
        };
        let found = self.folded(|node| node.same.clone(), join).map_err(|GoesRound(part)| {
            let pointer = self.nodes.get(part).map(|node| node.pointer.clone()).unwrap_or_default();
            NotationFault::new("the schema refers to itself without going deeper, so it never ends")
                .at(pointer)
                .help("put the reference below `properties` or `items`")
        })?;
        let most = found.iter().zip(&self.nodes).max_by_key(|((steps, _), _)| *steps);
        let depth = found.iter().map(|(_, depth)| *depth).max().unwrap_or(0);
        Ok(InPlace {
            steps: most.map_or(0, |((steps, _), _)| *steps),
            pointer: most.map(|(_, node)| node.pointer.clone()).unwrap_or_default(),
            depth,
        })
    }

    /// The weight of all paths through the schema: what one place of a value can cost at most. None where
    /// it goes round, or depends on how many members a value has.
    pub(super) fn paths(&self) -> Option<u64> {
        if self.nodes.iter().any(|node| node.asks_again) {
            return None;
        }
        let join = |node: &Node, below: &[u64]| {
            let per_byte = node.per_byte.saturating_add(node.per_name_byte);
            let own = node.weight.saturating_add(per_byte / STATES);
            below.iter().fold(own, |sum, one| sum.saturating_add(*one))
        };
        self.folded(Node::parts, join).ok()?.first().copied()
    }

    /// Works something out for every part from what it is for the parts that it leads to.
    fn folded<T: Copy + PartialEq>(
        &self,
        edges: impl Fn(&Node) -> Vec<SchemaPart>,
        join: impl Fn(&Node, &[T]) -> T,
    ) -> Result<Vec<T>, GoesRound> {
        let mut marks = vec![Mark::Unseen; self.nodes.len()];
        // Parts that are open, each with the edges that are still to be followed.
        let mut open: Vec<(SchemaPart, Vec<SchemaPart>)> = Vec::new();
        let mut done = Vec::with_capacity(self.nodes.len());
        for start in 0..self.nodes.len() {
            if marks.get(start) == Some(&Mark::Unseen) {
                self.enter(start, &mut marks, &mut open, &edges);
            }
            while let Some((part, rest)) = open.last_mut() {
                let part = *part;
                match rest.pop() {
                    Some(next) => match marks.get(next) {
                        Some(Mark::Open) => return Err(GoesRound(next)),
                        Some(Mark::Unseen) => self.enter(next, &mut marks, &mut open, &edges),
                        Some(Mark::Done(_)) | None => {}
                    },
                    None => {
                        open.pop();
                        let Some(node) = self.nodes.get(part) else { continue };
                        let below: Vec<T> = edges(node)
                            .into_iter()
                            .filter_map(|next| match marks.get(next) {
                                Some(Mark::Done(found)) => Some(*found),
                                Some(Mark::Unseen | Mark::Open) | None => None,
                            })
                            .collect();
                        if let Some(mark) = marks.get_mut(part) {
                            *mark = Mark::Done(join(node, &below));
                        }
                    }
                }
            }
        }
        for mark in marks {
            if let Mark::Done(found) = mark {
                done.push(found);
            }
        }
        Ok(done)
    }

    fn enter<T: Copy>(
        &self,
        part: SchemaPart,
        marks: &mut [Mark<T>],
        open: &mut Vec<(SchemaPart, Vec<SchemaPart>)>,
        edges: &impl Fn(&Node) -> Vec<SchemaPart>,
    ) {
        if let (Some(mark), Some(node)) = (marks.get_mut(part), self.nodes.get(part)) {
            *mark = Mark::Open;
            open.push((part, edges(node)));
        }
    }

    /// What a property's name costs at every part. A name has no members, so this depends on its length
    /// alone, and names are charged without a walk over what the part expands to.
    pub(super) fn name_costs(&self) -> Vec<NameCost> {
        let join = |node: &Node, below: &[NameCost]| {
            let own = NameCost { weight: node.weight, per_byte: node.per_byte };
            below.iter().fold(own, |sum, one| NameCost {
                weight: sum.weight.saturating_add(one.weight),
                per_byte: sum.per_byte.saturating_add(one.per_byte),
            })
        };
        self.folded(|node| node.same.clone(), join).unwrap_or_default()
    }

    /// How many steps a value takes; none where they are more than `most`, or where counting them takes as
    /// long as making them.
    pub(super) fn steps(&self, names: &[NameCost], value: &Value, most: u64) -> Option<u64> {
        let most_pairs = usize::try_from(most).unwrap_or(MOST_PAIRS).min(MOST_PAIRS);
        let mut steps = Steps { graph: self, names, most, most_pairs, known: HashMap::new() };
        steps.count(0, value)
    }
}

impl Node {
    /// Every part that it leads to.
    fn parts(&self) -> Vec<SchemaPart> {
        let lists =
            [&self.same, &self.patterns, &self.others, &self.names, &self.prefix, &self.items];
        lists.into_iter().flatten().chain(self.named.values()).copied().collect()
    }
}

/// The cost of a property's name, all references expanded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NameCost {
    weight: u64,
    /// States of patterns that each byte of the name may visit.
    per_byte: u64,
}

impl NameCost {
    fn of(self, name: &str) -> u64 {
        self.weight.saturating_add(per_byte(name, self.per_byte))
    }
}

/// Steps of one value, each pair of a part and a place counted once however often it is reached.
struct Steps<'g> {
    graph: &'g Graph,
    names: &'g [NameCost],
    most: u64,
    most_pairs: usize,
    known: HashMap<(SchemaPart, *const Value), u64>,
}

impl Steps<'_> {
    fn count(&mut self, part: SchemaPart, value: &Value) -> Option<u64> {
        let key = (part, std::ptr::from_ref(value));
        if let Some(known) = self.known.get(&key) {
            return Some(*known);
        }
        let graph = self.graph;
        let node = graph.nodes.get(part)?;
        let mut total = self.sum(node.weight, 0)?;
        let mut members = 0;
        match value {
            Value::String(text) => total = self.sum(total, per_byte(text, node.per_byte))?,
            Value::Array(items) => {
                members = items.len() as u64;
                for (index, item) in items.iter().enumerate() {
                    for part in node.prefix.get(index).into_iter().chain(&node.items) {
                        let below = self.count(*part, item)?;
                        total = self.sum(total, below)?;
                    }
                }
            }
            Value::Object(fields) => {
                members = fields.len() as u64;
                for (name, item) in fields {
                    let named = node.named.get(name);
                    let others = node.others.iter().filter(|_| named.is_none());
                    for part in named.into_iter().chain(others).chain(&node.patterns) {
                        let below = self.count(*part, item)?;
                        total = self.sum(total, below)?;
                    }
                    total = self.sum(total, node.patterns.len() as u64)?;
                    total = self.sum(total, per_byte(name, node.per_name_byte))?;
                    for part in &node.names {
                        total = self.sum(total, self.names.get(*part)?.of(name))?;
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        let again = if node.asks_again { members.saturating_add(2) } else { 1 };
        for part in &node.same {
            let same = self.count(*part, value)?;
            total = self.sum(total, same.saturating_mul(again))?;
        }
        let total = self.sum(total, members)?;
        if self.known.len() >= self.most_pairs {
            return None;
        }
        self.known.insert(key, total);
        Some(total)
    }

    /// A sum within the budget.
    fn sum(&self, total: u64, more: u64) -> Option<u64> {
        let sum = total.saturating_add(more);
        (sum <= self.most).then_some(sum)
    }
}

/// What matching a text costs by the states that each of its bytes may visit.
fn per_byte(text: &str, states: u64) -> u64 {
    (text.len() as u64).saturating_mul(states) / STATES
}
