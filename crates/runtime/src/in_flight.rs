//! The calls that are under way in this process. Nobody else may take one of them up.

use std::collections::hash_map::Entry;

use haft_driver::Cancel;
use haft_model::InvocationId;

use crate::Runtime;

/// A call's name on the list of those under way here; it is struck off when this is dropped.
pub(crate) struct InFlightCall<'r> {
    runtime: &'r Runtime,
    id: InvocationId,
    /// Fires when somebody wants the call called off.
    pub(crate) wish: Cancel,
}

impl Runtime {
    /// Puts a call on the list, unless it is there.
    pub(crate) fn enlist(&self, id: &InvocationId) -> Option<InFlightCall<'_>> {
        let wish = Cancel::new();
        match self.running().entry(id.clone()) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(place) => place.insert(wish.clone()),
        };
        Some(InFlightCall { runtime: self, id: id.clone(), wish })
    }

    /// Puts a call on the list whose id nobody had before.
    pub(crate) fn enlist_new(&self, id: &InvocationId) -> InFlightCall<'_> {
        let wish = Cancel::new();
        self.running().insert(id.clone(), wish.clone());
        InFlightCall { runtime: self, id: id.clone(), wish }
    }
}

impl Drop for InFlightCall<'_> {
    fn drop(&mut self) {
        self.runtime.running().remove(&self.id);
        self.runtime.left.notify_waiters();
    }
}
