//! Phase 8: the order in which calls run. Safe ones side by side, others alone with what they touch.

mod area;
mod line;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_model::{Actor, Code, MutationClass, ResolvedFacts, Stop};
use haft_notation::Template;
use serde_json::json;

use crate::understand::Understood;
use area::Area;
use line::{Line, Shared, Taken};
#[cfg(test)]
pub(crate) use tests::Dice;

/// Where calls wait for their turn.
pub(crate) struct Queue {
    line: Shared,
    max_parallel: usize,
}

/// A turn. It ends when this is dropped.
pub(crate) struct Slot {
    line: Shared,
    /// What it holds in the line; 0 for nothing but a place.
    ticket: u64,
}

/// What a call wants before it runs.
pub(crate) struct Wanted<'w> {
    /// The names of what it touches.
    pub(crate) locks: &'w BTreeSet<String>,
    /// Whether others may touch the same beside it.
    pub(crate) shared: bool,
    /// Who calls: actors take turns where places are scarce.
    pub(crate) actor: Arc<Actor>,
    /// How urgent it is among the calls of its actor.
    pub(crate) priority: i32,
}

/// A place in the line that is given up when the one who stands there goes away.
struct Standing<'l> {
    line: &'l Shared,
    ticket: u64,
}

impl Queue {
    pub(crate) fn new(max_parallel: usize) -> Queue {
        let max_parallel = max_parallel.max(1);
        Queue { line: Shared::new(Line::new(max_parallel).into()), max_parallel }
    }

    pub(crate) fn max_parallel(&self) -> u64 {
        self.max_parallel as u64
    }

    /// Waits for a turn: for a place and everything the call touches, given at once.
    pub(crate) async fn enter(&self, wanted: Wanted<'_>) -> Result<Slot, Stop> {
        let areas = wanted.locks.iter().map(|name| Area::of(name)).collect();
        let (standing, told) = {
            let mut line = line::open(&self.line);
            match line.at_once(Taken::new(areas, wanted.shared)) {
                Ok(ticket) => return Ok(Slot::new(self.line.clone(), ticket)),
                Err(taken) => {
                    let (ticket, told) = line.join(wanted.actor, wanted.priority, taken);
                    (Standing { line: &self.line, ticket }, told)
                }
            }
        };
        let slot = told.await;
        drop(standing);
        slot.map_err(|_| Stop::new(Code::Internal, "the queue lost a call that waited in it"))
    }
}

impl Slot {
    fn new(line: Shared, ticket: u64) -> Slot {
        Slot { line, ticket }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let given = line::open(&self.line).end(&self.line, self.ticket);
        line::tell(given);
    }
}

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        let given = line::open(self.line).leave(self.line, self.ticket);
        line::tell(given);
    }
}

/// What a call holds while it runs: what its contract names, else what it changes, else its tool.
/// One that may run beside others holds only what its contract names, and shares it.
pub(crate) fn locks(
    understood: &Understood,
    facts: ResolvedFacts,
) -> Result<BTreeSet<String>, Stop> {
    let extras = &understood.entry.contract.tool.extras;
    if extras.concurrency.locks.is_empty() && facts.is_concurrency_safe {
        return Ok(BTreeSet::new());
    }
    let scope = json!({ "input": understood.plan.input, "context": understood.plan.context });
    let mut named = BTreeSet::new();
    for text in &extras.concurrency.locks {
        let lock = Template::parse(text).and_then(|template| template.render(&scope));
        let lock = lock.map_err(|fault| {
            Stop::new(Code::InputValue, format!("the lock `{text}` cannot be named: {fault}"))
        })?;
        named.insert(lock.as_str().map_or_else(|| lock.to_string(), str::to_owned));
    }
    if named.is_empty() {
        let changed = understood.plan.effects.mutates.iter();
        named.extend(
            changed.filter(|entry| MutationClass::of(entry) != MutationClass::Other).cloned(),
        );
    }
    if named.is_empty() {
        named.insert(format!("tool:{}", understood.plan.tool));
    }
    Ok(named)
}
