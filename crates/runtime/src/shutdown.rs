//! Graceful shutdown: refuses new calls, drains running ones, cancels the rest and leaves the
//! remainder to recovery.

use std::time::Duration;

use haft_driver::Cancel;
use haft_model::{Code, Stop};
use tokio::time::Instant;

use crate::Runtime;

impl Runtime {
    /// Takes no more calls and lets those under way end. After `patience`, what may be called off is.
    /// Calls that wait for people go on waiting in the inbox. Gives how many calls are left: whoever
    /// opens the store next settles them.
    pub async fn stop(&self, patience: Duration) -> usize {
        self.closing.cancel();
        if !self.drained(patience).await {
            let wishes: Vec<Cancel> = self.running().values().cloned().collect();
            wishes.iter().for_each(Cancel::cancel);
            self.drained(self.options.grace * 2).await;
        }
        // What cannot be written now is settled by whoever opens the store next.
        let _ = self.store.flush().await;
        self.running().len()
    }

    /// Waits until nothing is under way; false where that takes too long.
    async fn drained(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        loop {
            let left = self.left.notified();
            if self.running().is_empty() {
                return true;
            }
            if tokio::time::timeout_at(until, left).await.is_err() {
                return self.running().is_empty();
            }
        }
    }

    /// Refuses a call that comes too late.
    pub(crate) fn is_open(&self) -> Result<(), Stop> {
        match self.closing.is_cancelled() {
            false => Ok(()),
            true => Err(Stop::new(Code::DependencyUnavailable, "haft is about to stop")
                .help("call again once it is back")),
        }
    }
}
