//! Recorder of one call: collects its facts, appends them to the ledger, and holds the lease's
//! fencing token.

mod append;
mod lease;
mod patience;
mod phases;
mod progress;
mod start;

use std::sync::Arc;
use std::time::Duration;

use haft_ledger::{Blob, Draft, Fence, Guard, Store, Wait};
use haft_model::{Actor, Event, Fact, InvocationId, PayloadRef, Reported, Status, Stop, Timestamp};

use tokio::time::Instant;

use crate::Clock;
use append::{AppendBuffer, AppendHistory};
use lease::CallLease;
use patience::Patience;
pub(crate) use patience::{code, unrecorded};
use phases::PhaseLog;
use progress::ProgressFeed;
pub(crate) use start::{RecorderStart, TakenUp};

/// Buffers the facts of one call in order and appends them to the ledger.
pub(crate) struct Recorder {
    header: RecordHeader,
    clock: Arc<dyn Clock>,
    store: Arc<dyn Store>,
    phases: PhaseLog,
    buffer: AppendBuffer,
    appends: AppendHistory,
    lease: CallLease,
    patience: Patience,
    status: Status,
    progress: ProgressFeed,
}

/// What every append says of the call.
struct RecordHeader {
    id: InvocationId,
    actor: Arc<Actor>,
    /// Contract as `id@version`, once resolved.
    subject: Option<String>,
}

impl Recorder {
    pub(crate) fn open(
        clock: Arc<dyn Clock>,
        store: Arc<dyn Store>,
        opening: RecorderStart,
    ) -> Recorder {
        let taken_up = opening.taken_up.as_ref();
        Recorder {
            phases: PhaseLog::open(taken_up),
            buffer: AppendBuffer::new(),
            appends: AppendHistory::open(taken_up),
            lease: CallLease::open(taken_up),
            patience: Patience::new(),
            status: taken_up.map_or(Status::Planned, |taken| taken.status),
            progress: ProgressFeed::open(taken_up),
            header: RecordHeader {
                id: opening.id,
                actor: opening.actor,
                subject: opening.taken_up.map(|taken| taken.subject),
            },
            clock,
            store,
        }
    }

    pub(crate) fn id(&self) -> &InvocationId {
        &self.header.id
    }

