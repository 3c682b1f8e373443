//! Idempotency intent: what the caller means by a call, however often it is sent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::status::words;
use crate::{Digest, Timestamp};

words! {
    /// Source of an idempotency key.
    KeySource {
        /// The caller set it.
        Caller "caller",
        /// The contract derives it from the input.
        Contract "contract",
        /// No key: equal calls are told apart by whether the first one's result was delivered.
        Intent "intent",
    }
}

words! {
    /// State of an intent, derived from the call that carries it out.
    IntentState {
        /// The call has not ended.
        Open "open",
        /// It took effect, at least in part.
        Done "done",
        /// It is unknown whether it took effect.
        Unknown "unknown",
        /// Nothing happened, so the next call may carry it out.
        Free "free",
    }
}

/// One intent, bound to the call that carries it out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// Lookup key: a digest of actor, tenant and key, or of everything it is bound to.
    pub intent: Digest,
    /// What it is bound to: a digest of actor, tenant, resource, operation and payload.
    pub binding: Digest,
    /// The idempotency key that the backend sees, the same in every attempt.
    pub key: String,
    /// Source of the key.
    pub source: KeySource,
    /// When deduplication forgets it after the call is over.
    pub until: Timestamp,
}

/// A duplicate: a call with the same intent as another, answered with that call's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentAgain {
    /// Channel it came through.
    pub channel: String,
    /// Foreign ids of the duplicate; each has a `source`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub native: Vec<Value>,
}
