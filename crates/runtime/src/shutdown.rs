//! Graceful shutdown: refuses new calls, drains running ones, cancels the rest and leaves the
//! remainder to recovery.

use std::time::Duration;

use haft_driver::Cancel;
use haft_model::{Code, Stop};
use tokio::time::Instant;

use crate::Runtime;

impl Runtime {
    /// Graceful shutdown: refuses new calls and drains those in flight. After `patience` it cancels
    /// the rest. Calls that wait for an approver stay in the approval inbox. Returns the number of
    /// calls left, which the next process recovers.
    pub async fn stop(&self, patience: Duration) -> usize {
        self.shutdown.cancel();
        if !self.drained(patience).await {
            let wishes: Vec<Cancel> = self.running().values().cloned().collect();
            wishes.iter().for_each(Cancel::cancel);
            self.drained(self.options.grace * 2).await;
        }
        // The next process recovers what cannot be written now.
        let _ = self.store.flush().await;
        self.running().len()
    }

    /// Waits until no call is in flight; false after `patience`.
    async fn drained(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        loop {
            let left = self.call_ended.notified();
            if self.running().is_empty() {
                return true;
            }
            if tokio::time::timeout_at(until, left).await.is_err() {
                return self.running().is_empty();
            }
        }
    }

    /// Refuses a call during shutdown.
    pub(crate) fn is_open(&self) -> Result<(), Stop> {
        match self.shutdown.is_cancelled() {
            false => Ok(()),
            true => Err(Stop::new(Code::DependencyUnavailable, "haft is about to stop")
                .help("call again once it is back")),
        }
    }
}
