//! Call pipeline: takes one call through the thirteen phases, from resolution to its envelope.
//!
//! INVARIANT: whatever happens, exactly one envelope comes out.

use std::sync::Arc;
use std::time::Duration;

use haft_catalog::{CatalogEntry, DriverStates, Sender, Viewer};
use haft_driver::{Failure, Output};
use haft_ledger::Blob;
use haft_model::{
    Audience, Call, CallPhase, CauseDetail, Code, Digest, DualTime, EffectState, Envelope, Event,
    Intent, InvocationId, PayloadRef, Plan, Planned, Question, SchedulerPolicy, Selected, Stop,
    Tier, ToolKey, Trace, settle_numbers, utc_day,
};
use serde_json::Value;

use crate::background;
use crate::batch::Membership;
use crate::compensation::CompensatedCall;
use crate::idempotency::FlightOwner;
use crate::in_flight::InFlightCall;
use crate::inputs::Discretion;
use crate::quota::QuotaReservation;
use crate::recorder::{Recorder, RecorderStart};
use crate::redact::Redactor;
use crate::surface_state::Ground;
use crate::validate;
use crate::{CallOptions, Receipt, Runtime, World};

/// Why a call ended before its last phase.
pub(crate) enum Halt {
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

/// State of one call in the pipeline.
pub(crate) struct CallPipeline<'r> {
    pub(crate) runtime: &'r Runtime,
    pub(crate) world: Arc<World>,
    pub(crate) recorder: Recorder,
    pub(crate) discretion: Discretion,
    pub(crate) redactor: Redactor,
    /// The contract; `None` until the tool is resolved.
    pub(crate) entry: Option<Arc<CatalogEntry>>,
    /// Driver states for this caller.
    pub(crate) states: DriverStates,
    /// The plan that policy evaluated last.
    pub(crate) plan: Option<Plan>,
    /// Policies and rules that gave an opinion.
    pub(crate) policies: Vec<String>,
    /// Whether a driver was reached.
    pub(crate) executed: bool,
    /// Whether the effect is known from the status operation, which cannot tell calls with one key
    /// apart.
    pub(crate) looked_up: bool,
    /// Number of the current attempt, from 1.
    pub(crate) attempt: u32,
    /// Until when a submitted request may still take effect.
    pub(crate) possible_until: Option<DualTime>,
    pub(crate) requested: String,
    /// Who reads the envelope: a person or a model.
    pub(crate) audience: Audience,
    /// The caller's input as a value, and the digest of its bytes.
    pub(crate) received_input: Option<(Value, Digest)>,
    /// Whether it is made for another call that is under way here.
    pub(crate) nested: bool,
    /// Whether recovery runs it beside other work, so that it must not wait for people.
    pub(crate) unattended: bool,
    /// Whether the caller was released while the call continues.
    pub(crate) detached: bool,
    /// Number of questions asked so far.
    pub(crate) questions_asked: usize,
    /// The call that this one compensates, once it has acquired the right.
    pub(crate) compensating: Option<CompensatedCall>,
    /// Idempotency identity; `None` where repeats may execute.
    pub(crate) intent: Option<Intent>,
    /// Single-flight ownership: equal calls of this process await its envelope.
    pub(crate) flight: Option<FlightOwner>,
    /// In-flight registration: no other task takes the call over.
    pub(crate) in_flight: InFlightCall<'r>,
    /// Membership in a batch.
    pub(crate) membership: Option<Membership>,
    /// Quota reservation, until the driver is reached.
    pub(crate) reservation: Option<QuotaReservation<'r>>,
    /// Scheduler policy of its batch.
    pub(crate) scheduler_policy: Option<Arc<SchedulerPolicy>>,
    /// Trace context that the call continues or begins.
    pub(crate) trace: Option<Trace>,
}

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
        let mut pipeline = CallPipeline::begin(self, &call, id);
        pipeline.nested = call.parent.is_some();
        let outcome = pipeline.run(&call, &options).await;
        let envelope = pipeline.finish(outcome).await;
        if options.receipt == Receipt::Given {
            self.mark_delivered(&envelope.invocation_id);
        }
        envelope
    }
}

