//! In-memory store: for tests, and for hosts that want nothing on disk.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use haft_model::{
    Digest, DualTime, EffectState, InvocationId, KeySource, QuestionState, StandingAnswer, Token,
};
use tokio::sync::watch;

use crate::chain::{Head, Loose};
use crate::draft::checked;
use crate::projections::{BoundIntent, Changes, ProjectionChange, Projections};
use crate::{
    BoxFuture, Disclosure, Draft, Error, Fence, Guard, IntentRecord, Lease, LedgerEntry,
    OpenUndoing, QuestionFilter, QuestionRecord, Receipt, Run, RunFilter, Store, StoreHealth, Use,
    UseFilter, Wait,
};

/// A store in memory. It keeps the same hash chain as the others and forgets it when dropped.
#[derive(Debug, Default)]
pub struct MemoryStore {
    kept: Mutex<MemoryState>,
    last: watch::Sender<Option<u64>>,
    health: StoreHealth,
}

#[derive(Debug, Default)]
struct MemoryState {
    entries: Vec<LedgerEntry>,
    stories: HashMap<InvocationId, Vec<usize>>,
    head: Option<Head>,
    state: Projections,
    payloads: HashMap<(InvocationId, Digest), Vec<u8>>,
    leases: HashMap<InvocationId, Lease>,
    /// Intents without an idempotency key whose results were not delivered yet.
    unanswered: HashMap<Digest, BoundIntent>,
    token: u64,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    /// No work under the lock leaves half an entry, so a poisoned lock is safe to use.
    fn with<T>(&self, work: impl FnOnce(&mut MemoryState) -> T) -> T {
        work(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Two concurrent appends may notify out of order; the larger number counts.
    fn tell(&self, seq: u64) {
        self.last.send_if_modified(|last| {
            let newer = *last < Some(seq);
            *last = (*last).max(Some(seq));
            newer
        });
    }

    fn take(&self, mut draft: Draft) -> Result<Receipt, Error> {
        checked(&mut draft)?;
        let loose = Loose::of(&mut draft)?;
        let changes = Changes::of(draft.invocation.as_ref(), &draft.facts);
        let (seq, fence) = self.with(|kept| kept.take(draft, &loose, &changes))?;
        self.tell(seq);
        Ok(Receipt { seq: Some(seq), fence })
    }
}

/// Whether a test switched this guard off.
#[cfg(feature = "sabotage")]
fn is_switched_off(guard: &Guard) -> bool {
    use crate::sabotage::Mechanism;
    match guard {
        Guard::Fence(_) => Mechanism::Fence.is_off(),
        Guard::Intent { .. } => Mechanism::IntentGuard.is_off(),
        _ => false,
    }
}

/// Owner of the payloads that came with an entry about the workspace.
fn house() -> InvocationId {
    InvocationId::from("")
}

impl MemoryState {
    fn take(
        &mut self,
        draft: Draft,
        loose: &Loose,
        changes: &Changes,
    ) -> Result<(u64, Option<Fence>), Error> {
        let refused = draft.guards.iter().find(|guard| !self.holds(&draft, guard));
        if let Some(guard) = refused {
            return Err(Error::Forbidden(guard.clone()));
        }
        let id = draft.invocation.as_ref();
        let fence = match (&draft.claim, id) {
            (Some(claim), Some(id)) => {
                let fence = self.lease(id, &claim.owner, &claim.now, claim.until.clone());
                Some(fence.ok_or(Error::Forbidden(Guard::Free))?)
            }
            (Some(_) | None, _) => None,
        };
        if let (Some(fence), Some(id)) = (draft.release, id) {
            self.release(id, fence, Disclosure::Outcome);
        }
        let seq = self.link(loose, draft.invocation.as_ref());
        self.state.apply(seq, draft.invocation.as_ref(), changes);
        self.bind_intents(seq, draft.invocation.as_ref(), changes);
        let id = draft.invocation.unwrap_or_else(house);
        for blob in draft.blobs {
            self.payloads.insert((id.clone(), blob.digest), blob.bytes);
        }
        Ok((seq, fence))
    }

    fn release(&mut self, id: &InvocationId, fence: Fence, disclosure: Disclosure) {
        if self.leases.get(id).is_none_or(|lease| lease.fence != fence) {
            return;
        }
        self.leases.remove(id);
        // A delivered result ends the intent, unless its effect is unknown.
        let known = |run: &Run| run.ended_at.is_some() && run.effect_state != EffectState::Unknown;
        if disclosure == Disclosure::Outcome && self.state.run(id).is_some_and(known) {
            self.unanswered.retain(|_, bound| bound.invocation != *id);
        }
    }

    /// Keeps an intent until its result is delivered, and drops one without an effect.
    fn bind_intents(&mut self, seq: u64, id: Option<&InvocationId>, changes: &Changes) {
        for change in &changes.others {
            if let ProjectionChange::Bound(id, intent) = change
                && intent.source == KeySource::Intent
            {
                let bound =
                    BoundIntent { seq, invocation: id.clone(), intent: intent.as_ref().clone() };
                self.unanswered.insert(intent.intent.clone(), bound);
            }
        }
        let ended = changes.run.as_ref().filter(|run| run.ended.is_some());
        let nothing = [EffectState::NotSubmitted, EffectState::NotCommitted];
        if ended.and_then(|run| run.effect).is_some_and(|effect| nothing.contains(&effect)) {
            self.unanswered.retain(|_, bound| Some(&bound.invocation) != id);
        }
    }

    fn link(&mut self, loose: &Loose, invocation: Option<&InvocationId>) -> u64 {
        let (line, head) = loose.link(self.head.as_ref(), None);
        let seq = head.seq;
        if let Some(id) = invocation {
            self.stories.entry(id.clone()).or_default().push(self.entries.len());
        }
        self.entries.push(LedgerEntry { seq, line });
        self.head = Some(head);
        seq
    }

    fn holds(&self, draft: &Draft, guard: &Guard) -> bool {
        #[cfg(feature = "sabotage")]
        if is_switched_off(guard) {
            return true;
        }
        let id = draft.invocation.as_ref();
        match guard {
            Guard::Fence(token) => {
                id.and_then(|id| self.leases.get(id)).is_some_and(|lease| lease.fence.0 == *token)
            }
            Guard::Unanswered { question, answered_by, at } => {
                self.state.question(question).is_some_and(|record| {
                    record.state == QuestionState::Open
                        && *at < record.question.expires_at
                        && record.answers.iter().all(|answer| answer.by.as_str() != answered_by)
                })
            }
            // A claim checks for itself.
            Guard::Free => true,
            Guard::NotEnded => {
                id.and_then(|id| self.state.run(id)).is_none_or(|run| run.ended_at.is_none())
            }
            Guard::NewDeclaration { tool, digest } => self.state.declared.get(tool) != Some(digest),
            Guard::Stands(id) => self.state.standing.contains_key(id),
            Guard::Issued(id) => self.state.tokens.contains_key(id),
            Guard::Intent { intent, source, holder } => {
                let found = self.bound(intent, *source).map(|bound| &bound.invocation);
                found.is_none() || found == holder.as_ref() || found == id
            }
            Guard::Unchanged(seq) => {
                let last = id.and_then(|id| self.stories.get(id)).and_then(|at| at.last());
                last.and_then(|at| self.entries.get(*at)).is_some_and(|last| last.seq == *seq)
            }
        }
    }

    fn lease(
        &mut self,
        id: &InvocationId,
        owner: &str,
        now: &DualTime,
        until: DualTime,
    ) -> Option<Fence> {
        if self.state.run(id).is_some_and(|run| run.ended_at.is_some()) {
            return None;
        }
        let other = self.leases.get(id).filter(|lease| lease.owner != owner);
        if other.is_some_and(|lease| !lease.until.is_past(now)) {
            return None;
        }
        self.token += 1;
        let fence = Fence(self.token);
        let lease = Lease { owner: owner.to_owned(), until, fence };
        self.leases.insert(id.clone(), lease);
        Some(fence)
    }
}

impl MemoryState {
    fn intent(&self, intent: &Digest, source: KeySource) -> Option<IntentRecord> {
        let BoundIntent { invocation, intent, .. } = self.bound(intent, source)?;
        let run = self.state.run(invocation)?.clone();
        let lease = self.leases.get(invocation).cloned();
        Some(IntentRecord { intent: intent.clone(), run, lease })
    }

    fn bound(&self, intent: &Digest, source: KeySource) -> Option<&BoundIntent> {
        match source {
            KeySource::Intent => self.unanswered.get(intent),
            KeySource::Caller | KeySource::Contract => self.state.intents.get(intent),
        }
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

impl Store for MemoryStore {
    fn health(&self) -> &StoreHealth {
        &self.health
    }

    fn append(&self, draft: Draft, wait: Wait) -> BoxFuture<'_, Result<Receipt, Error>> {
        let receipt = self.take(draft);
        ready(match (receipt, wait) {
            (Ok(receipt), Wait::Disk | Wait::Until(_)) => Ok(receipt),
            // A queued append has no waiting caller, so its refusal is dropped.
            (Ok(_) | Err(Error::Forbidden(_)), Wait::Queue) => {
                Ok(Receipt { seq: None, fence: None })
            }
            (Err(fault), Wait::Disk | Wait::Until(_) | Wait::Queue) => Err(fault),
        })
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), Error>> {
        ready(Ok(()))
    }

    fn entries(
        &self,
        after: Option<u64>,
        most: usize,
    ) -> BoxFuture<'_, Result<Vec<LedgerEntry>, Error>> {
        let skipped = after.map_or(0, |after| after.saturating_add(1) as usize);
        ready(Ok(self.with(|kept| kept.entries.iter().skip(skipped).take(most).cloned().collect())))
    }

    fn wait_past(
        &self,
        seq: Option<u64>,
        at_most: Duration,
    ) -> BoxFuture<'_, Result<Option<u64>, Error>> {
        let mut last = self.last.subscribe();
        Box::pin(async move {
            drop(tokio::time::timeout(at_most, last.wait_for(|last| *last > seq)).await);
            Ok(*last.borrow())
        })
    }

    fn story<'a>(&'a self, id: &'a InvocationId) -> BoxFuture<'a, Result<Vec<LedgerEntry>, Error>> {
        ready(Ok(self.with(|kept| {
            let places = kept.stories.get(id).into_iter().flatten();
            places.filter_map(|at| kept.entries.get(*at)).cloned().collect()
        })))
    }

    fn payload<'a>(
        &'a self,
        id: &'a InvocationId,
        digest: &'a Digest,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, Error>> {
        let key = (id.clone(), digest.clone());
        ready(Ok(self.with(|kept| kept.payloads.get(&key).cloned())))
    }

