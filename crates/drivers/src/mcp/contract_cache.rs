//! Short-lived cache per contract: spares a busy driver the disk on each call. A change on disk is
//! seen after at most one second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use haft_model::{EffectProfile, Plan, Stop, ToolKey};

/// Time to live of an entry.
const MOMENT: Duration = Duration::from_secs(1);

/// One value for each contract and each set of paths that policy closes to it.
pub(super) struct ContractCache<T>(Mutex<HashMap<(ToolKey, String), CachedValue<T>>>);

struct CachedValue<T> {
    effects: Arc<EffectProfile>,
    since: Instant,
    value: Arc<T>,
}

impl<T> Default for ContractCache<T> {
    fn default() -> ContractCache<T> {
        ContractCache(Mutex::default())
    }
}

impl<T> ContractCache<T> {
    /// Returns the cached value for a plan and its closed paths, or computes it.
    pub(super) fn get(
        &self,
        plan: &Plan,
        closed: String,
        work_out: impl FnOnce() -> Result<T, Stop>,
    ) -> Result<Arc<T>, Stop> {
        let holds = |known: &CachedValue<T>| {
            Arc::ptr_eq(&known.effects, &plan.effects) && known.since.elapsed() < MOMENT
        };
        let key = (plan.tool.clone(), closed);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(&key).filter(|known| holds(known)) {
            return Ok(known.value.clone());
        }
        let (effects, since, value) = (plan.effects.clone(), Instant::now(), Arc::new(work_out()?));
        all.insert(key, CachedValue { effects, since, value: value.clone() });
        Ok(value)
    }
}
