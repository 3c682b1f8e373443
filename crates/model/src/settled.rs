//! The point of no return, and what may still be learned of an effect after it.

use serde::{Deserialize, Serialize};

use crate::{ActorId, DualTime, EffectState, InvocationId, PayloadRef};

/// The point of no return.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitted {
    /// Of which attempt.
    pub attempt: u32,
    /// How long it may still take effect: before that, a backend that knows nothing of it has merely
    /// not carried it out yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<DualTime>,
}

/// A person found out what became of an effect that nobody knew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectSettled {
    /// What became of it.
    pub effect: EffectState,
    /// Who says so.
    pub by: ActorId,
    /// How they know.
    pub reason: String,
}

/// A process that had lost the right to write about the call saw its effect all the same. What took
/// place is on record, whatever the process said that took the call over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectObserved {
    /// Of which attempt.
    pub attempt: u32,
    /// The fence that it had lost.
    pub fence: u64,
    /// What it saw.
    pub effect: EffectState,
    /// The answer that it gave.
    pub result: PayloadRef,
}

/// Another call is about to undo this one; nobody else may meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compensating {
    /// Which call.
    pub by: InvocationId,
}

/// The call that was to undo this one is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompensationEnded {
    /// Which call.
    pub by: InvocationId,
    /// What is known of the effect of this one now; as before where nothing was tried.
    pub effect: EffectState,
}
