//! Fencing tokens, leases and append-only entries: the port that every store implements.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use haft_model::{
    ApprovalAnswer, Charge, Code, Digest, DriverId, DualTime, EffectState, Intent, InvocationId,
    KeySource, Question, QuestionId, QuestionState, StandingAnswer, Status, Timestamp, Token,
};
use serde::Serialize;

use crate::{Draft, Error, StoreHealth};

/// Work that is under way.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A place where facts are kept. Every store passes `conformance`.
///
/// The chain is one for all processes that share a store. A draft is written whole or not at all.
pub trait Store: Send + Sync {
    /// Whether the store can be written, as far as its last append tells.
    fn health(&self) -> &StoreHealth;

    /// Puts an entry at the end of the chain, if its guards hold.
    fn append(&self, draft: Draft, wait: Wait) -> BoxFuture<'_, Result<Receipt, Error>>;

    /// Returns once everything handed in before is on the disk.
    fn flush(&self) -> BoxFuture<'_, Result<(), Error>>;

    /// Writes something small and takes nothing on trust, to find out whether the store can be
    /// written.
    fn probe(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.flush()
    }

    /// The entries after one, in order; `None` begins at the first.
    fn entries(
        &self,
        after: Option<u64>,
        most: usize,
    ) -> BoxFuture<'_, Result<Vec<LedgerEntry>, Error>>;

    /// Waits until there is an entry after this one, or the time is over; gives the last there is.
    fn wait_past(
        &self,
        seq: Option<u64>,
        at_most: Duration,
    ) -> BoxFuture<'_, Result<Option<u64>, Error>>;

    /// Every entry of one invocation, in order.
    fn story<'a>(&'a self, id: &'a InvocationId) -> BoxFuture<'a, Result<Vec<LedgerEntry>, Error>>;

    /// Bytes that an entry of this invocation names; none when they are gone.
    fn payload<'a>(
        &'a self,
        id: &'a InvocationId,
        digest: &'a Digest,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, Error>>;

    /// Forgets bytes. What names them stays.
    fn forget<'a>(
        &'a self,
        id: &'a InvocationId,
        digest: &'a Digest,
    ) -> BoxFuture<'a, Result<bool, Error>>;

    /// Invocations, newest first.
    fn runs<'a>(&'a self, filter: &'a RunFilter) -> BoxFuture<'a, Result<Vec<Run>, Error>>;

    /// Questions, oldest first.
    fn questions<'a>(
        &'a self,
        filter: &'a QuestionFilter,
    ) -> BoxFuture<'a, Result<Vec<QuestionRecord>, Error>>;

    /// Answers that stand, all of a tenant or of everybody.
    fn standing<'a>(
        &'a self,
        tenant: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<StandingAnswer>, Error>>;

    /// The tokens that were issued and not taken back, also those that ran out, by their ids.
    fn tokens(&self) -> BoxFuture<'_, Result<Vec<Token>, Error>>;

    /// The one of them whose text has this digest.
    fn token<'a>(&'a self, hash: &'a Digest) -> BoxFuture<'a, Result<Option<Token>, Error>>;

    /// Attempts that reached a driver, in the order of the log.
    fn uses<'a>(&'a self, filter: &'a UseFilter) -> BoxFuture<'a, Result<Vec<Use>, Error>>;

    /// The call that carries out an intent, and how far it is. Where the key comes from says which
    /// list it is in.
    fn intent<'a>(
        &'a self,
        intent: &'a Digest,
        source: KeySource,
    ) -> BoxFuture<'a, Result<Option<IntentRecord>, Error>>;

    /// The calls that undo others and did not tell them yet what came of it, by the ids of those.
    fn undoings(&self) -> BoxFuture<'_, Result<Vec<OpenUndoing>, Error>>;

    /// Takes the lease of an invocation that is not over, unless somebody else holds one that has not
    /// run out. The token is larger than every token before it.
    fn lease<'a>(
        &'a self,
        id: &'a InvocationId,
        owner: &'a str,
        now: DualTime,
        until: DualTime,
    ) -> BoxFuture<'a, Result<Option<Fence>, Error>>;

    /// Prolongs a lease, if it is still the same. Others of its owner stay as they are: a call that
    /// nobody carries on any more has to run out, however busy its process is. Tells whether it is
    /// the same.
    fn renew<'a>(
        &'a self,
        id: &'a InvocationId,
        fence: Fence,
        until: DualTime,
    ) -> BoxFuture<'a, Result<bool, Error>>;

    /// Gives leases back.
    fn release_all(
        &self,
        leases: Vec<(InvocationId, Fence, Disclosure)>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            for (id, fence, disclosure) in leases {
                self.release(&id, fence, disclosure).await?;
            }
            Ok(())
        })
    }

    /// Gives a lease back.
    fn release<'a>(
        &'a self,
        id: &'a InvocationId,
        fence: Fence,
        disclosure: Disclosure,
    ) -> BoxFuture<'a, Result<(), Error>>;
}

