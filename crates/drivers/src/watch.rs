//! Cancellation and deadline check for long work on another thread.

use std::time::Instant;

use haft_driver::{Attempt, Cancel};
use haft_model::Stop;

use crate::failure::{called_off, late};

/// The cancellation token and the deadline of a call.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    cancel: Cancel,
    deadline: Instant,
}

impl Watch {
    pub(crate) fn of(attempt: &Attempt<'_>) -> Watch {
        Watch { cancel: attempt.cancel.clone(), deadline: attempt.deadline }
    }

    /// `Ok` while the call is neither cancelled nor past its deadline; afterwards, why it ends.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        if self.cancel.is_cancelled() {
            return Err(called_off());
        }
        if Instant::now() >= self.deadline {
            return Err(late());
        }
        Ok(())
    }
}
