//! Whether answers reached those who called. One that did not is given to whoever asks again.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_ledger::{Fence, IntentRecord, Store};
use haft_model::InvocationId;

use crate::Runtime;

/// The answers of this process that are on record. A call that changed something keeps its lease
/// until its answer was handed over, so a process that dies in between leaves the lease behind.
#[derive(Default)]
pub(crate) struct Delivery(Mutex<Answers>);

#[derive(Default)]
struct Answers {
    /// Not handed over yet.
    unheard: HashMap<InvocationId, Fence>,
    /// Handed over, while the store does not know it yet.
    heard: HashSet<InvocationId>,
}

impl Delivery {
    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a call is over and its answer not handed over yet.
    pub(crate) fn expect(&self, id: &InvocationId, fence: Fence) {
        self.answers().unheard.insert(id.clone(), fence);
    }

    /// The same for a call of another process whose answer is about to be handed over here.
    pub(crate) fn learn(&self, record: &IntentRecord) {
        if let (Some(lease), false) = (&record.lease, self.is_heard(record)) {
            self.expect(&record.run.invocation_id, lease.fence);
        }
    }

    /// Whether the answer of a call on record was handed over.
    pub(crate) fn is_heard(&self, record: &IntentRecord) -> bool {
        record.lease.is_none() || self.answers().heard.contains(&record.run.invocation_id)
    }

    fn hand_over(&self, id: &InvocationId) -> Option<Fence> {
        let mut answers = self.answers();
        let fence = answers.unheard.remove(id)?;
        answers.heard.insert(id.clone());
        Some(fence)
    }
}

impl Runtime {
    /// Says that an answer reached whoever called, and waits until that is on record. Until then an
    /// equal call is taken for the same one sent again. Only for callers who asked for it with
    /// [`crate::Receipt::Acknowledged`]; others are taken to have the answer when they are given it.
    pub async fn handed_over(&self, id: &InvocationId) {
        if let Some(fence) = self.delivery.hand_over(id) {
            released(self.store.clone(), self.delivery.clone(), id.clone(), fence).await;
        }
    }

    /// The same, without waiting for the store.
    pub fn hand_over(&self, id: &InvocationId) {
        if let Some(fence) = self.delivery.hand_over(id) {
            tokio::spawn(released(self.store.clone(), self.delivery.clone(), id.clone(), fence));
        }
    }
}

async fn released(store: Arc<dyn Store>, delivery: Arc<Delivery>, id: InvocationId, fence: Fence) {
    // A lease that cannot be given back makes an equal call the same one for as long as the contract
    // says: too careful, and not wrong.
    if store.release(&id, fence).await.is_ok() {
        delivery.answers().heard.remove(&id);
    }
}