    pub(crate) fn actor(&self) -> &Arc<Actor> {
        &self.header.actor
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn status(&self) -> Status {
        self.status
    }

    /// Returns true if the ledger accepted a record of the call.
    pub(crate) fn is_on_record(&self) -> bool {
        self.appends.written
    }

    /// Returns true if the ledger may hold a record of the call, even after a failed append.
    pub(crate) fn may_be_on_record(&self) -> bool {
        self.appends.tried
    }

    pub(crate) fn fence(&self) -> Option<Fence> {
        self.lease.fence
    }

    /// Sets the contract of the call.
    pub(crate) fn about(&mut self, subject: String) {
        self.header.subject = Some(subject);
    }

    /// Returns true if the status may follow the current one.
    pub(crate) fn may_note(&self, next: Status) -> bool {
        self.status == next || self.status.may_become(next)
    }

    /// The contract, once resolved.
    pub(crate) fn subject(&self) -> Option<String> {
        self.header.subject.clone()
    }

    /// Makes the next append conditional on a guard.
    pub(crate) fn only_if(&mut self, condition: Guard) {
        self.buffer.condition = Some(condition);
    }

    /// Returns true if another call holds the idempotency key, so that this one is not recorded.
    pub(crate) fn lost_race(&self) -> bool {
        self.appends.beaten
    }

    /// Returns true if another process took the call over, which alone knows its outcome.
    pub(crate) fn is_shut_out(&self) -> bool {
        self.appends.shut_out
    }

    /// Refuses the call because it cannot be recorded.
    pub(crate) fn refuse(&mut self, stop: Stop) {
        self.appends.refused = Some(stop);
    }

    /// Returns true if the call was refused because it cannot be recorded.
    pub(crate) fn is_refused(&self) -> bool {
        self.appends.refused.is_some()
    }

    /// Returns true if the end of the call waits for the disk; the end of a read is only queued.
    pub(crate) fn is_durable(&self) -> bool {
        self.appends.durable
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
        if let Some(membership) = self.membership() {
            membership.noted(&event);
        }
        let phases = self.phases.take();
        self.buffer.facts.push(Fact { at: self.clock.now(), phases, event });
    }

    /// Removes buffered events that could not be written, and keeps the phases that ended with
    /// them.
    pub(crate) fn retract(&mut self, taken_back: impl Fn(&Event) -> bool) {
        let ended = self.buffer.retract(taken_back);
        self.phases.put_back(ended);
    }

    /// Buffers a payload that a fact refers to, once per digest.
    pub(crate) fn keep(&mut self, (kept, blob): (PayloadRef, Blob)) -> PayloadRef {
        self.buffer.keep(blob);
        kept
    }

    /// Numbers the next progress report.
    pub(crate) fn report(&mut self, fill: impl FnOnce(u64) -> Reported) -> Reported {
        fill(self.progress.number())
    }

    /// Appends everything buffered and waits for the disk.
    pub(crate) async fn save(&mut self) -> Result<(), Stop> {
        self.appends.durable = true;
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
        if self.buffer.condition.take().is_some() {
            self.retract(|event| matches!(event, Event::IntentBound(_)));
        }
    }

    /// Appends the last facts and discards what the ledger refuses. The append releases the lease,
    /// unless the caller keeps it.
    pub(crate) async fn close(&mut self, keeps: bool) -> Result<(), Stop> {
        let wait = if self.appends.durable { Wait::Disk } else { Wait::Queue };
        self.lease.claim = None;
        if let Some(refused) = &self.appends.refused {
            self.buffer.facts.clear();
            return Err(refused.clone());
        }
        if self.buffer.facts.is_empty() {
            return Ok(());
        }
        let release = self.lease.fence.filter(|_| !keeps);
        let sent = Draft { release, ..self.draft() };
        let reports = self.progress.reports(&sent.facts);
        // A timed-out append stays queued, so the ledger may still write it.
        let written = self.patience.hold(self.store.append(sent, wait)).await.map(|_| ());
        let written = written.map_err(|fault| self.appends.refuse(fault));
        if written.is_ok() {
            self.progress.tell(reports);
        }
        if written.is_ok() && !keeps {
            // The append released the lease; otherwise the caller releases it.
            self.lease.fence = None;
        }
        written
    }

    async fn send(&mut self, wait: Wait) -> Result<(), Stop> {
        if self.buffer.facts.is_empty() {
            return Ok(());
        }
        self.appends.tried = true;
        let draft = self.draft();
        let kept = (draft.facts.clone(), draft.blobs.clone());
        match self.store.append(draft, wait).await {
            Ok(receipt) => {
                self.progress.tell(self.progress.reports(&kept.0));
                self.appends.written = true;
                self.buffer.condition = None;
                self.lease.granted(receipt.fence);
                Ok(())
            }
            Err(fault) => {
                // Nothing was written, so the next append repeats the facts.
                (self.buffer.facts, self.buffer.blobs) = kept;
                Err(self.appends.refuse(fault))
            }
        }
    }

    fn draft(&mut self) -> Draft {
        let RecordHeader { id, actor, subject } = &self.header;
        let fence = self.lease.fence.map(|Fence(token)| Guard::Fence(token));
        Draft {
            invocation: Some(id.clone()),
            actor: Some(Actor::clone(actor)),
            subject: subject.clone(),
            guards: fence.into_iter().chain(self.buffer.condition.clone()).collect(),
            facts: std::mem::take(&mut self.buffer.facts),
            blobs: std::mem::take(&mut self.buffer.blobs),
            claim: self.lease.claim.clone(),
            release: None,
        }
    }
}
