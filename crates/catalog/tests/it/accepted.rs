//! Accepted snapshot: the catalog from which tests of calls begin.

use std::sync::Arc;

use haft_catalog::{Parts, Snapshot};
use haft_contract::Lock;

/// Builds a snapshot under a lock that accepts every contract and driver as it is.
pub(crate) fn accepted(parts: Parts) -> Snapshot {
    let new = Snapshot::build(parts.clone(), None);
    let tools = new
        .entries()
        .map(|entry| (entry.contract.key().to_string(), Arc::new(entry.acceptance())))
        .collect();
    let lock = Arc::new(Lock { tools, ..Lock::default() });
    Snapshot::build(Parts { lock, ..parts }, None)
}
