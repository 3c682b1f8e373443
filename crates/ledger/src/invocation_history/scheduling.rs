//! Where a call is in the queue, which is an axis of its own beside its status.

use haft_model::{QueueState, ResultStatus};

use super::Story;

impl Story {
    /// The place in the queue: what has a result that was not handed over is completed, and what
    /// nobody wanted any more is discarded. A call that ended alone was answered at once.
    pub fn queue_state(&self) -> Option<QueueState> {
        let result = self.result.as_ref().map(|result| result.status);
        if result == Some(ResultStatus::Discarded) {
            return Some(QueueState::Discarded);
        }
        if self.released_at.is_some() {
            return Some(QueueState::Yielded);
        }
        match result {
            Some(_) if self.batch.is_some() || !self.status.is_terminal() => {
                Some(QueueState::Completed)
            }
            Some(_) | None => self.status.queue(),
        }
    }
}
