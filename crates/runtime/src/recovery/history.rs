//! Recorded history of a call, read by the process that recovers it.

use std::collections::BTreeSet;
use std::time::Duration;

use haft_model::{
    Code, Decided, Digest, DualTime, Event, Fact, Intent, InvocationId, Planned, Status, Stop,
};

use crate::plan::BoundPlan;
use crate::recorder::unrecorded;
use crate::{Reader, Runtime};

/// Facts of a call, in order.
pub(crate) struct CallHistory {
    pub(super) start: Planned,
    pub(super) facts: Vec<Fact>,
}

impl Runtime {
    /// Reads the history of a call from the ledger.
    pub(crate) async fn history(&self, id: &InvocationId) -> Result<CallHistory, Stop> {
        let entries = self.store.story(id).await.map_err(unrecorded)?;
        let mut facts = Vec::new();
        for entry in &entries {
            facts.extend(Reader::facts(entry)?);
        }
        let start = facts.iter().find_map(|fact| match &fact.event {
            Event::Planned(planned) => Some(Planned::clone(planned)),
            _ => None,
        });
        let start = start.ok_or_else(|| {
            Stop::new(Code::Internal, format!("the log does not say how `{id}` began"))
        })?;
        Ok(CallHistory { start, facts })
    }
}

impl CallHistory {
    /// Returns true if an attempt was submitted and did not end without an effect.
    pub(super) fn submitted(&self) -> bool {
        let mut open = BTreeSet::new();
        for fact in &self.facts {
            match &fact.event {
                Event::Submitted(submitted) => {
                    open.insert(submitted.attempt);
                }
                // An attempt without an effect says nothing about those before it.
                Event::AttemptEnded(ended) if !ended.effect.may_have_happened() => {
                    open.remove(&ended.attempt);
                }
                _ => {}
            }
        }
        !open.is_empty()
    }

    /// Moment until which a submission may still take effect; `None` if no record says.
    pub(crate) fn until(&self) -> Option<DualTime> {
        let sent = self.facts.iter().filter_map(|fact| match &fact.event {
            Event::Submitted(submitted) => submitted.until.clone(),
            _ => None,
        });
        sent.reduce(DualTime::max)
    }

    /// The same, with `possible_for` after the record for submissions that state no moment.
    pub(crate) fn until_or_after(&self, possible_for: Duration) -> Option<DualTime> {
        let sent = self.facts.iter().filter_map(|fact| match &fact.event {
            Event::Submitted(submitted) => {
                let usual = || DualTime::from(fact.at).later(possible_for);
                Some(submitted.until.clone().unwrap_or_else(usual))
            }
            _ => None,
        });
        sent.reduce(DualTime::max)
    }

    pub(super) fn attempts(&self) -> u32 {
        let started = |fact: &&Fact| matches!(fact.event, Event::Started(_));
        self.facts.iter().filter(started).count().try_into().unwrap_or(u32::MAX - 1)
    }

    /// The last decision that allowed the call.
    pub(super) fn allowed(&self) -> Option<&Decided> {
        self.facts.iter().rev().find_map(|fact| match &fact.event {
            Event::PermissionDecided(decided) => decided.call_input.is_some().then_some(&**decided),
            _ => None,
        })
    }

    /// Returns true if the call was ready to run on the same driver version with the same effects.
    pub(super) fn by(&self, planned: &BoundPlan) -> bool {
        self.facts.iter().any(|fact| match &fact.event {
            Event::ArgumentsReady(ready) => {
                ready.driver.as_ref() == Some(&planned.plan.route.driver)
                    && ready.driver_version.as_deref() == Some(&*planned.driver_version)
                    && ready.effects == planned.entry.fingerprint
            }
            _ => false,
        })
    }

    pub(super) fn intent(&self) -> Option<Intent> {
        self.facts.iter().find_map(|fact| match &fact.event {
            Event::IntentBound(intent) => Some(Intent::clone(intent)),
            _ => None,
        })
    }

    pub(super) fn status(&self) -> Status {
        let last = self.facts.iter().rev().find_map(|fact| fact.event.status());
        last.unwrap_or(Status::Planned)
    }

    pub(super) fn progress(&self) -> u64 {
        let last = self.facts.iter().rev().find_map(|fact| match &fact.event {
            Event::Progressed(reported) | Event::PartialResult(reported) => Some(reported.sequence),
            _ => None,
        });
        last.unwrap_or(0)
    }

    pub(super) fn subject(&self) -> String {
        let selected = self.facts.iter().find_map(|fact| match &fact.event {
            Event::Selected(selected) => {
                let id = selected.tool.split('@').next().unwrap_or_default();
                Some(format!("{id}@{}", selected.version))
            }
            _ => None,
        });
        selected.unwrap_or_else(|| format!("unresolved:{}", self.start.requested))
    }

    /// Digest of the input that was allowed to run.
    pub(super) fn ran(&self) -> Option<Digest> {
        let frozen = self.allowed().and_then(|decided| decided.call_input.as_ref());
        frozen.map(|kept| kept.digest.clone())
    }

    /// Digest of the input that was judged last.
    pub(super) fn judged(&self) -> Option<Digest> {
        self.facts.iter().rev().find_map(|fact| match &fact.event {
            Event::PermissionDecided(decided) => Some(decided.permission_input.digest.clone()),
            Event::PermissionRequested(question) => Some(question.bound.call_input.clone()),
            _ => None,
        })
    }
}
