//! Submission and settlement: the point of no return, and what is learned of an effect after it.

use serde::{Deserialize, Serialize};

use crate::{ActorId, DualTime, EffectState, InvocationId, PayloadRef};

/// Submission: the point of no return of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitted {
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// How long it may still take effect: before then, a backend that does not know the call has
    /// merely not run it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<DualTime>,
}

/// Manual resolution: a person found out what became of an unknown effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectSettled {
    /// The resolved effect state.
    pub effect: EffectState,
    /// The person who resolved it.
    pub by: ActorId,
    /// Evidence that they name.
    pub reason: String,
}

/// A fenced-out process saw the effect of its call all the same. What took place is on record,
/// whatever the process that took the call over recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectObserved {
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// The fencing token that it had lost.
    pub fence: u64,
    /// The effect state that it observed.
    pub effect: EffectState,
    /// The result that it produced.
    pub result: PayloadRef,
}

/// Another call is about to compensate this one; meanwhile no third call may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compensating {
    /// The compensating call.
    pub by: InvocationId,
}

/// The compensating call is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompensationEnded {
    /// The compensating call.
    pub by: InvocationId,
    /// Effect state of the original call; unchanged where nothing was tried.
    pub effect: EffectState,
}
