//! In-flight calls of this process: registers each one, so that no other task takes it over.

use std::collections::hash_map::Entry;

use haft_driver::Cancel;
use haft_model::InvocationId;

use crate::Runtime;

/// The registration of a call; dropping it unregisters the call.
pub(crate) struct InFlightCall<'r> {
    runtime: &'r Runtime,
    id: InvocationId,
    /// Cancels the call.
    pub(crate) wish: Cancel,
}

impl Runtime {
    /// Registers a call; `None` if it is registered already.
    pub(crate) fn enlist(&self, id: &InvocationId) -> Option<InFlightCall<'_>> {
        let wish = Cancel::new();
        match self.running().entry(id.clone()) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(place) => place.insert(wish.clone()),
        };
        Some(InFlightCall { runtime: self, id: id.clone(), wish })
    }

    /// Registers a call under a fresh id.
    pub(crate) fn enlist_new(&self, id: &InvocationId) -> InFlightCall<'_> {
        let wish = Cancel::new();
        self.running().insert(id.clone(), wish.clone());
        InFlightCall { runtime: self, id: id.clone(), wish }
    }
}

impl Drop for InFlightCall<'_> {
    fn drop(&mut self) {
        self.runtime.running().remove(&self.id);
        self.runtime.call_ended.notify_waiters();
    }
}
