//! Whether answers reached those who called. One that did not is given to whoever asks again.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_ledger::{Disclosure, Fence, IntentRecord, Store};
use haft_model::{EffectState, InvocationId, KeySource};

use crate::Runtime;

/// The answers of this process that are on record. A call that changed something keeps its lease
/// until its answer was handed over, so a process that dies in between leaves the lease behind.
#[derive(Default)]
pub(crate) struct UndeliveredResults(Mutex<Answers>);

#[derive(Default)]
struct Answers {
    /// Not handed over yet.
    unheard: HashMap<InvocationId, (Fence, Disclosure)>,
    /// Handed over, while the store does not know it yet.
    heard: HashSet<InvocationId>,
    /// Handed over, and the store is to be told of it.
    untold: Vec<(InvocationId, Fence, Disclosure)>,
    /// Whether somebody is telling the store.
    telling: bool,
}

impl UndeliveredResults {
    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a call is over and its answer, which tells this of the effect, not handed over yet.
    pub(crate) fn expect(&self, id: &InvocationId, fence: Fence, told: EffectState) {
        let disclosure = match told {
            EffectState::Unknown => Disclosure::Unknown,
            _ => Disclosure::Outcome,
        };
        self.answers().unheard.insert(id.clone(), (fence, disclosure));
    }

    /// The same for a call of another process whose answer is about to be handed over here.
    pub(crate) fn learn(&self, record: &IntentRecord) {
        if let (Some(lease), false) = (&record.lease, self.is_heard(record)) {
            self.expect(&record.run.invocation_id, lease.fence, record.run.effect_state);
        }
    }

    /// Whether the answer of a call on record was handed over. An intent without a key is on record for
    /// as long as nobody has its outcome: one without a lease was told as unknown, and what was found
    /// out since is news to its caller.
    pub(crate) fn is_heard(&self, record: &IntentRecord) -> bool {
        let found_out = record.intent.source == KeySource::Intent && record.run.ended_at.is_some();
        let released = record.lease.is_none() && !found_out;
        released || self.answers().heard.contains(&record.run.invocation_id)
    }

    /// Notes that an answer was handed over, and tells whether somebody has to tell the store.
    fn hand_over(&self, id: &InvocationId) -> bool {
        let mut answers = self.answers();
        let Some((fence, disclosure)) = answers.unheard.remove(id) else { return false };
        // A caller that heard `unknown` did not hear the outcome: an equal call is the same one until then,
        // also where the store could not be told.
        if disclosure == Disclosure::Outcome {
            answers.heard.insert(id.clone());
        }
        answers.untold.push((id.clone(), fence, disclosure));
        !std::mem::replace(&mut answers.telling, true)
    }

    /// Tells the store, for as long as there is something to tell. What was handed over meanwhile
    /// goes together.
    async fn tell(&self, store: &dyn Store) {
        loop {
            let told = {
                let mut answers = self.answers();
                answers.telling = !answers.untold.is_empty();
                std::mem::take(&mut answers.untold)
            };
            if told.is_empty() {
                return;
            }
            // A lease that cannot be given back makes an equal call the same one for as long as the
            // contract says: too careful, and not wrong.
            if store.release_all(told.clone()).await.is_ok() {
                let mut answers = self.answers();
                for (id, ..) in &told {
                    answers.heard.remove(id);
                }
            }
        }
    }
}

impl Runtime {
    /// Says that an answer reached whoever called, and waits until that is on record. Until then an
    /// equal call is taken for the same one sent again. Only for callers who asked for it with
    /// [`crate::Receipt::Acknowledged`]; others are taken to have the answer when they are given it.
    pub async fn handed_over(&self, id: &InvocationId) {
        self.delivery.hand_over(id);
        // Whoever is telling the store of others already does not mind.
        self.delivery.tell(&*self.store).await;
    }

    /// The same, without waiting for the store.
    pub fn hand_over(&self, id: &InvocationId) {
        if self.delivery.hand_over(id) {
            let (store, delivery) = (self.store.clone(), self.delivery.clone());
            tokio::spawn(async move { delivery.tell(&*store).await });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delivered_unknown_is_no_heard_outcome() {
        let delivery = UndeliveredResults::default();
        for (id, told, heard) in
            [("inv_1", EffectState::Committed, true), ("inv_2", EffectState::Unknown, false)]
        {
            let id = InvocationId::from(id);
            delivery.expect(&id, Fence(1), told);
            delivery.hand_over(&id);
            assert_eq!(delivery.answers().heard.contains(&id), heard, "{told}");
        }
    }
}
