//! Recorder of one call: collects its facts, appends them to the ledger, and holds the lease's
//! fencing token.

mod lease;
mod patience;
mod phases;
mod start;

use std::sync::Arc;
use std::time::Duration;

use haft_ledger::{Blob, Draft, Fence, Guard, LeaseClaim, Store, Wait};
use haft_model::{
    Actor, DualTime, Event, Fact, InvocationId, PayloadRef, PhaseLine, Reported, Status, Stop,
    Timestamp,
};

use tokio::time::Instant;

use crate::Clock;
use crate::batch::Membership;
use patience::Patience;
pub(crate) use patience::{code, unrecorded};
pub(crate) use start::{RecorderStart, TakenUp};

/// Buffers the facts of one call in order and appends them to the ledger.
pub(crate) struct Recorder {
    id: InvocationId,
    actor: Arc<Actor>,
    subject: Option<String>,
    clock: Arc<dyn Clock>,
    store: Arc<dyn Store>,
    began: Instant,
    facts: Vec<Fact>,
    blobs: Vec<Blob>,
    phases: Vec<PhaseLine>,
    phase_from: u64,
    seen: u16,
    fence: Option<Fence>,
    /// Lease to claim with the next append.
    claim: Option<LeaseClaim>,
    /// Guard under which the next append is accepted.
    condition: Option<Guard>,
    /// The store refused the append: another call holds this idempotency key.
    beaten: bool,
    /// The store refused the fencing token: another process took the call over.
    shut_out: bool,
    /// Refusal that keeps the call off the record.
    refused: Option<Stop>,
    patience: Patience,
    /// Time of the last lease claim or renewal; `None` after the lease was lost.
    leased: Option<DualTime>,
    durable: bool,
    /// The ledger accepted an append about this call.
    written: bool,
    /// An append was tried; one that failed may be on disk all the same.
    tried: bool,
    status: Status,
    progress: u64,
    /// Progress feed to the other calls of the batch.
    pub(crate) membership: Option<Membership>,
}

impl Recorder {
    pub(crate) fn open(
        clock: Arc<dyn Clock>,
        store: Arc<dyn Store>,
        opening: RecorderStart,
    ) -> Recorder {
        let taken_up = opening.taken_up.as_ref();
        let age = taken_up.map_or(0, |taken| taken.age);
        let now = Instant::now();
        Recorder {
            began: now.checked_sub(Duration::from_micros(age)).unwrap_or(now),
            facts: Vec::with_capacity(12),
            blobs: Vec::new(),
            phases: Vec::with_capacity(8),
            phase_from: age,
            seen: taken_up.map_or(0, |taken| {
                taken.phases.iter().fold(0, |seen, phase| seen | (1 << phase.number()))
            }),
            fence: taken_up.map(|taken| taken.fence),
            claim: None,
            condition: None,
            beaten: false,
            shut_out: false,
            refused: None,
            patience: Patience::new(),
            leased: taken_up.map(|taken| taken.leased.clone()),
            durable: taken_up.is_some(),
            written: taken_up.is_some(),
            tried: taken_up.is_some(),
            status: taken_up.map_or(Status::Planned, |taken| taken.status),
            progress: taken_up.map_or(0, |taken| taken.progress),
            membership: None,
            subject: opening.taken_up.map(|taken| taken.subject),
            id: opening.id,
            actor: opening.actor,
            clock,
            store,
        }
    }

    pub(crate) fn id(&self) -> &InvocationId {
        &self.id
    }

