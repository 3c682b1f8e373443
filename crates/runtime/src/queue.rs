//! Phase 8: the order in which calls run. Safe ones side by side, others alone with what they touch.

mod area;
mod ground;
mod line;
#[cfg(test)]
mod model;
mod places;
mod round;
mod sync;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use haft_model::{Code, MutationClass, ResolvedFacts, Stop};
use haft_notation::Template;
use serde_json::json;

use crate::understand::Understood;
pub(crate) use places::{Queue, Slot, Wanted};
#[cfg(test)]
pub(crate) use tests::Dice;

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
