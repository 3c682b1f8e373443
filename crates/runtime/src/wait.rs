//! Cancellable waiting: a call waits for a slot, an answer or a timer, and observes cancellation
//! meanwhile.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use crate::CallOptions;
use crate::context::CallContext;

/// Time after which a waiting or running call becomes visible to other processes.
pub(crate) const QUIET: Duration = Duration::from_millis(100);

impl CallContext<'_> {
    /// Waits for a future; `None` on cancellation by the caller or an operator, even if the value
    /// is ready.
    pub(crate) async fn unless_called_off<T>(
        &self,
        options: &CallOptions<'_>,
        awaited: impl Future<Output = T>,
    ) -> Option<T> {
        let wish = self.in_flight.wish.clone();
        tokio::select! {
            biased;
            () = options.cancel.cancelled() => None,
            () = wish.cancelled() => None,
            value = awaited => Some(value),
        }
    }

    /// The same for long waits: makes the call visible, renews its lease, and observes cancellation
    /// from other processes. `None` also if the call lost the race for its idempotency key.
    pub(crate) async fn in_sight<T>(
        &mut self,
        options: &CallOptions<'_>,
        awaited: impl Future<Output = T>,
    ) -> Option<T> {
        let mut awaited = pin!(awaited);
        loop {
            let look = tokio::time::timeout(QUIET, &mut awaited);
            if let Ok(value) = self.unless_called_off(options, look).await? {
                return Some(value);
            }
            let _ = self.recorder.show(&self.runtime.options).await;
            if self.recorder.lost_race() {
                return None;
            }
            let _ = self.recorder.prolong(&self.runtime.options).await;
            let id = self.recorder.id().clone();
            if let Ok(true) = self.runtime.cancel_requested(&id).await {
                return None;
            }
        }
    }

    /// Waits for a future that cannot be cancelled, and renews the lease meanwhile.
    pub(crate) async fn holding_on<T>(&mut self, awaited: impl Future<Output = T>) -> T {
        let mut awaited = pin!(awaited);
        loop {
            match tokio::time::timeout(QUIET, &mut awaited).await {
                Ok(value) => return value,
                Err(_) => drop(self.recorder.prolong(&self.runtime.options).await),
            }
        }
    }
}
