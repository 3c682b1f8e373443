//! Call context: what the stages of one call share besides the value that they hand on: the
//! recorder, the redactor, and what the call has done so far.
//!
//! INVARIANT: nothing in here stands for a stage. Whether a call is resolved, deduplicated, planned
//! or permitted is the type of its stage value, never a field of the context.

use std::sync::Arc;

use haft_catalog::CatalogEntry;
use haft_ledger::Blob;
use haft_model::{
    Audience, Call, DualTime, FrozenInput, InvocationId, PayloadRef, SchedulerPolicy, Trace,
};

use crate::compensation::CompensatedCall;
use crate::idempotency::FlightOwner;
use crate::in_flight::InFlightCall;
use crate::inputs::Discretion;
use crate::quota::QuotaReservation;
use crate::recorder::{Recorder, RecorderStart};
use crate::redact::Redactor;
use crate::{Runtime, World};

/// What the stages of one call share.
pub struct CallContext<'r> {
    pub(crate) runtime: &'r Runtime,
    /// Contracts and rules that the call is checked against.
    pub(crate) world: Arc<World>,
    pub(crate) recorder: Recorder,
    pub(crate) privacy: Privacy,
    pub(crate) request: CallRequest,
    /// In-flight registration: no other task takes the call over.
    pub(crate) in_flight: InFlightCall<'r>,
    pub(crate) waiters: ResultWaiters,
    pub(crate) approvals: ApprovalLog,
    pub(crate) attempts: AttemptLog<'r>,
    /// The call that this one compensates, once it has acquired the right.
    pub(crate) compensating: Option<CompensatedCall>,
}

/// What the log may show of the call, and what is redacted everywhere.
pub(crate) struct Privacy {
    pub(crate) discretion: Discretion,
    pub(crate) redactor: Redactor,
}

/// What is fixed when a call begins.
#[derive(Default)]
pub(crate) struct CallRequest {
    /// The tool by the name that the caller used.
    pub(crate) tool: String,
    /// Who reads the envelope: a person or a model.
    pub(crate) audience: Audience,
    /// Whether it is made for another call that is under way here.
    pub(crate) nested: bool,
    /// Whether recovery runs it beside other work, so that it must not wait for people.
    pub(crate) unattended: bool,
    /// Trace context that the call continues or begins.
    pub(crate) trace: Option<Trace>,
    /// Scheduler policy of its batch.
    pub(crate) scheduler_policy: Option<Arc<SchedulerPolicy>>,
}

/// Who waits for the result.
#[derive(Default)]
pub(crate) struct ResultWaiters {
    /// Single-flight ownership: equal calls of this process await its envelope.
    pub(crate) flight: Option<FlightOwner>,
    /// Whether the caller was released while the call continues.
    pub(crate) detached: bool,
}

/// Decisions and questions so far.
#[derive(Default)]
pub(crate) struct ApprovalLog {
    /// Policies and rules that gave an opinion in the last decision.
    pub(crate) policies: Vec<String>,
    /// Number of questions asked so far.
    pub(crate) questions_asked: usize,
}

/// Attempts so far.
pub(crate) struct AttemptLog<'r> {
    /// Number of the current attempt, from 1.
    pub(crate) number: u32,
    /// Whether a driver was reached.
    pub(crate) executed: bool,
    /// Whether the effect is known from the status operation, which cannot tell calls with one key
    /// apart.
    pub(crate) looked_up: bool,
    /// Until when a submitted request may still take effect.
    pub(crate) possible_until: Option<DualTime>,
    /// Quota reservation, until the driver is reached.
    pub(crate) reservation: Option<QuotaReservation<'r>>,
}

impl Default for AttemptLog<'_> {
    fn default() -> Self {
        AttemptLog {
            number: 1,
            executed: false,
            looked_up: false,
            possible_until: None,
            reservation: None,
        }
    }
}

impl<'r> CallContext<'r> {
    /// The context of a new call.
    pub(crate) fn begin(runtime: &'r Runtime, call: &Call, id: InvocationId) -> CallContext<'r> {
        let in_flight = runtime.enlist_new(&id);
        let request = CallRequest {
            tool: call.tool.clone(),
            audience: Audience::of_call(call.channel, &call.actor),
            trace: Trace::of_call(&id, &call.native),
            ..CallRequest::default()
        };
        let start = RecorderStart { id, actor: call.actor.clone(), taken_up: None };
        let recorder = Recorder::open(runtime.clock.clone(), runtime.store.clone(), start);
        let mut context = CallContext::with(runtime, recorder, in_flight, request);
        // A compensating call's input may hold sensitive values of the original.
        context.privacy.discretion.unknown |= call.compensates.is_some();
        context
    }

    /// The context of a call with this recorder and request.
    pub(crate) fn with(
        runtime: &'r Runtime,
        recorder: Recorder,
        in_flight: InFlightCall<'r>,
        request: CallRequest,
    ) -> CallContext<'r> {
        let world = runtime.world();
        let discretion = match world.snapshot.find(&request.tool) {
            Some(entry) => discretion(entry),
            None => Discretion::of_a_stranger(),
        };
        let redactor = Redactor::new(&discretion.sensitive);
        CallContext {
            runtime,
            world,
            recorder,
            privacy: Privacy { discretion, redactor },
            request,
            in_flight,
            waiters: ResultWaiters::default(),
            approvals: ApprovalLog::default(),
            attempts: AttemptLog::default(),
            compensating: None,
        }
    }

    /// Stores a frozen input as a payload beside the log.
    pub(crate) fn keep_input(&mut self, input: &FrozenInput) -> PayloadRef {
        self.keep_bytes(self.privacy.discretion.keep_input(input))
    }

    /// Stores a payload; redacts its shown fields, since a sensitive value may appear in them too.
    pub(crate) fn keep_bytes(&mut self, (mut kept, blob): (PayloadRef, Blob)) -> PayloadRef {
        for shown in kept.shown.values_mut() {
            self.privacy.redactor.everywhere(shown);
        }
        self.recorder.keep((kept, blob))
    }
}

fn discretion(entry: &CatalogEntry) -> Discretion {
    let extras = &entry.contract.tool.extras;
    Discretion { sensitive: extras.sensitive.clone(), audit: extras.audit.clone(), unknown: false }
}
