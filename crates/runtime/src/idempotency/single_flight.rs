//! Single-flight within this process: one call executes an intent, equal calls await its envelope.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_model::{Digest, Envelope, Intent, InvocationId};
use tokio::sync::watch;

type SharedEnvelope = Option<Arc<Envelope>>;

/// Flights of this process, by intent.
#[derive(Default)]
pub(crate) struct SingleFlight(Mutex<HashMap<Digest, FlightFollower>>);

/// A flight as an equal call sees it.
#[derive(Clone)]
pub(crate) struct FlightFollower {
    pub(super) id: InvocationId,
    pub(super) binding: Digest,
    answer: watch::Receiver<SharedEnvelope>,
}

/// The right of one call to execute an intent in this process; dropping it ends the flight.
pub(crate) struct FlightOwner {
    under_way: Arc<SingleFlight>,
    /// The intent; `None` once the flight has its envelope.
    intent: Option<Digest>,
    answer: watch::Sender<SharedEnvelope>,
}

impl SingleFlight {
    fn all(&self) -> MutexGuard<'_, HashMap<Digest, FlightFollower>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a flight, or returns the one under way.
    pub(crate) fn take(
        self: &Arc<SingleFlight>,
        identity: &Intent,
        id: &InvocationId,
    ) -> Result<FlightOwner, FlightFollower> {
        match self.all().entry(identity.intent.clone()) {
            Entry::Occupied(other) => Err(other.get().clone()),
            Entry::Vacant(place) => {
                let (tell, answer) = watch::channel(None);
                place.insert(FlightFollower {
                    id: id.clone(),
                    binding: identity.binding.clone(),
                    answer,
                });
                let intent = Some(identity.intent.clone());
                Ok(FlightOwner { under_way: self.clone(), intent, answer: tell })
            }
        }
    }
}

impl FlightFollower {
    /// Awaits the envelope of the flight; `None` where it ended without one.
    pub(super) async fn answer(mut self) -> SharedEnvelope {
        let answered = self.answer.wait_for(Option::is_some).await;
        answered.ok().and_then(|answer| answer.clone())
    }
}

impl FlightOwner {
    /// Sends the envelope to all followers and ends the flight. Later calls find the result in the
    /// ledger.
    pub(crate) fn answered(mut self, envelope: &Envelope) {
        let listed = self.intent.take().and_then(|intent| self.under_way.all().remove(&intent));
        // The flight is out of the map, so no follower can join; one receiver is the map's own.
        if listed.is_some() && self.answer.receiver_count() > 1 {
            self.answer.send_replace(Some(Arc::new(envelope.clone())));
        }
    }
}

impl Drop for FlightOwner {
    fn drop(&mut self) {
        if let Some(intent) = &self.intent {
            self.under_way.all().remove(intent);
        }
    }
}
