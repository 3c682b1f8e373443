//! What may still be learned of an effect after its call is over.

use serde::{Deserialize, Serialize};

use crate::{ActorId, EffectState, InvocationId};

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
