//! What is handed in to be kept: facts that go into one entry of the chain, and bytes beside them.

use haft_model::{
    Actor, Digest, DualTime, Fact, InvocationId, KeySource, QuestionId, Timestamp, TokenId,
};

use crate::Fence;

use crate::Error;

/// One entry to be. Its facts share one link of the chain.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// The call it is about; none for what concerns the house.
    pub invocation: Option<InvocationId>,
    /// Who is behind it.
    pub actor: Option<Actor>,
    /// The contract: `id@version`, once it is known.
    pub subject: Option<String>,
    /// What happened, in order.
    pub facts: Vec<Fact>,
    /// Bytes that the facts name by digest.
    pub blobs: Vec<Blob>,
    /// What has to hold for the entry to be written.
    pub guards: Vec<Guard>,
    /// Takes the lease of the invocation together with the entry, or neither.
    pub claim: Option<LeaseClaim>,
    /// Gives a lease back together with the entry.
    pub release: Option<Fence>,
}

/// Who takes a lease, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseClaim {
    /// Who.
    pub owner: String,
    /// When.
    pub now: DualTime,
    /// Until when, unless it is prolonged.
    pub until: DualTime,
}

/// Bytes that are kept beside the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// Their digest.
    pub digest: Digest,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether they may hold something sensitive, and are sealed where they lie.
    pub sensitive: bool,
}

/// What has to hold at the moment an entry is written; otherwise it is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The lease of the entry's invocation has this token.
    Fence(u64),
    /// The question is open at this time, and `answered_by` has not answered it yet.
    Unanswered {
        /// Which question.
        question: QuestionId,
        /// Who is about to answer.
        answered_by: String,
        /// When.
        at: Timestamp,
    },
    /// Nobody else holds the lease of the entry's invocation; what a claim asks for.
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
    /// The token was issued and not taken back.
    Issued(TokenId),
    /// The call that carries this intent out is the one that was looked at; none for a new intent.
    Intent {
        /// Which intent.
        intent: Digest,
        /// Where its key comes from.
        source: KeySource,
        /// The call.
        holder: Option<InvocationId>,
    },
    /// Nothing was put on record about the entry's invocation since the entry with this number.
    Unchanged(u64),
}

/// Refuses bytes that are not those of their digest, which would look like damage for ever after,
/// and keeps what was handed in twice once; it is sensitive if either was.
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
