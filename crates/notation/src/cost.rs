//! Cost limit of schema validation: the steps of a check are counted before it is made.
//!
//! A schema of a few kilobytes can demand more steps than there is time: references expand, and
//! applicators of one place multiply. The validator cannot be cancelled, so a check that would take
//! too long is refused: when the schema is read, where it alone decides, and when the value is
//! known, where both do.

mod count;
mod graph;
mod pattern;
mod size;

use serde_json::Value;

use crate::NotationFault;
use count::NameCost;
use graph::Graph;
pub(crate) use graph::{DIALECT, Outside};
use size::Size;
pub use size::is_small;

/// How many subschemas may apply to one place of a value, all references expanded. The largest documents
/// that are imported by the tests need a few hundred.
const MOST_IN_PLACE: u64 = 20_000;

/// How many of them may stand one inside the other: the validator calls itself for each.
const DEEPEST_IN_PLACE: u32 = 64;

/// Up to this many steps a check runs inline; that takes a few milliseconds.
const FEW_STEPS: u64 = 50_000;

/// Upper bound of steps; a check that needs more, about a second, never runs.
pub(crate) const MOST_STEPS: u64 = 20_000_000;

/// Above this nesting depth a check runs on a stack of its own.
const FEW_FRAMES: u64 = 600;

/// The stack size of a deep check, in bytes.
const LARGE_STACK: usize = 256 << 20;

/// The cost class of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// The check runs inline.
    Light,
    /// The check runs on a thread with a large stack.
    Heavy,
    /// The check is refused.
    Excessive,
}

/// The cost model of checks by one schema.
#[derive(Debug)]
pub(crate) struct Cost {
    graph: Graph,
    names: Vec<NameCost>,
    /// The weight of all paths through the schema; `None` where the schema is recursive.
    paths: Option<u64>,
    in_place_depth: u32,
    has_patterns: bool,
}

impl Cost {
    /// The cost of a schema, or why it can never be asked.
    pub(crate) fn of(schema: &Value, outside: Outside) -> Result<Cost, NotationFault> {
        let graph = Graph::of(schema, outside)?;
        let in_place = graph.in_place()?;
        if in_place.steps > MOST_IN_PLACE || in_place.depth > DEEPEST_IN_PLACE {
            return Err(NotationFault::new(format!(
                "the schema is too costly: with its references expanded, more than {} of its parts apply \
                 to one value, or more than {DEEPEST_IN_PLACE} one inside the other",
                MOST_IN_PLACE
            ))
            .at(in_place.pointer)
            .help("refer to a definition once, and nest `allOf`, `anyOf` and `oneOf` less deep"));
        }
        let (names, paths, has_patterns) =
            (graph.name_costs(), graph.paths(), graph.has_patterns());
        Ok(Cost { graph, names, paths, in_place_depth: in_place.depth, has_patterns })
    }

    /// Whether a check is certainly short. This takes no longer than such a check, however large the value.
    pub(crate) fn is_light(&self, value: &Value) -> bool {
        Size::small(value).is_some_and(|size| self.is_few(&size, value))
    }

    /// The cost class of validating a value. This may take as long as the check.
    pub(crate) fn weigh(&self, value: &Value) -> Weight {
        let size = Size::of(value);
        if size.depth >= Size::DEEPEST {
            return Weight::Excessive;
        }
        if self.is_few(&size, value) {
            return Weight::Light;
        }
        let count = || self.graph.steps(&self.names, value, MOST_STEPS);
        let steps = if self.is_shallow(&size) { count() } else { on_large_stack(count).flatten() };
        match steps {
            Some(_) => Weight::Heavy,
            None => Weight::Excessive,
        }
    }

    /// Whether a check takes few steps on a stack of ordinary size.
    fn is_few(&self, size: &Size, value: &Value) -> bool {
        let text = if self.has_patterns { size.bytes } else { size.bytes / 64 };
        let most = |paths: u64| paths.saturating_mul(size.nodes.saturating_add(text));
        self.is_shallow(size)
            && (self.paths.is_some_and(|paths| most(paths) <= FEW_STEPS)
                || self.graph.steps(&self.names, value, FEW_STEPS).is_some())
    }

    fn is_shallow(&self, size: &Size) -> bool {
        size.depth.saturating_mul(u64::from(self.in_place_depth) + 2) <= FEW_FRAMES
    }
}

/// Runs `work` on a thread with a large stack; `None` where no thread can be started.
pub(crate) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(LARGE_STACK);
        thread.spawn_scoped(scope, work).ok()?.join().ok()
    })
}

#[cfg(test)]
mod tests;