impl<'r> CallPipeline<'r> {
    pub(crate) fn begin(runtime: &'r Runtime, call: &Call, id: InvocationId) -> CallPipeline<'r> {
        let in_flight = runtime.enlist_new(&id);
        let trace = Trace::of_call(&id, &call.native);
        let opening = RecorderStart { id, actor: call.actor.clone(), taken_up: None };
        let recorder = Recorder::open(runtime.clock.clone(), runtime.store.clone(), opening);
        let mut pipeline = CallPipeline::with(runtime, recorder, in_flight, &call.tool);
        // A compensating call's input may hold sensitive values of the original.
        pipeline.discretion.unknown |= call.compensates.is_some();
        pipeline.trace = trace;
        pipeline.audience = Audience::of_call(call.channel, &call.actor);
        pipeline
    }

    pub(crate) fn with(
        runtime: &'r Runtime,
        recorder: Recorder,
        in_flight: InFlightCall<'r>,
        requested: &str,
    ) -> CallPipeline<'r> {
        let world = runtime.world();
        let known = world.snapshot.find(requested);
        let discretion = match known {
            Some(entry) => discretion(entry),
            None => Discretion::of_a_stranger(),
        };
        let redactor = Redactor::new(&discretion.sensitive);
        CallPipeline {
            runtime,
            recorder,
            discretion,
            redactor,
            entry: None,
            states: DriverStates::default(),
            plan: None,
            policies: Vec::new(),
            executed: false,
            looked_up: false,
            attempt: 1,
            possible_until: None,
            nested: false,
            unattended: false,
            detached: false,
            requested: requested.to_owned(),
            audience: Audience::default(),
            received_input: None,
            questions_asked: 0,
            compensating: None,
            intent: None,
            flight: None,
            in_flight,
            membership: None,
            reservation: None,
            scheduler_policy: None,
            trace: None,
            world,
        }
    }

    /// Runs the phases; if another process bound the same intent first, replays its result.
    pub(crate) async fn run(
        &mut self,
        call: &Call,
        options: &CallOptions<'_>,
    ) -> Result<Output, Halt> {
        let outcome = self.run_stages(call, options).await;
        match self.recorder.lost_race() {
            true => Err(self.lost_race(call, options).await),
            false => outcome,
        }
    }

    async fn run_stages(&mut self, call: &Call, options: &CallOptions<'_>) -> Result<Output, Halt> {
        if let Err(stop) = self.runtime.is_recordable() {
            // INVARIANT: no call, not even a read, begins while the ledger cannot record it.
            self.recorder.refuse(stop.clone());
            return Err(stop.into());
        }
        let workload = validate::Workload::of_call(call);
        let entry = workload.run(|| self.resolve(call, options))?;
        if !self.nested {
            self.runtime.is_open()?;
        }
        self.runtime.declare(&entry).await;
        let input = workload.run(|| self.parse(call, &entry))?;
        self.wait_for_siblings(options).await?;
        self.load_driver_states(call, &entry).await;
        self.deduplicate(call, &entry, &input, options).await?;
        let planned = workload.run(|| self.make_plan(call, entry, input))?;
        self.recorder.may_take(Duration::from_millis(planned.plan.limits.timeout_ms));
        self.begin_undoing(call).await?;
        let heard = self.run_pre_hooks(call, planned).await?;
        let permitted = self.authorize(call, heard, options).await?;
        self.execute_permitted(call, permitted, options).await
    }

    /// Reads the driver states, so that routing need not query them.
    pub(crate) async fn load_driver_states(&mut self, call: &Call, entry: &CatalogEntry) {
        self.states = self.world.states_for_use(entry, &call.actor, self.recorder.now()).await;
    }

    /// Phases 1 and 3: resolves the tool on the surface and checks that its schema is loaded.
    fn resolve(
        &mut self,
        call: &Call,
        options: &CallOptions<'_>,
    ) -> Result<Arc<CatalogEntry>, Halt> {
        let today = utc_day(self.recorder.now());
        let world = self.world.clone();
        let viewer = Viewer { actor: &call.actor, within: options.surface.as_slice() };
        let ground = self.runtime.ground(&world, &viewer);
        self.record_received(call, &ground);
        let found = ground.surface.find(&call.tool, &world.snapshot);
        let found = found.and_then(|_| world.snapshot.select(&call.tool, today)).cloned();
        let admitted = found.as_ref().ok().map(|entry| ground.admit(entry, today));
        let found = found.and_then(|entry| match &admitted {
            Some(Err(stop)) if stop.code == Code::ToolBlocked => Err(stop.clone()),
            _ => Ok(entry),
        });
        let entry = self.recorder.phase_of(CallPhase::ResolveTool, found)?;
        let key = entry.contract.key().clone();
        self.recorder.about(format!("{}@{}", key.id, entry.contract.tool.version));
        self.recorder.note(Event::Selected(selected(&entry, &key, &call.tool)));
        self.entry = Some(entry.clone());
        // Status queries and compensations take the schema from the runtime, not from the surface.
        let of_ours = self.nested || call.compensates.is_some();
        let loaded = admitted.filter(|_| !of_ours).unwrap_or(Ok(()));
        let loaded = loaded.and_then(|()| within_reach(&entry, options.tier));
        let loaded = loaded.and_then(|()| background::is_for(&entry, options));
        self.recorder.phase_of(CallPhase::SchemaGate, loaded)?;
        Ok(entry)
    }