/// What the caller knows of the effect when the lease of a call is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disclosure {
    /// What is on record.
    Outcome,
    /// That it is unknown. Another process may have settled it before the answer was handed over, so an
    /// intent without a key stays on record until a caller hears what was found out.
    Unknown,
}

/// What an append waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The disk: the receipt means that it is there. An entry that is given up waiting for may be
    /// written all the same.
    Disk,
    /// The disk, at most until then. What is not written by then never is.
    Until(Instant),
    /// Nothing but room in the queue. Only for what nobody's safety depends on.
    Queue,
}

/// Proof that an entry was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Its number, where the append waited for the disk.
    pub seq: Option<u64>,
    /// The lease that was taken with it.
    pub fence: Option<Fence>,
}

/// The right to write about a running invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence(pub u64);

/// One link of the chain, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Its number, from 0.
    pub seq: u64,
    /// Its line: an AIP-7 audit event in canonical JSON, `hash` included.
    pub line: String,
}

/// One invocation in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// Its id.
    pub invocation_id: InvocationId,
    /// The contract, or `unresolved:<name>`.
    pub tool_id: String,
    /// Who called.
    pub actor: String,
    /// For whom.
    pub tenant: String,
    /// Where it stands.
    pub status: Status,
    /// What is known of the effect.
    pub effect_state: EffectState,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<Code>,
    /// The question that is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<QuestionId>,
    /// When it came in.
    pub created_at: Timestamp,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// An intent, the call that carries it out, and how far that is.
#[derive(Clone, Debug, PartialEq)]
pub struct IntentRecord {
    /// The intent.
    pub intent: Intent,
    /// The call.
    pub run: Run,
    /// The lease of the call. A call that changes something keeps it until its answer was handed over.
    pub lease: Option<Lease>,
}

/// A call that was to undo another, which was not told yet what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenUndoing {
    /// The call that is undone.
    pub original: InvocationId,
    /// The call that undoes it.
    pub by: InvocationId,
}

/// Who has the right to write about an invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Who.
    pub owner: String,
    /// Until when, unless it is prolonged.
    pub until: DualTime,
    /// The token.
    pub fence: Fence,
}

/// Which invocations.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// Only this one.
    pub id: Option<InvocationId>,
    /// Only those of this tenant.
    pub tenant: Option<String>,
    /// Only those of this tool, `id` or `id@major`.
    pub tool: Option<String>,
    /// Only those by this actor.
    pub actor: Option<String>,
    /// Only those in one of these states; empty means any.
    pub status: Vec<Status>,
    /// Only those that have not ended.
    pub open: bool,
    /// Only those whose effect is unknown.
    pub unknown: bool,
    /// Only those before this one, for paging.
    pub before: Option<InvocationId>,
    /// At most so many; 0 means 50.
    pub most: usize,
}

/// A question and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuestionRecord {
    /// The question.
    pub question: Question,
    /// Where it stands. One whose time is over is still `open` until that is on record.
    pub state: QuestionState,
    /// The answers so far.
    pub answers: Vec<ApprovalAnswer>,
}

/// Which questions.
#[derive(Clone, Debug, Default)]
pub struct QuestionFilter {
    /// Only this one.
    pub id: Option<QuestionId>,
    /// Only those of this invocation.
    pub invocation: Option<InvocationId>,
    /// Only those of this tenant.
    pub tenant: Option<String>,
    /// Only those that are open.
    pub open: bool,
}

/// One attempt that reached a driver, with everything that limits look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The entry that says so.
    pub seq: u64,
    /// Of which call.
    pub invocation: InvocationId,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// When it began.
    pub at: Timestamp,
    /// The contract, `id@major`.
    pub tool: String,
    /// The driver.
    pub driver: DriverId,
    /// Who called.
    pub actor: String,
    /// For whom.
    pub tenant: String,
    /// What else it counts as.
    pub charge: Charge,
}

/// Which attempts.
#[derive(Clone, Debug)]
pub struct UseFilter {
    /// Only what was put on record after this entry.
    pub after: Option<u64>,
    /// Only what began at or after this time.
    pub since: Timestamp,
    /// Only by this actor.
    pub actor: Option<String>,
    /// Only for this tenant.
    pub tenant: Option<String>,
}
