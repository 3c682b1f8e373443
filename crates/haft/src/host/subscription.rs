//! Ledger subscription: follows entries from a position on, without a gap.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use haft_ledger::{LedgerEntry, Store};

use crate::Error;

/// The page size.
const AT_ONCE: usize = 256;

/// A stream of ledger entries, in order.
pub struct Subscription {
    store: Arc<dyn Store>,
    after: Option<u64>,
    ready: VecDeque<LedgerEntry>,
}

impl Subscription {
    pub(crate) fn new(store: Arc<dyn Store>, after: Option<u64>) -> Subscription {
        Subscription { store, after, ready: VecDeque::new() }
    }

    /// The next entry; `None` when the timeout expires first.
    pub async fn next(&mut self, within: Duration) -> Result<Option<LedgerEntry>, Error> {
        if self.ready.is_empty() {
            self.fetch().await?;
        }
        if self.ready.is_empty() {
            self.store.wait_past(self.after, within).await?;
            self.fetch().await?;
        }
        Ok(self.ready.pop_front())
    }

    async fn fetch(&mut self) -> Result<(), Error> {
        let entries = self.store.entries(self.after, AT_ONCE).await?;
        if let Some(last) = entries.last() {
            self.after = Some(last.seq);
        }
        self.ready.extend(entries);
        Ok(())
    }
}
