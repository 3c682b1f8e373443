//! Queue state of a call, an axis of its own beside its status.

use haft_model::{QueueState, ResultStatus};

use super::Story;

impl Story {
    /// Queue state: a call whose result was not handed over is completed, and one whose caller
    /// discarded it is discarded. A call outside of a batch is answered at once.
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
