//! Progress reports of a call: numbers each one and sends it to the other calls of its batch once it
//! is on record.

use haft_model::{Event, Fact, Reported};

use super::{Recorder, TakenUp};
use crate::batch::Membership;

/// Progress reports of one call.
pub(super) struct ProgressFeed {
    /// Number of the last report; 0 for none.
    last: u64,
    /// The batch that hears of them.
    membership: Option<Membership>,
}

impl ProgressFeed {
    pub(super) fn open(taken_up: Option<&TakenUp>) -> ProgressFeed {
        ProgressFeed { last: taken_up.map_or(0, |taken| taken.progress), membership: None }
    }

    /// The number of the next report.
    pub(super) fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Progress reports among some facts; empty outside of a batch.
    pub(super) fn reports(&self, facts: &[Fact]) -> Vec<Reported> {
        let report = |fact: &Fact| match &fact.event {
            Event::Progressed(reported) | Event::PartialResult(reported) => {
                Some(Reported::clone(reported))
            }
            _ => None,
        };
        match &self.membership {
            Some(_) => facts.iter().filter_map(report).collect(),
            None => Vec::new(),
        }
    }

    /// Sends progress after the append, so that a reader finds it in the ledger.
    pub(super) fn tell(&self, reports: Vec<Reported>) {
        if let Some(membership) = &self.membership {
            membership.tell(reports);
        }
    }
}

impl Recorder {
    /// Membership in a batch; `None` for a call by itself.
    pub(crate) fn membership(&self) -> Option<&Membership> {
        self.progress.membership.as_ref()
    }

    /// Makes the call a member of a batch, which hears of its events and progress.
    pub(crate) fn join(&mut self, membership: Membership) {
        self.progress.membership = Some(membership);
    }
}
