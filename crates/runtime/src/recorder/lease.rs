//! Lease of a call: claimed with the first durable record, renewed after a third of its term, checked
//! before every send, released at the end.

use std::sync::Arc;

use haft_driver::Clearance;
use haft_ledger::{Disclosure, Fence, LeaseClaim};
use haft_model::{DualTime, Stop};

use super::{Recorder, unrecorded};
use crate::Options;

impl Recorder {
    /// Takes the right to write about the call together with what is saved next. From now on
    /// everything has to be on the disk.
    pub(crate) fn claim(&mut self, options: &Options) {
        self.durable = true;
        if self.fence.is_none() {
            let now = self.clock.time();
            let (owner, until) = (options.node.clone(), now.later(options.lease));
            self.claim = Some(LeaseClaim { owner, now, until });
        }
    }

    /// Prolongs the lease, if a good part of it is over.
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

    /// Leave to send what is on record as submitted since a moment: while the lease surely holds, and
    /// no longer than the time that is given it before its absence counts.
    pub(crate) fn clearance(&self, options: &Options, submitted: &DualTime) -> Clearance {
        #[cfg(feature = "sabotage")]
        if haft_ledger::sabotage::Mechanism::Clearance.is_off() {
            return Clearance::default();
        }
        // A lease of which nobody knows whether it holds gives no leave.
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

    /// Leaves the right to write about the call where it is, for whoever hands the answer over.
    pub(crate) fn leave_fence(&mut self) -> Option<Fence> {
        self.fence.take()
    }

    /// Gives the right to write about the call back.
    pub(crate) async fn release(&mut self) {
        if let Some(fence) = self.fence.take() {
            // A lease that cannot be given back runs out by itself.
            let _ =
                self.patience.hold(self.store.release(&self.id, fence, Disclosure::Outcome)).await;
        }
    }
}
