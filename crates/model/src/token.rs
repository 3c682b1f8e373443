//! Bearer token record: what the ledger keeps of a token, which is never its text.

use serde::{Deserialize, Serialize};

use crate::{ActorId, Digest, Timestamp, TokenId};

/// A token that is valid until it is revoked or expires. Only its holder knows its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Id of the token.
    pub id: TokenId,
    /// The SHA-256 of its text; the lookup key.
    pub hash: Digest,
    /// The actor that it authenticates.
    pub actor: ActorId,
    /// Tenant of the actor at issue; it grants access to no other tenant.
    pub tenant: String,
    /// Purpose, as the issuer described it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The actor who issued it.
    pub by: ActorId,
    /// When it was issued.
    pub at: Timestamp,
    /// When it expires; `None` means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

impl Token {
    /// Whether it has not expired at a moment.
    pub fn is_good(&self, now: Timestamp) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }
}

/// A token was revoked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRevoked {
    /// Id of the token.
    pub id: TokenId,
    /// The actor who revoked it.
    pub by: ActorId,
}
