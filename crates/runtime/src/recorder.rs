//! The journal of one call: what happened so far, and when it reaches the ledger.

mod lease;
mod opening;
mod patience;
mod phases;

use std::sync::Arc;
use std::time::Duration;

use haft_ledger::{Blob, Draft, Fence, Guard, LeaseClaim, Store, Wait};
use haft_model::{
    Actor, DualTime, Event, Fact, InvocationId, PayloadRef, PhaseLine, Reported, Status, Stop,
    Timestamp,
};

use tokio::time::Instant;

use crate::Clock;
use crate::batch::Seat;
pub(crate) use opening::{RecorderStart, TakenUp};
use patience::Patience;
pub(crate) use patience::{code, unrecorded};

/// Notes every step of one call, in order, and hands them to the ledger.
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
    /// The lease that is taken with what is saved next.
    claim: Option<LeaseClaim>,
    /// What has to hold for anything about the call to be written.
    condition: Option<Guard>,
    /// Whether that did not hold.
    beaten: bool,
    /// Whether somebody else has the right to write about the call.
    shut_out: bool,
    /// Why nothing is to be written about the call.
    refused: Option<Stop>,
    patience: Patience,
    /// When the lease was last taken or prolonged, unless it was lost since.
    leased: Option<DualTime>,
    durable: bool,
    /// Whether anything about it was handed to the ledger.
    written: bool,
    /// The same, whatever came of it: what could not be written may be there all the same.
    tried: bool,
    status: Status,
    progress: u64,
    /// Who else of its batch hears how far it is.
    pub(crate) seat: Option<Seat>,
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
            seat: None,
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

    /// Whether others can know of the call already.
    pub(crate) fn is_on_record(&self) -> bool {
        self.written
    }

    /// Whether others may know of the call, even if this process could not write about it.
    pub(crate) fn may_be_on_record(&self) -> bool {
        self.tried
    }

    pub(crate) fn fence(&self) -> Option<Fence> {
        self.fence
    }

    /// Says which contract the call is about.
    pub(crate) fn about(&mut self, subject: String) {
        self.subject = Some(subject);
    }

    /// Whether a status may be noted now.
    pub(crate) fn may_note(&self, next: Status) -> bool {
        self.status == next || self.status.may_become(next)
    }

    /// The contract, as far as it is known.
    pub(crate) fn subject(&self) -> Option<String> {
        self.subject.clone()
    }

    /// Writes what is saved next only if this holds.
    pub(crate) fn only_if(&mut self, condition: Guard) {
        self.condition = Some(condition);
    }

    /// Whether another call was faster, so that nothing could be written about this one.
    pub(crate) fn is_beaten(&self) -> bool {
        self.beaten
    }

    /// Whether somebody else took the call over, so that only they know what becomes of it.
    pub(crate) fn is_shut_out(&self) -> bool {
        self.shut_out
    }

    /// Says that nothing can be written about the call, which is refused for that.
    pub(crate) fn refuse(&mut self, stop: Stop) {
        self.refused = Some(stop);
    }

    /// Whether the call was refused because nothing can be written about it.
    pub(crate) fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// Whether the end of the call waits for the disk. That of a read is queued.
    pub(crate) fn is_durable(&self) -> bool {
        self.durable
    }

    /// Says how long the call may take: the ledger must not take longer.
    pub(crate) fn may_take(&mut self, time: Duration) {
        self.patience = Patience::of(time);
    }

    /// Says when the time of the call runs out.
    pub(crate) fn runs_out(&mut self, until: Instant) {
        self.patience = self.patience.until(until);
    }

    /// Notes that something happened.
    pub(crate) fn note(&mut self, event: Event) {
        if let Some(next) = event.status() {
            // INVARIANT: every path through the rooms is one of the standard's table.
            debug_assert!(self.may_note(next), "{} may not become {next}", self.status);
            self.status = next;
        }
        if let Some(seat) = &self.seat {
            seat.noted(&event);
        }
        let phases = std::mem::take(&mut self.phases);
        self.facts.push(Fact { at: self.clock.now(), phases, event });
    }

    /// Takes back what was noted and could not be written. The phases before it are over all the
    /// same.
    pub(crate) fn retract(&mut self, taken_back: impl Fn(&Event) -> bool) {
        // The phases that ended with it ended all the same.
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

    /// Notes bytes that facts name.
    pub(crate) fn keep(&mut self, (kept, blob): (PayloadRef, Blob)) -> PayloadRef {
        if !self.blobs.iter().any(|other| other.digest == blob.digest) {
            self.blobs.push(blob);
        }
        kept
    }

    /// The next report of progress.
    pub(crate) fn report(&mut self, fill: impl FnOnce(u64) -> Reported) -> Reported {
        self.progress += 1;
        fill(self.progress)
    }

    /// Puts everything noted so far on the disk, and waits for it.
    pub(crate) async fn save(&mut self) -> Result<(), Stop> {
        self.durable = true;
        self.send(Wait::Until(self.patience.end().into_std())).await
    }

    /// Shows what was noted so far to others while the call goes on. Whoever is shown takes a lease,
    /// or the next process would take the call for one that nobody has.
    pub(crate) async fn show(&mut self, options: &crate::Options) -> Result<(), Stop> {
        self.claim(options);
        self.send(Wait::Until(self.patience.short().into_std())).await
    }

    /// Forgets a condition under which nothing was written yet, with what was noted under it.
    pub(crate) fn unbind(&mut self) {
        if self.condition.take().is_some() {
            self.retract(|event| matches!(event, Event::IntentBound(_)));
        }
    }

    /// Hands the last of it to the ledger, and does not keep what cannot be written. The right to
    /// write is given back with it, unless it is kept.
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
        // What is not written in time may be written later, as nobody takes it back.
        let written = self.patience.hold(self.store.append(sent, wait)).await.map(|_| ());
        let written = written.map_err(|fault| self.refused(fault));
        if written.is_ok() {
            self.tell(reports);
        }
        if written.is_ok() && !keeps {
            // It was given back together with what was written; otherwise whoever closes does.
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
                // Nothing of it was written, so a later try tells the whole story.
                (self.facts, self.blobs) = kept;
                Err(self.refused(fault))
            }
        }
    }

    /// Notes why nothing could be written.
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

    /// How far the call is by some facts, where anybody wants to know.
    fn reports(&self, facts: &[Fact]) -> Vec<Reported> {
        let report = |fact: &Fact| match &fact.event {
            Event::Progressed(reported) | Event::PartialResult(reported) => {
                Some(Reported::clone(reported))
            }
            _ => None,
        };
        match &self.seat {
            Some(_) => facts.iter().filter_map(report).collect(),
            None => Vec::new(),
        }
    }

    /// Whoever hears of it can look it up.
    fn tell(&self, reports: Vec<Reported>) {
        if let Some(seat) = &self.seat {
            seat.tell(reports);
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
