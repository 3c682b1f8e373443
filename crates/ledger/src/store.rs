//! Store port: append-only entries, leases and fencing tokens, which every store implements.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use haft_model::{
    ApprovalAnswer, Charge, Code, Digest, DriverId, DualTime, EffectState, Intent, InvocationId,
    KeySource, Question, QuestionId, QuestionState, StandingAnswer, Status, Timestamp, Token,
};
use serde::Serialize;

use crate::{Draft, Error, StoreHealth};

/// A boxed future that a store returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A store of facts. Every store passes `conformance`.
///
/// All processes that share a store share one hash chain. A draft is written atomically.
pub trait Store: Send + Sync {
    /// Whether the store can be written, as of its last append.
    fn health(&self) -> &StoreHealth;

    /// Appends an entry to the chain, if its guards hold.
    fn append(&self, draft: Draft, wait: Wait) -> BoxFuture<'_, Result<Receipt, Error>>;

    /// Returns once everything appended before is durable.
    fn flush(&self) -> BoxFuture<'_, Result<(), Error>>;

    /// Writes a probe, to find out whether the store can be written at this moment.
    fn probe(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.flush()
    }

    /// The entries after a sequence number, in order; `None` begins at the first.
    fn entries(
        &self,
        after: Option<u64>,
        most: usize,
    ) -> BoxFuture<'_, Result<Vec<LedgerEntry>, Error>>;

    /// Waits for an entry after this one, or for the timeout; returns the last sequence number.
    fn wait_past(
        &self,
        seq: Option<u64>,
        at_most: Duration,
    ) -> BoxFuture<'_, Result<Option<u64>, Error>>;

    /// Every entry of one invocation, in order.
    fn story<'a>(&'a self, id: &'a InvocationId) -> BoxFuture<'a, Result<Vec<LedgerEntry>, Error>>;

    /// The payload that an entry of this invocation names; `None` when it was forgotten.
    fn payload<'a>(
        &'a self,
        id: &'a InvocationId,
        digest: &'a Digest,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, Error>>;

    /// Forgets a payload. The entries that name it stay.
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

    /// Standing answers, of one tenant or of all.
    fn standing<'a>(
        &'a self,
        tenant: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Vec<StandingAnswer>, Error>>;

    /// The tokens that were not revoked, expired ones included, by id.
    fn tokens(&self) -> BoxFuture<'_, Result<Vec<Token>, Error>>;

    /// The token whose text has this digest.
    fn token<'a>(&'a self, hash: &'a Digest) -> BoxFuture<'a, Result<Option<Token>, Error>>;

    /// Attempts that reached a driver, in log order.
    fn uses<'a>(&'a self, filter: &'a UseFilter) -> BoxFuture<'a, Result<Vec<Use>, Error>>;

    /// Deduplication: the call that carries out an intent, and its state. The key's source selects
    /// the list.
    fn intent<'a>(
        &'a self,
        intent: &'a Digest,
        source: KeySource,
    ) -> BoxFuture<'a, Result<Option<IntentRecord>, Error>>;

    /// Open compensations, by the id of the original call.
    fn undoings(&self) -> BoxFuture<'_, Result<Vec<OpenUndoing>, Error>>;

    /// Takes the lease of an invocation that has not ended, unless another owner holds one that has
    /// not expired. The fencing token is larger than every token before it.
    fn lease<'a>(
        &'a self,
        id: &'a InvocationId,
        owner: &'a str,
        now: DualTime,
        until: DualTime,
    ) -> BoxFuture<'a, Result<Option<Fence>, Error>>;

    /// Renews a lease if its token still matches, and reports that. The owner's other leases stay
    /// as they are: an abandoned call has to expire, however busy its process is.
    fn renew<'a>(
        &'a self,
        id: &'a InvocationId,
        fence: Fence,
        until: DualTime,
    ) -> BoxFuture<'a, Result<bool, Error>>;

    /// Releases leases.
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

    /// Releases a lease.
    fn release<'a>(
        &'a self,
        id: &'a InvocationId,
        fence: Fence,
        disclosure: Disclosure,
    ) -> BoxFuture<'a, Result<(), Error>>;
}

/// What the caller learned of the effect when its call's lease is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disclosure {
    /// The recorded outcome.
    Outcome,
    /// That it is unknown. Another process may have settled it before the result was delivered, so
    /// an intent without a key stays on record until a caller learns what was found out.
    Unknown,
}

/// Durability that an append waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The disk: the receipt means that it is durable. An entry whose caller stops waiting may be
    /// written all the same.
    Disk,
    /// The disk, until a deadline. An entry that is not written by then never is.
    Until(Instant),
    /// Only room in the queue. For entries that no safety property depends on.
    Queue,
}

/// Proof that an entry was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Its sequence number, where the append waited for the disk.
    pub seq: Option<u64>,
    /// The lease that was taken with it.
    pub fence: Option<Fence>,
}

/// Fencing token: the right to write about a running invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence(pub u64);

/// One link of the chain, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Sequence number, from 0.
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
    /// Id of the caller.
    pub actor: String,
    /// Tenant of the caller.
    pub tenant: String,
    /// Current status.
    pub status: Status,
    /// Current effect state.
    pub effect_state: EffectState,
    /// Error code of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<Code>,
    /// The open question, while it waits for approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<QuestionId>,
    /// When it came in.
    pub created_at: Timestamp,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// An intent, the call that carries it out, and its lease.
#[derive(Clone, Debug, PartialEq)]
pub struct IntentRecord {
    /// The bound intent.
    pub intent: Intent,
    /// The call that carries it out.
    pub run: Run,
    /// Lease of the call. A call that changes something keeps it until its result was delivered.
    pub lease: Option<Lease>,
}

/// An open compensation: the original call was not told its outcome yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenUndoing {
    /// The call that is compensated.
    pub original: InvocationId,
    /// The compensating call.
    pub by: InvocationId,
}

/// Lease: the exclusive right to write about an invocation, until it expires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Id of the owning process.
    pub owner: String,
    /// Expiry, unless it is renewed.
    pub until: DualTime,
    /// Its fencing token.
    pub fence: Fence,
}

/// Filter of invocations.
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
    /// Only those before this one, for pagination.
    pub before: Option<InvocationId>,
    /// Page size; 0 means 50.
    pub most: usize,
}

/// A question and its answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuestionRecord {
    /// The question.
    pub question: Question,
    /// Recorded state. An expired question is still `open` until that is on record.
    pub state: QuestionState,
    /// The answers so far.
    pub answers: Vec<ApprovalAnswer>,
}

/// Filter of questions.
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

/// One attempt that reached a driver, with everything that quotas count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// Sequence number of its entry.
    pub seq: u64,
    /// The call it belongs to.
    pub invocation: InvocationId,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// When it began.
    pub at: Timestamp,
    /// The contract, `id@major`.
    pub tool: String,
    /// The driver.
    pub driver: DriverId,
    /// Id of the caller.
    pub actor: String,
    /// Tenant of the caller.
    pub tenant: String,
    /// What else quotas count it as.
    pub charge: Charge,
}

/// Filter of attempts.
#[derive(Clone, Debug)]
pub struct UseFilter {
    /// Only entries after this sequence number.
    pub after: Option<u64>,
    /// Only attempts that began at or after this time.
    pub since: Timestamp,
    /// Only by this actor.
    pub actor: Option<String>,
    /// Only for this tenant.
    pub tenant: Option<String>,
}