    /// Records the first event of the call.
    fn record_received(&mut self, call: &Call, ground: &Ground) {
        let (mut value, bytes) = match &call.sent {
            Some(text) => {
                (serde_json::from_str(text).unwrap_or_default(), text.clone().into_bytes())
            }
            None => (call.input.clone(), serde_json::to_vec(&call.input).unwrap_or_default()),
        };
        // A number without an exact form stays as it is; validation refuses the call for it.
        let _ = settle_numbers(&mut value);
        self.redactor.learn(&value);
        let model_input = self.keep_bytes(self.discretion.keep(&value, bytes));
        self.received_input = Some((value, model_input.digest.clone()));
        let has_context = call.context.as_object().is_none_or(|fields| !fields.is_empty());
        let context = has_context.then(|| {
            let kept = Discretion::of_a_stranger().keep_value(&call.context);
            self.recorder.keep(kept)
        });
        self.recorder.note(Event::Planned(Box::new(Planned {
            requested: call.tool.clone(),
            actor: haft_model::Actor::clone(&call.actor),
            surface: ground.surface.id.clone(),
            revision: ground.revision,
            model_input,
            context,
            pinned: call.pinned.clone(),
            region: call.region.clone(),
            native: call.native.clone(),
            channel: call.channel.to_owned(),
            key: call.key.clone(),
            parent: call.parent.clone(),
            compensates: call.compensates.clone(),
            batch: call.batch.clone(),
        })));
    }

    /// Phase 2: validates the input against the schema.
    fn parse(&mut self, call: &Call, entry: &CatalogEntry) -> Result<Value, Halt> {
        let input = match (call.flaw(), &call.sent) {
            (Some(flaw), _) => Err(flaw.stop()),
            (None, None) => Ok(call.input.clone()),
            (None, Some(text)) => serde_json::from_str(text).map_err(|fault| {
                Stop::new(Code::InputSchema, format!("the input is not JSON: {fault}"))
                    .help("send one JSON object")
            }),
        };
        let parsed = input.and_then(|input| validate::parse(entry, input, Sender::Caller));
        Ok(self.recorder.phase_of(CallPhase::ParseSchema, parsed)?)
    }

    /// Stores a value as a payload beside the log.
    pub(crate) fn keep(&mut self, value: &Value) -> PayloadRef {
        self.keep_bytes(self.discretion.keep_value(value))
    }

    /// Stores a payload; redacts its shown fields, since a sensitive value may appear in them too.
    fn keep_bytes(&mut self, (mut kept, blob): (PayloadRef, Blob)) -> PayloadRef {
        for shown in kept.shown.values_mut() {
            self.redactor.everywhere(shown);
        }
        self.recorder.keep((kept, blob))
    }
}

/// A fresh id: `inv_` and a UUIDv7.
pub(crate) fn new_id() -> InvocationId {
    InvocationId::from(format!("inv_{}", uuid::Uuid::now_v7().simple()).as_str())
}

fn selected(entry: &CatalogEntry, key: &ToolKey, requested: &str) -> Selected {
    let (name, _) = ToolKey::split(requested);
    Selected {
        tool: key.to_string(),
        version: entry.contract.tool.version.to_string(),
        matched_by: if name == key.id.as_str() { "id" } else { "alias" }.to_owned(),
        grant: entry.contract.grant_key(),
    }
}

/// Refuses a tool whose tier is higher than the entry point allows.
fn within_reach(entry: &CatalogEntry, most: Option<Tier>) -> Result<(), Stop> {
    let (key, needs) = (entry.contract.key(), Tier::of(&entry.contract.effects));
    match most {
        Some(most) if needs > most => {
            let words = format!("`{key}` is {}, and this way of calling takes less", needs.about());
            let stop = Stop::new(Code::InputValue, words).help(format!("use `{}`", needs.way()));
            let reason = CauseDetail::Reason("wrong_tier".to_owned());
            Err(stop.because([reason, CauseDetail::Tier(needs)]))
        }
        Some(_) | None => Ok(()),
    }
}

fn discretion(entry: &CatalogEntry) -> Discretion {
    let extras = &entry.contract.tool.extras;
    Discretion { sensitive: extras.sensitive.clone(), audit: extras.audit.clone(), unknown: false }
}
