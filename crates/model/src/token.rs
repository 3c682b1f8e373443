//! A token by which somebody shows who they are: what is kept of it, which is never the token.

use serde::{Deserialize, Serialize};

use crate::{ActorId, Digest, Timestamp, TokenId};

/// A token that is in force until it is taken back, or runs out. Its text is known to whoever holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// The digest of its text, by which it is found.
    pub hash: Digest,
    /// Who whoever shows it is.
    pub actor: ActorId,
    /// Whose they were when it was issued; of nobody else's tenant does it open anything.
    pub tenant: String,
    /// What it is for, in the words of whoever issued it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Who issued it.
    pub by: ActorId,
    /// When.
    pub at: Timestamp,
    /// From when on it is good for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

impl Token {
    /// Whether it is still good at a moment.
    pub fn is_good(&self, now: Timestamp) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }
}

/// A token was taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRevoked {
    /// Which.
    pub id: TokenId,
    /// By whom.
    pub by: ActorId,
}
