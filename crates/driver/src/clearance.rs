//! Clearance: permission to send while the lease of the call surely holds.

use std::fmt;
use std::sync::Arc;

use haft_model::{Code, DualTime, EffectState, Stop};

use crate::Failure;

type Now = Arc<dyn Fn() -> DualTime + Send + Sync>;

/// Permission to send the first byte of a recorded submission. It expires, so that a process that
/// was suspended finds out before it acts.
#[derive(Clone, Default)]
pub struct Clearance {
    expiry: Option<(DualTime, Now)>,
}

impl Clearance {
    /// Clearance until `expiry`, by a clock that advances while the process is suspended.
    pub fn until(
        expiry: DualTime,
        now: impl Fn() -> DualTime + Send + Sync + 'static,
    ) -> Clearance {
        Clearance { expiry: Some((expiry, Arc::new(now))) }
    }

    /// Last check before the first byte: an error means that nothing may be sent. The submission is
    /// on record by then, so the effect of the failure is `not_committed`.
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
