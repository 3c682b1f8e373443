//! Append buffer of a call: the facts and payloads of the next append, and what the store answered
//! so far.

use haft_ledger::{Blob, Guard};
use haft_model::{Event, Fact, PhaseLine, Stop};

use super::{TakenUp, unrecorded};

/// What the next append writes.
pub(super) struct AppendBuffer {
    pub(super) facts: Vec<Fact>,
    pub(super) blobs: Vec<Blob>,
    /// Guard under which the next append is accepted.
    pub(super) condition: Option<Guard>,
}

impl AppendBuffer {
    pub(super) fn new() -> AppendBuffer {
        AppendBuffer { facts: Vec::with_capacity(12), blobs: Vec::new(), condition: None }
    }

    /// Buffers a payload, once per digest.
    pub(super) fn keep(&mut self, blob: Blob) {
        if !self.blobs.iter().any(|other| other.digest == blob.digest) {
            self.blobs.push(blob);
        }
    }

    /// Removes facts and returns the phases that ended after the last fact that stays.
    pub(super) fn retract(&mut self, taken_back: impl Fn(&Event) -> bool) -> Vec<PhaseLine> {
        // Phases of removed facts move to the next fact that stays.
        let mut ended = Vec::new();
        for mut fact in std::mem::take(&mut self.facts) {
            ended.append(&mut fact.phases);
            if !taken_back(&fact.event) {
                fact.phases = std::mem::take(&mut ended);
                self.facts.push(fact);
            }
        }
        ended
    }
}

/// What became of the appends so far.
pub(super) struct AppendHistory {
    /// The end of the call waits for the disk.
    pub(super) durable: bool,
    /// The ledger accepted an append about this call.
    pub(super) written: bool,
    /// An append was tried; one that failed may be on disk all the same.
    pub(super) tried: bool,
    /// The store refused the append: another call holds this idempotency key.
    pub(super) beaten: bool,
    /// The store refused the fencing token: another process took the call over.
    pub(super) shut_out: bool,
    /// Refusal that keeps the call off the record.
    pub(super) refused: Option<Stop>,
}

impl AppendHistory {
    pub(super) fn open(taken_up: Option<&TakenUp>) -> AppendHistory {
        AppendHistory {
            durable: taken_up.is_some(),
            written: taken_up.is_some(),
            tried: taken_up.is_some(),
            beaten: false,
            shut_out: false,
            refused: None,
        }
    }

    /// Records why the store refused an append.
    pub(super) fn refuse(&mut self, fault: haft_ledger::Error) -> Stop {
        match &fault {
            haft_ledger::Error::Forbidden(Guard::Intent { .. }) => self.beaten = true,
            haft_ledger::Error::Forbidden(Guard::Fence(_)) => self.shut_out = true,
            _ => {}
        }
        unrecorded(fault)
    }
}
