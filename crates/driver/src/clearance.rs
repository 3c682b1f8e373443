//! Leave to act: for as long as it is certain that no other process has taken the call over.

use std::fmt;
use std::sync::Arc;

use haft_model::{Code, DualTime, EffectState, Stop};

use crate::Failure;

type Now = Arc<dyn Fn() -> DualTime + Send + Sync>;

/// Leave to send the first byte of an effect that is on record as submitted. It expires: a process that
/// stood still in between finds out before it acts, and not after.
#[derive(Clone, Default)]
pub struct Clearance {
    expiry: Option<(DualTime, Now)>,
}

impl Clearance {
    /// Leave until a moment, by a clock that goes on while the process stands still.
    pub fn until(
        expiry: DualTime,
        now: impl Fn() -> DualTime + Send + Sync + 'static,
    ) -> Clearance {
        Clearance { expiry: Some((expiry, Arc::new(now))) }
    }

    /// Last check before the first byte: an error means that nothing may be sent. The submission is on
    /// record by then, so the effect of the failure is `not_committed`.
    pub fn check(&self) -> Result<(), Failure> {
        match &self.expiry {
            Some((expiry, now)) if expiry.is_past(&now()) => {
                let words = "this process stood still for too long, and another one may have taken \
                             the call over, so nothing was sent";
                let stop = Stop::new(Code::TimeoutBeforeSubmit, words).help("call it again");
                Err(Failure::new(stop, EffectState::NotCommitted))
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl fmt::Debug for Clearance {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expiry = self.expiry.as_ref().map(|(expiry, _)| expiry);
        out.debug_struct("Clearance").field("expiry", &expiry).finish()
    }
}
