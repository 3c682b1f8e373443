//! Lease of a call: claimed with the first durable record, renewed after a third of its term,
//! checked before every send, released at the end.

use std::sync::Arc;

use haft_driver::Clearance;
use haft_ledger::{Disclosure, Fence, LeaseClaim};
use haft_model::{DualTime, Stop};

use super::{Recorder, unrecorded};
use crate::Options;

impl Recorder {
    /// Claims the lease with the next append; from then on every append waits for the disk.
    pub(crate) fn claim(&mut self, options: &Options) {
        self.durable = true;
        if self.fence.is_none() {
            let now = self.clock.time();
            let (owner, until) = (options.node.clone(), now.later(options.lease));
            self.claim = Some(LeaseClaim { owner, now, until });
        }
    }

    /// Renews the lease once a third of its term is over.
    pub(crate) async fn prolong(&mut self, options: &Options) -> Result<(), Stop> {
        let Some(fence) = self.fence else { return Ok(()) };
        let now = self.clock.time();
        let fresh = |leased: &DualTime| !leased.later(options.lease / 3).is_past(&now);
        if self.leased.as_ref().is_some_and(fresh) {
            return Ok(());
        }
        let until = now.later(options.lease);
        let renewed = self.patience.hold(self.store.renew(&self.id, fence, until)).await;
        let held = renewed.map_err(unrecorded)?;
        self.leased = held.then_some(now);
        Ok(())
    }

    /// Clearance to send a recorded submission. It ends a tenth of the term before the lease does,
    /// or `final_after` past the submission, whichever is earlier.
    pub(crate) fn clearance(&self, options: &Options, submitted: &DualTime) -> Clearance {
        #[cfg(feature = "sabotage")]
        if haft_ledger::sabotage::Mechanism::Clearance.is_off() {
            return Clearance::default();
        }
        // A lease that may be lost gives no clearance.
        let expiry = match &self.leased {
            Some(leased) => {
                let leased = leased.later(options.lease - options.lease / 10);
                let sent = submitted.later(options.final_after);
                if leased.is_past(&sent) { leased } else { sent }
            }
            None => submitted.clone(),
        };
        let clock = Arc::clone(&self.clock);
        Clearance::until(expiry, move || clock.time())
    }

    /// Hands the fencing token over, so that the lease lasts until the result is delivered.
    pub(crate) fn leave_fence(&mut self) -> Option<Fence> {
        self.fence.take()
    }

    /// Releases the lease.
    pub(crate) async fn release(&mut self) {
        if let Some(fence) = self.fence.take() {
            // A lease that cannot be released expires.
            let _ =
                self.patience.hold(self.store.release(&self.id, fence, Disclosure::Outcome)).await;
        }
    }
}