    fn forget<'a>(
        &'a self,
        id: &'a InvocationId,
        digest: &'a Digest,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        let forgotten = Loose::forgetting(id.as_str(), digest).map(|loose| {
            self.with(|kept| {
                let gone = kept.payloads.remove(&(id.clone(), digest.clone())).is_some();
                gone.then(|| kept.link(&loose, Some(id).filter(|id| **id != house())))
            })
        });
        if let Ok(Some(seq)) = forgotten {
            self.tell(seq);
        }
        ready(forgotten.map(|seq| seq.is_some()))
    }

    fn runs<'a>(&'a self, filter: &'a RunFilter) -> BoxFuture<'a, Result<Vec<Run>, Error>> {
        ready(Ok(self.with(|kept| kept.state.runs(filter))))
    }

    fn questions<'a>(
        &'a self,
        filter: &'a QuestionFilter,
    ) -> BoxFuture<'a, Result<Vec<QuestionRecord>, Error>> {
        ready(Ok(self.with(|kept| kept.state.questions(filter))))
    }

    fn standing<'a>(
        &'a self,
        tenant: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<StandingAnswer>, Error>> {
        ready(Ok(self.with(|kept| {
            let all = kept.state.standing.values();
            all.filter(|answer| tenant.is_none_or(|one| one == answer.tenant)).cloned().collect()
        })))
    }

    fn tokens(&self) -> BoxFuture<'_, Result<Vec<Token>, Error>> {
        ready(Ok(self.with(|kept| kept.state.tokens.values().cloned().collect())))
    }

    fn token<'a>(&'a self, hash: &'a Digest) -> BoxFuture<'a, Result<Option<Token>, Error>> {
        ready(Ok(
            self.with(|kept| kept.state.tokens.values().find(|token| token.hash == *hash).cloned())
        ))
    }

    fn uses<'a>(&'a self, filter: &'a UseFilter) -> BoxFuture<'a, Result<Vec<Use>, Error>> {
        ready(Ok(self.with(|kept| kept.state.uses(filter))))
    }

    fn intent<'a>(
        &'a self,
        intent: &'a Digest,
        source: KeySource,
    ) -> BoxFuture<'a, Result<Option<IntentRecord>, Error>> {
        ready(Ok(self.with(|kept| kept.intent(intent, source))))
    }

    fn undoings(&self) -> BoxFuture<'_, Result<Vec<OpenUndoing>, Error>> {
        ready(Ok(self.with(|kept| {
            let open = kept.state.undoings.iter();
            open.map(|(original, by)| OpenUndoing { original: original.clone(), by: by.clone() })
                .collect()
        })))
    }

    fn lease<'a>(
        &'a self,
        id: &'a InvocationId,
        owner: &'a str,
        now: DualTime,
        until: DualTime,
    ) -> BoxFuture<'a, Result<Option<Fence>, Error>> {
        ready(Ok(self.with(|kept| kept.lease(id, owner, &now, until))))
    }

    fn renew<'a>(
        &'a self,
        id: &'a InvocationId,
        fence: Fence,
        until: DualTime,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        ready(Ok(self.with(|kept| {
            let same = kept.leases.get_mut(id).filter(|lease| lease.fence == fence);
            let held = same.is_some();
            same.into_iter().for_each(|lease| lease.until = lease.until.clone().max(until.clone()));
            held
        })))
    }

    fn release<'a>(
        &'a self,
        id: &'a InvocationId,
        fence: Fence,
        disclosure: Disclosure,
    ) -> BoxFuture<'a, Result<(), Error>> {
        self.with(|kept| kept.release(id, fence, disclosure));
        ready(Ok(()))
    }
}
