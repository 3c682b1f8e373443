//! What a journal begins with: nothing, or what somebody else wrote before.

use std::sync::Arc;

use haft_ledger::Fence;
use haft_model::{Actor, CallPhase, DualTime, InvocationId, Status};

/// What a journal begins with.
pub(crate) struct RecorderStart {
    /// The call's id.
    pub(crate) id: InvocationId,
    /// Who called.
    pub(crate) actor: Arc<Actor>,
    /// When it came in, for a call that is taken up again.
    pub(crate) taken_up: Option<TakenUp>,
}

/// Where a call that is taken up again had got to.
pub(crate) struct TakenUp {
    /// Its contract.
    pub(crate) subject: String,
    /// The right to write about it.
    pub(crate) fence: Fence,
    /// When it was taken.
    pub(crate) leased: DualTime,
    /// Its status.
    pub(crate) status: Status,
    /// How many reports of progress there are.
    pub(crate) progress: u64,
    /// The phases that are over.
    pub(crate) phases: Vec<CallPhase>,
    /// How long ago that is, in microseconds.
    pub(crate) age: u64,
}
