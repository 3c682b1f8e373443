//! What it costs to hold a value against a schema, counted before it is done.
//!
//! A schema of a few kilobytes can ask for more steps than there is time: references expand, and
//! applicators of one place multiply. The validator cannot be interrupted, so what would take too long is
//! refused: when the schema is read, where it alone decides, and when a value is there, where both do.

mod count;
mod graph;

use serde_json::Value;

use crate::Fault;
use graph::Graph;

/// How many subschemas may apply to one place of a value, all references expanded. The largest documents
/// that are imported by the tests need a few hundred.
const MOST_IN_PLACE: u64 = 20_000;

/// How many of them may stand one inside the other: the validator calls itself for each.
const DEEPEST_IN_PLACE: u32 = 64;

/// Up to so many steps a check is made where it is wanted; that takes a few milliseconds.
const FEW_STEPS: u64 = 50_000;

/// More steps than this are never made: about a second.
pub(crate) const MOST_STEPS: u64 = 20_000_000;

/// From so many calls one inside the other on, a check gets a stack of its own.
const FEW_FRAMES: u64 = 600;

/// The stack of a check that goes deep.
const LARGE_STACK: usize = 256 << 20;

/// What a check comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// It is made where it is wanted.
    Light,
    /// It takes long enough to be made elsewhere, on a stack of its own.
    Heavy,
    /// It is not made.
    Excessive,
}

/// What checks by one schema cost.
#[derive(Debug)]
pub(crate) struct Cost {
    graph: Graph,
    /// All paths through the schema, by their weights; none where it goes round.
    paths: Option<u64>,
    in_place_depth: u32,
    has_patterns: bool,
}

impl Cost {
    /// The cost of a schema, or why it can never be asked.
    pub(crate) fn of(schema: &Value) -> Result<Cost, Fault> {
        let graph = Graph::of(schema)?;
        let in_place = graph.in_place()?;
        if in_place.steps > MOST_IN_PLACE || in_place.depth > DEEPEST_IN_PLACE {
            return Err(Fault::new(format!(
                "the schema is too costly: with its references expanded, more than {} of its parts apply \
                 to one value, or more than {DEEPEST_IN_PLACE} one inside the other",
                MOST_IN_PLACE
            ))
            .at(in_place.pointer)
            .help("refer to a definition once, and nest `allOf`, `anyOf` and `oneOf` less deep"));
        }
        let (paths, has_patterns) = (graph.paths(), graph.has_patterns());
        Ok(Cost { graph, paths, in_place_depth: in_place.depth, has_patterns })
    }

    /// What holding a value against the schema comes to.
    pub(crate) fn weigh(&self, value: &Value) -> Weight {
        let size = Size::of(value);
        if size.depth >= Size::DEEPEST {
            return Weight::Excessive;
        }
        let frames = size.depth.saturating_mul(u64::from(self.in_place_depth) + 2);
        let is_shallow = frames <= FEW_FRAMES;
        let most = self.paths.map(|paths| {
            let text = if self.has_patterns { size.bytes } else { size.bytes / 64 };
            paths.saturating_mul(size.nodes.saturating_add(text))
        });
        if is_shallow && most.is_some_and(|most| most <= FEW_STEPS) {
            return Weight::Light;
        }
        let count = || self.graph.steps(value, MOST_STEPS);
        let steps = if is_shallow { count() } else { on_large_stack(count).flatten() };
        match steps {
            Some(steps) if steps <= FEW_STEPS && is_shallow => Weight::Light,
            Some(steps) if steps <= MOST_STEPS => Weight::Heavy,
            Some(_) | None => Weight::Excessive,
        }
    }
}

/// Does something on a stack that is large enough for what goes deep; none where there is no thread to be
/// had.
pub(crate) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(LARGE_STACK);
        thread.spawn_scoped(scope, work).ok()?.join().ok()
    })
}

/// How large a value is.
struct Size {
    nodes: u64,
    bytes: u64,
    depth: u64,
}

impl Size {
    /// Nothing that is read from a text is deeper; what is, counts as if it were endless.
    const DEEPEST: u64 = 1000;

    fn of(value: &Value) -> Size {
        let mut size = Size { nodes: 0, bytes: 0, depth: 0 };
        size.add(value, 1);
        size
    }

    fn add(&mut self, value: &Value, depth: u64) {
        self.nodes += 1;
        self.depth = self.depth.max(depth);
        if depth >= Size::DEEPEST {
            self.nodes = u64::MAX / 2;
            return;
        }
        match value {
            Value::String(text) => self.bytes += text.len() as u64,
            Value::Array(items) => items.iter().for_each(|item| self.add(item, depth + 1)),
            Value::Object(fields) => {
                for (name, item) in fields {
                    self.bytes += name.len() as u64;
                    self.add(item, depth + 1);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
