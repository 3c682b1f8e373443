//! Undelivered results: a write keeps its lease until its result was delivered; a repeated call
//! gets an undelivered one.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_ledger::{Disclosure, Fence, IntentRecord, Store};
use haft_model::{EffectState, InvocationId, KeySource};

use crate::Runtime;

/// Recorded results of this process. A write keeps its lease until its result was delivered, so a
/// process that dies in between leaves the lease behind.
#[derive(Default)]
pub(crate) struct UndeliveredResults(Mutex<Answers>);

#[derive(Default)]
struct Answers {
    /// Not delivered yet.
    undelivered: HashMap<InvocationId, (Fence, Disclosure)>,
    /// Delivered, but the store has not released the lease yet.
    delivered: HashSet<InvocationId>,
    /// Delivered, with a lease to release in the store.
    undelivered_decision: Vec<(InvocationId, Fence, Disclosure)>,
    /// A task is releasing leases.
    telling: bool,
}

impl UndeliveredResults {
    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a result that is recorded and not delivered yet, with the effect it discloses.
    pub(crate) fn expect(&self, id: &InvocationId, fence: Fence, told: EffectState) {
        let disclosure = match told {
            EffectState::Unknown => Disclosure::Unknown,
            _ => Disclosure::Outcome,
        };
        self.answers().undelivered.insert(id.clone(), (fence, disclosure));
    }

    /// The same for a call of another process whose result this process is about to deliver.
    pub(crate) fn learn(&self, record: &IntentRecord) {
        if let (Some(lease), false) = (&record.lease, self.is_delivered(record)) {
            self.expect(&record.run.invocation_id, lease.fence, record.run.effect_state);
        }
    }

    /// Returns true if the recorded result was delivered. An intent without an idempotency key is
    /// on record until its caller has the outcome: one without a lease was delivered as unknown,
    /// and an outcome found since is new to its caller.
    pub(crate) fn is_delivered(&self, record: &IntentRecord) -> bool {
        let found_out = record.intent.source == KeySource::Intent && record.run.ended_at.is_some();
        let released = record.lease.is_none() && !found_out;
        released || self.answers().delivered.contains(&record.run.invocation_id)
    }

    /// Marks a result as delivered; returns true if the caller has to release the lease.
    fn mark_delivered(&self, id: &InvocationId) -> bool {
        let mut answers = self.answers();
        let Some((fence, disclosure)) = answers.undelivered.remove(id) else { return false };
        // A caller that received `unknown` lacks the outcome: an equal call is deduplicated until
        // then, also where the store could not be updated.
        if disclosure == Disclosure::Outcome {
            answers.delivered.insert(id.clone());
        }
        answers.undelivered_decision.push((id.clone(), fence, disclosure));
        !std::mem::replace(&mut answers.telling, true)
    }

    /// Releases leases in batches until none is left.
    async fn release_leases(&self, store: &dyn Store) {
        loop {
            let told = {
                let mut answers = self.answers();
                answers.telling = !answers.undelivered_decision.is_empty();
                std::mem::take(&mut answers.undelivered_decision)
            };
            if told.is_empty() {
                return;
            }
            // A lease that cannot be released deduplicates equal calls for the contract's window,
            // which is safe.
            if store.release_all(told.clone()).await.is_ok() {
                let mut answers = self.answers();
                for (id, ..) in &told {
                    answers.delivered.remove(id);
                }
            }
        }
    }
}

impl Runtime {
    /// Acknowledges the delivery of a result and waits until it is recorded. Until then an equal
    /// call is a duplicate. Only for callers that asked for it with
    /// [`crate::Receipt::Acknowledged`]; for others the return of the result counts as delivery.
    pub async fn confirm_delivery(&self, id: &InvocationId) {
        self.undelivered.mark_delivered(id);
        // A second task may release leases at the same time.
        self.undelivered.release_leases(&*self.store).await;
    }

    /// The same, without waiting for the store.
    pub fn mark_delivered(&self, id: &InvocationId) {
        if self.undelivered.mark_delivered(id) {
            let (store, delivery) = (self.store.clone(), self.undelivered.clone());
            tokio::spawn(async move { delivery.release_leases(&*store).await });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delivered_unknown_is_no_delivered_outcome() {
        let delivery = UndeliveredResults::default();
        for (id, told, delivered) in
            [("inv_1", EffectState::Committed, true), ("inv_2", EffectState::Unknown, false)]
        {
            let id = InvocationId::from(id);
            delivery.expect(&id, Fence(1), told);
            delivery.mark_delivered(&id);
            assert_eq!(delivery.answers().delivered.contains(&id), delivered, "{told}");
        }
    }
}
