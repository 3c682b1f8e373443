//! Call pipeline: takes one call through its stages, each of which consumes the value that the one
//! before made.
//!
//! INVARIANT: whatever happens, exactly one envelope comes out.

use std::sync::Arc;
use std::time::Duration;

use haft_catalog::CatalogEntry;
use haft_driver::{Failure, Output};
use haft_model::{Call, EffectState, Envelope, Intent, InvocationId, Plan, Question, Stop};

use serde_json::Value;

use crate::context::CallContext;
use crate::execute::ExecutedCall;
use crate::idempotency::DeduplicatedCall;
use crate::resolve::ResolvedCall;
use crate::validate::{self, Workload};
use crate::{CallOptions, Receipt, Runtime};

/// Why a call ended before its last phase.
pub enum Halt {
    /// The call was refused or failed.
    Stopped(Box<Failure>),
    /// The call waits for approval, and the caller does not.
    Pending(Box<Question>),
    /// The call is a repeat, and this is the first call's result.
    Answered(Box<Envelope>),
}

impl From<Stop> for Halt {
    /// A refusal before anything was sent.
    fn from(stop: Stop) -> Halt {
        Halt::Stopped(Box::new(Failure::new(stop, EffectState::None)))
    }
}

/// A call that ended in the middle of its stages.
pub struct StoppedCall {
    pub(crate) halt: Halt,
    pub(crate) reached: Reached,
}

/// How far a call came: what its envelope says about contract, intent and plan.
#[derive(Clone, Default)]
pub(crate) struct Reached {
    /// The contract; `None` where the tool was not resolved.
    pub(crate) entry: Option<Arc<CatalogEntry>>,
    /// Idempotency identity; `None` where repeats may execute.
    pub(crate) intent: Option<Arc<Intent>>,
    /// The plan that policy evaluated last.
    pub(crate) plan: Option<Arc<Plan>>,
}

impl Reached {
    /// Whether the contract is a write's.
    pub(crate) fn may_mutate(&self) -> bool {
        self.entry.as_ref().is_some_and(|entry| entry.contract.effects.may_mutate())
    }

    /// Validates an output against the contract.
    pub(crate) fn check_output(&self, output: &Output) -> Result<(), Stop> {
        let Some(entry) = &self.entry else { return Ok(()) };
        match &output.structured {
            Some(value) => validate::check_output(entry, value),
            None => validate::check_output(entry, &Value::Object(Default::default())),
        }
    }

    /// Ends a call here.
    pub(crate) fn stopped(&self, halt: impl Into<Halt>) -> StoppedCall {
        StoppedCall { halt: halt.into(), reached: self.clone() }
    }
}

/// The end of the stages, which `finish` turns into the envelope.
pub type CallOutcome = Result<ExecutedCall, StoppedCall>;

impl Runtime {
    /// Runs one call through all phases. Whatever happens, exactly one envelope comes out.
    pub async fn call(&self, call: Call, options: CallOptions<'_>) -> Envelope {
        self.call_under(self.new_id(), call, options).await
    }

    /// A fresh id, for a caller that has to know it before the call.
    pub fn new_id(&self) -> InvocationId {
        new_id()
    }

    /// Runs a call under an id of [`Runtime::new_id`]. A repeat gets the first call's envelope, and
    /// the id stays unused.
    pub async fn call_under(
        &self,
        id: InvocationId,
        call: Call,
        options: CallOptions<'_>,
    ) -> Envelope {
        let call = self.keyed(call, options.surface.as_slice());
        let mut context = CallContext::begin(self, &call, id);
        context.request.nested = call.parent.is_some();
        let outcome = context.run(Arc::new(call), &options).await;
        let envelope = context.finish(outcome).await;
        if options.receipt == Receipt::Given {
            self.mark_delivered(&envelope.invocation_id);
        }
        envelope
    }
}

impl CallContext<'_> {
    /// Runs the stages of a new call.
    pub(crate) async fn run(&mut self, call: Arc<Call>, options: &CallOptions<'_>) -> CallOutcome {
        if let Err(stop) = self.runtime.is_recordable() {
            // INVARIANT: no call, not even a read, begins while the ledger cannot record it.
            self.recorder.refuse(stop.clone());
            return Err(Reached::default().stopped(stop));
        }
        let workload = Workload::of_call(&call);
        let resolved = workload.run(|| ResolvedCall::resolve(call, self, options))?;
        let reached = resolved.reached();
        if !self.request.nested {
            self.runtime.is_open().map_err(|stop| reached.stopped(stop))?;
        }
        self.runtime.declare(resolved.entry()).await;
        let parsed = workload.run(|| resolved.parse(self))?;
        self.wait_for_siblings(options).await.map_err(|halt| reached.stopped(halt))?;
        let deduplicated = parsed.deduplicate(self, options).await?;
        let origin = deduplicated.origin().clone();
        let outcome = self.run_deduplicated(deduplicated, workload, options).await;
        if !self.recorder.lost_race() {
            return outcome;
        }
        let reached = match outcome {
            Ok(executed) => executed.reached,
            Err(stopped) => stopped.reached,
        };
        let halt = self.lost_race(&reached, &origin, options).await;
        Err(Reached { intent: None, ..reached }.stopped(halt))
    }

    async fn run_deduplicated(
        &mut self,
        deduplicated: DeduplicatedCall,
        workload: Workload,
        options: &CallOptions<'_>,
    ) -> CallOutcome {
        let planned = workload.run(|| deduplicated.plan(self))?;
        self.recorder.may_take(Duration::from_millis(planned.plan.limits.timeout_ms));
        let compensating = self.begin_undoing(&planned.origin().call).await;
        compensating.map_err(|halt| planned.reached().stopped(halt))?;
        let reviewed = planned.review(self).await?;
        let permitted = reviewed.authorize(self, options).await?;
        permitted.execute(self, options).await
    }
}

/// A fresh id: `inv_` and a UUIDv7.
pub(crate) fn new_id() -> InvocationId {
    InvocationId::from(format!("inv_{}", uuid::Uuid::now_v7().simple()).as_str())
}
