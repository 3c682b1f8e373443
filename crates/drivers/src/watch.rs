//! What long work on another thread looks at to know when to end.

use std::time::Instant;

use haft_driver::{Attempt, Cancel};
use haft_model::Stop;

use crate::failure::{called_off, late};

/// The two reasons to end early.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    cancel: Cancel,
    deadline: Instant,
}

impl Watch {
    pub(crate) fn of(attempt: &Attempt<'_>) -> Watch {
        Watch { cancel: attempt.cancel.clone(), deadline: attempt.deadline }
    }

    /// Nothing while the call is neither called off nor late; afterwards, why it ends.
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
