//! Requests in flight: cancellation of requests by their ids.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_driver::Cancel;
use rmcp::model::RequestId;

/// The requests of a client that are not answered yet.
#[derive(Clone, Default)]
pub(super) struct InFlightRequests(Arc<Mutex<HashMap<RequestId, Cancel>>>);

impl InFlightRequests {
    /// Adds a request, until its guard is dropped.
    pub(super) fn add(&self, id: &RequestId) -> InFlightRequest {
        let cancel = Cancel::new();
        self.requests().insert(id.clone(), cancel.clone());
        InFlightRequest { requests: self.clone(), id: id.clone(), cancel }
    }

    /// Cancels a request by its client's wish; an unknown one was answered before.
    pub(super) fn cancel(&self, id: &RequestId) {
        if let Some(cancel) = self.requests().get(id) {
            cancel.cancel();
        }
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<RequestId, Cancel>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in flight.
pub(super) struct InFlightRequest {
    requests: InFlightRequests,
    id: RequestId,
    /// Fires when the client cancels the request.
    pub(super) cancel: Cancel,
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.requests.requests().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_is_cancelled_by_id_until_answered() {
        let requests = InFlightRequests::default();
        let first = requests.add(&RequestId::Number(1));
        requests.cancel(&RequestId::Number(2));
        assert!(!first.cancel.is_cancelled());
        requests.cancel(&RequestId::Number(1));
        assert!(first.cancel.is_cancelled());
        drop(first);
        assert!(requests.requests().is_empty());
    }
}
