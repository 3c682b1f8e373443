//! Lease of a call: claimed with the first durable record, renewed after a third of its term,
//! checked before every send, released at the end.

use std::sync::Arc;

use haft_driver::Clearance;
use haft_ledger::{Disclosure, Fence, LeaseClaim};
use haft_model::{DualTime, Stop};

use super::{Recorder, TakenUp, unrecorded};
use crate::Options;

/// Lease of one call.
pub(super) struct CallLease {
    pub(super) fence: Option<Fence>,
    /// Lease to claim with the next append.
    pub(super) claim: Option<LeaseClaim>,
    /// Time of the last claim or renewal; `None` after the lease was lost.
    since: Option<DualTime>,
}

impl CallLease {
    pub(super) fn open(taken_up: Option<&TakenUp>) -> CallLease {
        CallLease {
            fence: taken_up.map(|taken| taken.fence),
            claim: None,
            since: taken_up.map(|taken| taken.leased.clone()),
        }
    }

    /// Takes in what an append granted; without a claim it grants nothing.
    pub(super) fn granted(&mut self, fence: Option<Fence>) {
        let claim = self.claim.take();
        if fence.is_some() {
            self.fence = fence;
            self.since = claim.map(|claim| claim.now);
        }
    }
}

impl Recorder {
    /// Claims the lease with the next append; from then on every append waits for the disk.
    pub(crate) fn claim(&mut self, options: &Options) {
        self.appends.durable = true;
        if self.lease.fence.is_none() {
            let now = self.clock.time();
            let (owner, until) = (options.node.clone(), now.later(options.lease));
            self.lease.claim = Some(LeaseClaim { owner, now, until });
        }
    }

    /// Renews the lease once a third of its term is over.
    pub(crate) async fn prolong(&mut self, options: &Options) -> Result<(), Stop> {
        let Some(fence) = self.lease.fence else { return Ok(()) };
        let now = self.clock.time();
        let fresh = |leased: &DualTime| !leased.later(options.lease / 3).is_past(&now);
        if self.lease.since.as_ref().is_some_and(fresh) {
            return Ok(());
        }
        let until = now.later(options.lease);
        let renewed = self.patience.hold(self.store.renew(&self.header.id, fence, until)).await;
        let held = renewed.map_err(unrecorded)?;
        self.lease.since = held.then_some(now);
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
        let expiry = match &self.lease.since {
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
        self.lease.fence.take()
    }

    /// Releases the lease.
    pub(crate) async fn release(&mut self) {
        if let Some(fence) = self.lease.fence.take() {
            // A lease that cannot be released expires.
            let _ = self
                .patience
                .hold(self.store.release(&self.header.id, fence, Disclosure::Outcome))
                .await;
        }
    }
}
