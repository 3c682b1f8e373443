//! Waiting: for others, for a turn, for time. Whoever wants the call called off is heard meanwhile.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use crate::CallOptions;
use crate::pipeline::CallPipeline;

/// How long a call may wait or run before what it did so far is shown to others.
pub(crate) const QUIET: Duration = Duration::from_millis(100);

impl CallPipeline<'_> {
    /// Waits for something; none where the caller or somebody else does not want the call any more.
    /// Whoever lost interest gets nothing, even where it is there.
    pub(crate) async fn unless_called_off<T>(
        &self,
        manner: &CallOptions<'_>,
        awaited: impl Future<Output = T>,
    ) -> Option<T> {
        let wish = self.enlisted.wish.clone();
        tokio::select! {
            biased;
            () = manner.cancel.cancelled() => None,
            () = wish.cancelled() => None,
            value = awaited => Some(value),
        }
    }

    /// The same where it may take long: others see the call from then on, and must not take it for
    /// one whose process died, and a wish of another process is heard too.
    pub(crate) async fn in_sight<T>(
        &mut self,
        manner: &CallOptions<'_>,
        awaited: impl Future<Output = T>,
    ) -> Option<T> {
        let mut awaited = pin!(awaited);
        loop {
            let look = tokio::time::timeout(QUIET, &mut awaited);
            if let Ok(value) = self.unless_called_off(manner, look).await? {
                return Some(value);
            }
            let _ = self.journal.show(&self.runtime.options).await;
            if self.journal.is_beaten() {
                return None;
            }
            let _ = self.journal.prolong(&self.runtime.options).await;
            let id = self.journal.id().clone();
            if let Ok(true) = self.runtime.cancel_requested(&id).await {
                return None;
            }
        }
    }

    /// Waits for something that cannot be called off, and keeps the lease meanwhile: a call that only
    /// waits is not dead.
    pub(crate) async fn holding_on<T>(&mut self, awaited: impl Future<Output = T>) -> T {
        let mut awaited = pin!(awaited);
        loop {
            match tokio::time::timeout(QUIET, &mut awaited).await {
                Ok(value) => return value,
                Err(_) => drop(self.journal.prolong(&self.runtime.options).await),
            }
        }
    }
}
