//! Phase 8: the order in which calls run. Safe ones side by side, others alone with what they touch.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use haft_model::{Code, MutationClass, ResolvedFacts, Stop};
use haft_notation::Template;
use serde_json::json;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

use crate::understand::Understood;

/// Where calls wait for their turn.
pub(crate) struct Queue {
    places: Arc<Semaphore>,
    max_parallel: usize,
    locks: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

/// A turn. It ends when this is dropped.
pub(crate) struct Slot {
    _place: Option<OwnedSemaphorePermit>,
    _locks: Vec<OwnedMutexGuard<()>>,
}

impl Slot {
    /// The turn of a call that is made for another one, which has its own.
    pub(crate) fn of_another() -> Slot {
        Slot { _place: None, _locks: Vec::new() }
    }
}

impl Queue {
    pub(crate) fn new(max_parallel: usize) -> Queue {
        let max_parallel = max_parallel.max(1);
        Queue {
            places: Arc::new(Semaphore::new(max_parallel)),
            max_parallel,
            locks: Mutex::default(),
        }
    }

    pub(crate) fn max_parallel(&self) -> u64 {
        self.max_parallel as u64
    }

    /// Waits for a turn: first for what the call touches, then for a place.
    pub(crate) async fn enter(&self, locks: &BTreeSet<String>) -> Result<Slot, Stop> {
        // Sorted, so that two calls never wait for each other.
        let mut held = Vec::with_capacity(locks.len());
        for name in locks {
            held.push(self.lock(name).lock_owned().await);
        }
        let place = self.places.clone().acquire_owned().await.ok();
        Ok(Slot { _place: place, _locks: held })
    }

    fn lock(&self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        if locks.len() > 1024 {
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
        }
        locks.entry(name.to_owned()).or_default().clone()
    }
}

/// What a call holds while it runs: what its contract names, else what it changes, else its tool.
pub(crate) fn locks(
    understood: &Understood,
    facts: ResolvedFacts,
) -> Result<BTreeSet<String>, Stop> {
    if facts.is_concurrency_safe {
        return Ok(BTreeSet::new());
    }
    let extras = &understood.entry.contract.tool.extras;
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
