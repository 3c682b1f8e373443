//! Call queue (phase 8): concurrency-safe calls run in parallel, the others hold exclusive locks on
//! what they touch.

mod area;
mod fair_share;
mod lock_table;
#[cfg(test)]
mod model;
mod slots;
mod sync;
#[cfg(test)]
mod tests;
mod wait_queue;

use std::collections::BTreeSet;

use haft_catalog::CatalogEntry;
use haft_model::{Code, MutationClass, ResolvedFacts, Stop};
use haft_notation::Template;
use serde_json::{Value, json};

use crate::plan::BoundPlan;
pub(crate) use slots::{Aside, Queue, Slot, SlotRequest};
#[cfg(test)]
pub(crate) use tests::{Dice, overlap};

/// Lock names that a call holds while it runs.
pub(crate) fn locks(planned: &BoundPlan, facts: ResolvedFacts) -> Result<BTreeSet<String>, Stop> {
    let plan = &planned.plan;
    let scope = (&*plan.input, &plan.context);
    named(&planned.entry, &plan.effects.mutates, scope, facts.is_concurrency_safe)
}

/// Lock names of a call: those that its contract declares, else the resources it mutates, else its
/// tool. A concurrency-safe call takes only the declared locks, and takes them shared.
pub(crate) fn named<'m>(
    entry: &CatalogEntry,
    mutates: impl IntoIterator<Item = &'m String>,
    (input, context): (&Value, &Value),
    safe: bool,
) -> Result<BTreeSet<String>, Stop> {
    let locks = &entry.contract.tool.extras.concurrency.locks;
    if locks.is_empty() && safe {
        return Ok(BTreeSet::new());
    }
    let scope = json!({ "input": input, "context": context });
    let mut named = BTreeSet::new();
    for text in locks {
        let lock = Template::parse(text).and_then(|template| template.render(&scope));
        let lock = lock.map_err(|fault| {
            Stop::new(Code::InputValue, format!("the lock `{text}` cannot be named: {fault}"))
        })?;
        named.insert(lock.as_str().map_or_else(|| lock.to_string(), str::to_owned));
    }
    if named.is_empty() {
        let changed = mutates.into_iter();
        named.extend(
            changed.filter(|entry| MutationClass::of(entry) != MutationClass::Other).cloned(),
        );
    }
    if named.is_empty() {
        named.insert(format!("tool:{}", entry.contract.key()));
    }
    Ok(named)
}
