//! Missing secrets: which secrets an actor lacks, cached until the file of values changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_drivers::Keeper;
use haft_model::Stop;

use crate::readiness::{Stamp, stamp};

/// Why an actor lacks a secret, by secret and actor, as of one file of values. No opened value is
/// kept.
type MissingSecrets = (Stamp, HashMap<(String, String), Option<Stop>>);

pub(super) struct Secrets {
    /// None where secrets come from elsewhere, which is not asked before they are needed.
    keeper: Option<Arc<Keeper>>,
    seen: Mutex<MissingSecrets>,
}

impl Secrets {
    pub(super) fn new(keeper: Option<Arc<Keeper>>) -> Secrets {
        Secrets { keeper, seen: Mutex::default() }
    }

    /// Of each secret, why the actor lacks it; `None` where only an external vault can tell.
    pub(super) async fn missing(&self, names: &[String], who: &str) -> Option<Vec<Option<Stop>>> {
        let mut missing = Vec::with_capacity(names.len());
        for name in names {
            missing.push(self.looked_up(self.keeper.as_deref()?, name, who).await);
        }
        Some(missing)
    }

    /// Of each secret, whether the actor has it, for callers that cannot wait; `None` where only an
    /// external vault can tell.
    pub(super) fn there(&self, names: &[String], who: &str) -> Option<Vec<bool>> {
        let keeper = self.keeper.as_deref()?;
        Some(names.iter().map(|name| self.there_now(keeper, name, who)).collect())
    }

    fn there_now(&self, keeper: &Keeper, name: &str, who: &str) -> bool {
        let own = keeper.listed(name).is_ok_and(|listed| listed.backend.is_none());
        if !own {
            return keeper.resolves_at_once(name, who).is_ok();
        }
        let (now, of) = (stamp(keeper.strongbox.file()), (name.to_owned(), who.to_owned()));
        if let Some(known) = self.seen(now).1.get(&of) {
            return known.is_none();
        }
        let missing = keeper.resolves_at_once(name, who).err();
        let there = missing.is_none();
        self.seen(now).1.insert(of, missing);
        there
    }

    async fn looked_up(&self, keeper: &Keeper, name: &str, who: &str) -> Option<Stop> {
        let own = keeper.listed(name).is_ok_and(|listed| listed.backend.is_none());
        if !own {
            return keeper.resolves(name, who).await.err();
        }
        let (now, of) = (stamp(keeper.strongbox.file()), (name.to_owned(), who.to_owned()));
        if let Some(known) = self.seen(now).1.get(&of) {
            return known.clone();
        }
        let missing = keeper.resolves(name, who).await.err();
        self.seen(now).1.insert(of, missing.clone());
        missing
    }

    /// The cache of one file of values; a new stamp empties it.
    fn seen(&self, now: Stamp) -> MutexGuard<'_, MissingSecrets> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.0 != now {
            *seen = (now, HashMap::new());
        }
        seen
    }
}
