//! Backpressure of the writer's queue: a task waits a second for room, then fails as unwritable.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::SqliteStore;
use super::task::{Deadline, Ready, ReplySender, Task};
use crate::{Error, Receipt};

/// How long a caller waits for the writer's reply, however busy the store is.
const PATIENCE: Duration = Duration::from_secs(15);

/// The same while the store is down, and for room in a full queue.
const SHORT: Duration = Duration::from_secs(1);

impl SqliteStore {
    /// Sends a task to the writer and waits for its reply.
    pub(super) async fn ask<T>(
        &self,
        task: impl FnOnce(ReplySender<T>) -> Task,
    ) -> Result<T, Error> {
        let (answer, answered) = oneshot::channel();
        self.queue(task(answer)).await?;
        self.wake();
        match tokio::time::timeout(self.patience(), answered).await {
            Ok(answered) => answered.unwrap_or(Err(Error::Closed)),
            Err(_) => Err(self.late()),
        }
    }

    /// The same for an entry that has to be written by a deadline, or never.
    pub(super) async fn ask_until(
        &self,
        mut ready: Box<Ready>,
        until: Instant,
    ) -> Result<Receipt, Error> {
        let deadline = Arc::new(Deadline::default());
        ready.deadline = Some(deadline.clone());
        let (answer, mut answered) = oneshot::channel();
        self.queue(Task::Append(ready, Some(answer))).await?;
        self.wake();
        let until = until.min(Instant::now() + self.patience());
        match tokio::time::timeout_at(until, &mut answered).await {
            Ok(answered) => answered.unwrap_or(Err(Error::Closed)),
            Err(_) if deadline.withdraw() => Err(self.late()),
            // The writer has begun it, and only the disk is in the way.
            Err(_) => match tokio::time::timeout(PATIENCE, answered).await {
                Ok(answered) => answered.unwrap_or(Err(Error::Closed)),
                Err(_) => Err(self.late()),
            },
        }
    }

    /// Sends a task to the writer.
    pub(super) async fn queue(&self, task: Task) -> Result<(), Error> {
        let tasks = self.tasks.as_ref().ok_or(Error::Closed)?;
        let task = match tasks.try_send(task) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Closed(_)) => return Err(Error::Closed),
            Err(TrySendError::Full(task)) => task,
        };
        let sent = tokio::time::timeout(SHORT, tasks.send(task)).await;
        sent.map_err(|_| self.late())?.map_err(|_| Error::Closed)
    }

    fn patience(&self) -> Duration {
        if self.busy.health.is_up() { PATIENCE } else { SHORT }
    }

    /// Why there is no reply.
    pub(super) fn late(&self) -> Error {
        let outage = self.busy.health.outage().map(|outage| outage.cause);
        let cause = outage.unwrap_or_else(|| "it does not answer in time".to_owned());
        Error::Unwritable { cause }
    }

    /// Reports a failed write beside the database, and has the writer probe until the store works
    /// again.
    pub(super) fn failed(&self, fault: Error) -> Error {
        if let (Error::Unwritable { cause }, Some(tasks)) = (&fault, &self.tasks) {
            self.busy.health.fail(cause.clone());
            // A full queue wakes the thread as well.
            let _full = tasks.try_send(Task::Flush(oneshot::channel().0));
        }
        fault
    }

    /// Wakes the writer, which may linger for more tasks.
    pub(super) fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}
