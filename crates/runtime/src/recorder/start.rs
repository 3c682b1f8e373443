//! Start state of a recorder: empty for a new call, or the recorded progress of a recovered one.

use std::sync::Arc;

use haft_ledger::Fence;
use haft_model::{Actor, CallPhase, DualTime, InvocationId, Status};

/// Start state of a recorder.
pub(crate) struct RecorderStart {
    /// Id of the invocation.
    pub(crate) id: InvocationId,
    /// Calling actor.
    pub(crate) actor: Arc<Actor>,
    /// Progress of a recovered call; `None` for a new one.
    pub(crate) taken_up: Option<TakenUp>,
}

/// Recorded progress of a recovered call.
pub(crate) struct TakenUp {
    /// Contract, as `id@version`.
    pub(crate) subject: String,
    /// Fencing token of the new lease.
    pub(crate) fence: Fence,
    /// Time at which the lease was claimed.
    pub(crate) leased: DualTime,
    /// Last recorded status.
    pub(crate) status: Status,
    /// Sequence number of the last progress report; 0 for none.
    pub(crate) progress: u64,
    /// Phases that ended before the takeover.
    pub(crate) phases: Vec<CallPhase>,
    /// Microseconds since the call began.
    pub(crate) age: u64,
}
