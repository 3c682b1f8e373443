//! What is wrong with a store is found.

use haft_ledger::{SqliteOptions, Verification, verify_store};

/// A store that is as it was written.
pub(crate) fn sound(options: &SqliteOptions) -> Verification {
    let found = verify_store(options);
    assert!(found.is_sound(), "{:?}", found.findings);
    found
}
