//! What somebody means by a call, however often it is sent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::status::words;
use crate::{Digest, Timestamp};

words! {
    /// Where the key of an intent comes from.
    KeySource {
        /// The caller gave it.
        Caller "caller",
        /// The contract says how it follows from the input.
        Contract "contract",
        /// Nobody gave one: equal calls are told apart by whether they were answered.
        Intent "intent",
    }
}

words! {
    /// What is known of an intent from the call that carries it out.
    IntentState {
        /// The call is not over.
        Open "open",
        /// It took effect, at least in part.
        Done "done",
        /// Nobody knows whether it took effect.
        Unknown "unknown",
        /// Nothing happened, so the next call may carry it out.
        Free "free",
    }
}

/// One intent, tied to the call that carries it out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// What it is found by: a digest of actor, tenant and key, or of everything it is bound to.
    pub intent: Digest,
    /// What it is bound to: a digest of actor, tenant, resource, operation and payload.
    pub binding: Digest,
    /// The key that the backend knows it by, the same in every attempt.
    pub key: String,
    /// Where the key comes from.
    pub source: KeySource,
    /// Until when it is remembered once it is over.
    pub until: Timestamp,
}

/// A call that was the same intent as another, and was given that one's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentAgain {
    /// By which way it came.
    pub channel: String,
    /// What it is known by elsewhere: each has a `source`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub native: Vec<Value>,
}
