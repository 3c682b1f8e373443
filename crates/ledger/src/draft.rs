//! Draft entry: facts that share one link of the chain, their payloads and their guards.

use haft_model::{
    Actor, Digest, DualTime, Fact, InvocationId, KeySource, QuestionId, Timestamp, TokenId,
};

use crate::Fence;

use crate::Error;

/// One entry to be appended. Its facts share one link of the chain.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// The invocation it is about; `None` for an entry about the workspace.
    pub invocation: Option<InvocationId>,
    /// The actor behind it.
    pub actor: Option<Actor>,
    /// The contract: `id@version`, once it is known.
    pub subject: Option<String>,
    /// What happened, in order.
    pub facts: Vec<Fact>,
    /// Payloads that the facts name by digest.
    pub blobs: Vec<Blob>,
    /// Preconditions; all must hold for the entry to be written.
    pub guards: Vec<Guard>,
    /// Takes the lease of the invocation in the same transaction as the entry.
    pub claim: Option<LeaseClaim>,
    /// Releases a lease in the same transaction as the entry.
    pub release: Option<Fence>,
}

/// A request for a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseClaim {
    /// Id of the owning process.
    pub owner: String,
    /// Time of the request.
    pub now: DualTime,
    /// Expiry, unless it is renewed.
    pub until: DualTime,
}

/// A payload that is stored beside the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// Their digest.
    pub digest: Digest,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether they may hold something sensitive, and are encrypted at rest.
    pub sensitive: bool,
}

/// Guard: a precondition that is checked when the entry is written; otherwise it is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The lease of the entry's invocation has this fencing token.
    Fence(u64),
    /// The question is open at this time, and `answered_by` has not answered it yet.
    Unanswered {
        /// Id of the question.
        question: QuestionId,
        /// The approver who is about to answer.
        answered_by: String,
        /// Time of the answer.
        at: Timestamp,
    },
    /// No other owner holds the lease of the entry's invocation; what a claim asks for.
    Free,
    /// The invocation has not ended.
    NotEnded,
    /// This declaration of this tool is not the one on record.
    NewDeclaration {
        /// `id@major`.
        tool: String,
        /// The digest of its declaration.
        digest: Digest,
    },
    /// The standing answer is in force.
    Stands(QuestionId),
    /// The token was issued and not revoked.
    Issued(TokenId),
    /// The holder of this intent is the call that was looked at; `None` for a new intent.
    Intent {
        /// Digest of the intent.
        intent: Digest,
        /// Source of its idempotency key.
        source: KeySource,
        /// The call that was looked at.
        holder: Option<InvocationId>,
    },
    /// Optimistic concurrency: no entry about the invocation was written since this one.
    Unchanged(u64),
}

/// Rejects bytes that do not match their digest, which would look like damage for ever after, and
/// deduplicates payloads; a payload is sensitive if either copy was.
pub(crate) fn checked(draft: &mut Draft) -> Result<(), Error> {
    let mut kept: Vec<Blob> = Vec::with_capacity(draft.blobs.len());
    for blob in std::mem::take(&mut draft.blobs) {
        if let Some(same) = kept.iter_mut().find(|same| same.digest == blob.digest) {
            same.sensitive |= blob.sensitive;
            continue;
        }
        if Digest::of_bytes(&blob.bytes) != blob.digest {
            let cause = format!("the bytes handed in are not those of `{}`", blob.digest);
            return Err(Error::Unwritable { cause });
        }
        kept.push(blob);
    }
    draft.blobs = kept;
    Ok(())
}
