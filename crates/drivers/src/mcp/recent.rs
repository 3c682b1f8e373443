//! What was worked out for a contract a moment ago, so that a busy driver does not ask the disk for
//! each call. What changes on the disk is seen a moment later.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use haft_model::{EffectProfile, Plan, Stop, ToolKey};

/// How long it holds.
const MOMENT: Duration = Duration::from_secs(1);

/// One thing for each contract, and for each part of the workspace that rules close to it.
pub(super) struct Recent<T>(Mutex<HashMap<(ToolKey, String), RecentAnswers<T>>>);

struct RecentAnswers<T> {
    effects: Arc<EffectProfile>,
    since: Instant,
    value: Arc<T>,
}

impl<T> Default for Recent<T> {
    fn default() -> Recent<T> {
        Recent(Mutex::default())
    }
}

impl<T> Recent<T> {
    /// What is known for a plan and what is closed to it, or what it takes to know it.
    pub(super) fn get(
        &self,
        plan: &Plan,
        closed: String,
        work_out: impl FnOnce() -> Result<T, Stop>,
    ) -> Result<Arc<T>, Stop> {
        let holds = |known: &RecentAnswers<T>| {
            Arc::ptr_eq(&known.effects, &plan.effects) && known.since.elapsed() < MOMENT
        };
        let key = (plan.tool.clone(), closed);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(&key).filter(|known| holds(known)) {
            return Ok(known.value.clone());
        }
        let (effects, since, value) = (plan.effects.clone(), Instant::now(), Arc::new(work_out()?));
        all.insert(key, RecentAnswers { effects, since, value: value.clone() });
        Ok(value)
    }
}