    pub(crate) fn actor(&self) -> &Arc<Actor> {
        &self.actor
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn status(&self) -> Status {
        self.status
    }

    /// Returns true if the ledger accepted a record of the call.
    pub(crate) fn is_on_record(&self) -> bool {
        self.written
    }

    /// Returns true if the ledger may hold a record of the call, even after a failed append.
    pub(crate) fn may_be_on_record(&self) -> bool {
        self.tried
    }

    pub(crate) fn fence(&self) -> Option<Fence> {
        self.fence
    }

    /// Sets the contract of the call.
    pub(crate) fn about(&mut self, subject: String) {
        self.subject = Some(subject);
    }

    /// Returns true if the status may follow the current one.
    pub(crate) fn may_note(&self, next: Status) -> bool {
        self.status == next || self.status.may_become(next)
    }

    /// The contract, once resolved.
    pub(crate) fn subject(&self) -> Option<String> {
        self.subject.clone()
    }

    /// Makes the next append conditional on a guard.
    pub(crate) fn only_if(&mut self, condition: Guard) {
        self.condition = Some(condition);
    }

    /// Returns true if another call holds the idempotency key, so that this one is not recorded.
    pub(crate) fn lost_race(&self) -> bool {
        self.beaten
    }

    /// Returns true if another process took the call over, which alone knows its outcome.
    pub(crate) fn is_shut_out(&self) -> bool {
        self.shut_out
    }

    /// Refuses the call because it cannot be recorded.
    pub(crate) fn refuse(&mut self, stop: Stop) {
        self.refused = Some(stop);
    }

    /// Returns true if the call was refused because it cannot be recorded.
    pub(crate) fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// Returns true if the end of the call waits for the disk; the end of a read is only queued.
    pub(crate) fn is_durable(&self) -> bool {
        self.durable
    }

    /// Bounds the ledger timeout by the timeout of the call.
    pub(crate) fn may_take(&mut self, time: Duration) {
        self.patience = Patience::of(time);
    }

    /// Bounds the ledger timeout by the deadline of the call.
    pub(crate) fn runs_out(&mut self, until: Instant) {
        self.patience = self.patience.until(until);
    }

    /// Records an event with the phases since the last one.
    pub(crate) fn note(&mut self, event: Event) {
        if let Some(next) = event.status() {
            // INVARIANT: every path through the pipeline follows the standard's transition table.
            debug_assert!(self.may_note(next), "{} may not become {next}", self.status);
            self.status = next;
        }
        if let Some(membership) = &self.membership {
            membership.noted(&event);
        }
        let phases = std::mem::take(&mut self.phases);
        self.facts.push(Fact { at: self.clock.now(), phases, event });
    }

    /// Removes buffered events that could not be written, and keeps the phases that ended with
    /// them.
    pub(crate) fn retract(&mut self, taken_back: impl Fn(&Event) -> bool) {
        // Phases of removed facts move to the next fact that stays.
        let mut ended = Vec::new();
        for mut fact in std::mem::take(&mut self.facts) {
            ended.append(&mut fact.phases);
            if !taken_back(&fact.event) {
                fact.phases = std::mem::take(&mut ended);
                self.facts.push(fact);
            }
        }
        ended.append(&mut self.phases);
        self.phases = ended;
    }

    /// Buffers a payload that a fact refers to, once per digest.
    pub(crate) fn keep(&mut self, (kept, blob): (PayloadRef, Blob)) -> PayloadRef {
        if !self.blobs.iter().any(|other| other.digest == blob.digest) {
            self.blobs.push(blob);
        }
        kept
    }

    /// Numbers the next progress report.
    pub(crate) fn report(&mut self, fill: impl FnOnce(u64) -> Reported) -> Reported {
        self.progress += 1;
        fill(self.progress)
    }

    /// Appends everything buffered and waits for the disk.
    pub(crate) async fn save(&mut self) -> Result<(), Stop> {
        self.durable = true;
        self.send(Wait::Until(self.patience.end().into_std())).await
    }

    /// Makes the buffered facts visible to other processes while the call runs. It claims a lease,
    /// because recovery takes over a visible call without one.
    pub(crate) async fn show(&mut self, options: &crate::Options) -> Result<(), Stop> {
        self.claim(options);
        self.send(Wait::Until(self.patience.short().into_std())).await
    }

    /// Drops an unwritten guard with the idempotency binding recorded under it.
    pub(crate) fn unbind(&mut self) {
        if self.condition.take().is_some() {
            self.retract(|event| matches!(event, Event::IntentBound(_)));
        }
    }

    /// Appends the last facts and discards what the ledger refuses. The append releases the lease,
    /// unless the caller keeps it.
    pub(crate) async fn close(&mut self, keeps: bool) -> Result<(), Stop> {
        let wait = if self.durable { Wait::Disk } else { Wait::Queue };
        self.claim = None;
        if let Some(refused) = &self.refused {
            self.facts.clear();
            return Err(refused.clone());
        }
        if self.facts.is_empty() {
            return Ok(());
        }
        let release = self.fence.filter(|_| !keeps);
        let sent = Draft { release, ..self.draft() };
        let reports = self.reports(&sent.facts);
        // A timed-out append stays queued, so the ledger may still write it.
        let written = self.patience.hold(self.store.append(sent, wait)).await.map(|_| ());
        let written = written.map_err(|fault| self.refused(fault));
        if written.is_ok() {
            self.tell(reports);
        }
        if written.is_ok() && !keeps {
            // The append released the lease; otherwise the caller releases it.
            self.fence = None;
        }
        written
    }

    async fn send(&mut self, wait: Wait) -> Result<(), Stop> {
        if self.facts.is_empty() {
            return Ok(());
        }
        self.tried = true;
        let draft = self.draft();
        let kept = (draft.facts.clone(), draft.blobs.clone());
        match self.store.append(draft, wait).await {
            Ok(receipt) => {
                self.tell(self.reports(&kept.0));
                self.written = true;
                let claim = self.claim.take();
                self.condition = None;
                if receipt.fence.is_some() {
                    self.fence = receipt.fence;
                    self.leased = claim.map(|claim| claim.now);
                }
                Ok(())
            }
            Err(fault) => {
                // Nothing was written, so the next append repeats the facts.
                (self.facts, self.blobs) = kept;
                Err(self.refused(fault))
            }
        }
    }

    /// Records why the store refused the append.
    fn refused(&mut self, fault: haft_ledger::Error) -> Stop {
        match &fault {
            haft_ledger::Error::Forbidden(Guard::Intent { .. }) => self.beaten = true,
            haft_ledger::Error::Forbidden(Guard::Fence(_)) => self.shut_out = true,
            _ => {}
        }
        unrecorded(fault)
    }

    fn guards(&self) -> Vec<Guard> {
        let fence = self.fence.map(|Fence(token)| Guard::Fence(token));
        fence.into_iter().chain(self.condition.clone()).collect()
    }

    /// Progress reports among some facts; empty outside of a batch.
    fn reports(&self, facts: &[Fact]) -> Vec<Reported> {
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
    fn tell(&self, reports: Vec<Reported>) {
        if let Some(membership) = &self.membership {
            membership.tell(reports);
        }
    }

    fn draft(&mut self) -> Draft {
        Draft {
            invocation: Some(self.id.clone()),
            actor: Some(Actor::clone(&self.actor)),
            subject: self.subject.clone(),
            facts: std::mem::take(&mut self.facts),
            blobs: std::mem::take(&mut self.blobs),
            guards: self.guards(),
            claim: self.claim.clone(),
            release: None,
        }
    }
}
