//! Planning (phases 4 and 5): validates values, routes to a driver, runs its preflight, and records
//! the observable input.

use std::ops::Deref;
use std::sync::Arc;

use haft_catalog::{AvoidedDriver, CatalogEntry, Outlook, Sender, StatusQuery};
use haft_driver::{Driver, Targets};
use haft_model::{
    ArgumentsReady, Call, CallPhase, Code, Digest, Event, FactRule, FrozenInput, MutationSource,
    PhaseOutcome, Plan, ResolvedFacts, Stop, Tri,
};
use haft_notation::Condition;
use serde_json::{Value, json};

use crate::World;
use crate::catch_panic::caught;
use crate::context::CallContext;
use crate::idempotency::{DeduplicatedCall, Origin};
use crate::inputs;
use crate::parse::ValidInput;
use crate::pipeline::{Reached, StoppedCall};
use crate::validate;

/// A deduplicated call with its plan and the driver that runs it.
pub struct PlannedCall {
    origin: Arc<Origin>,
    bound: BoundPlan,
}

/// A plan bound to its contract and its driver.
pub struct BoundPlan {
    pub(crate) entry: Arc<CatalogEntry>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) driver_version: Arc<str>,
    /// Digest of the driver's manifest; it changes with the driver.
    pub(crate) driver_digest: Digest,
    pub(crate) facts: ResolvedFacts,
    /// Targets that the driver will touch; empty where no rule compares them.
    pub(crate) targets: Targets,
    /// Status operation for a call with an unknown effect.
    pub(crate) status: Option<StatusQuery>,
    /// Whether the backend deduplicates by idempotency key.
    pub(crate) enforces_key: bool,
}

impl Deref for PlannedCall {
    type Target = BoundPlan;

    fn deref(&self) -> &BoundPlan {
        &self.bound
    }
}

impl PlannedCall {
    pub(crate) fn origin(&self) -> &Arc<Origin> {
        &self.origin
    }

    pub(crate) fn call(&self) -> &Call {
        &self.origin.call
    }

    pub(crate) fn reached(&self) -> Reached {
        Reached {
            entry: Some(self.entry.clone()),
            intent: self.origin.intent.clone(),
            plan: Some(self.plan.clone()),
        }
    }
}

impl DeduplicatedCall {
    /// Plans the call: validates values, routes it, and runs the driver's preflight.
    pub fn plan(self, context: &mut CallContext<'_>) -> Result<PlannedCall, StoppedCall> {
        let (origin, ValidInput { entry, value, received }) = self.into_parts();
        let planned = context.plan_input(&origin, &entry, value.clone());
        let kept = context.keep_input(&value);
        let reason = "defaults of the contract were filled in";
        let (before, after) = ((&received.value, &received.digest), (&*value, &kept));
        let mutation = inputs::mutation(MutationSource::Runtime, "haft", reason, before, after);
        let known = planned.as_ref().ok();
        context.recorder.note(Event::ArgumentsReady(Box::new(ArgumentsReady {
            plan: known.map(|known| known.plan.digest.clone()),
            driver: known.map(|known| known.plan.route.driver.clone()),
            driver_version: known.map(|known| known.driver_version.to_string()),
            effects: entry.fingerprint.clone(),
            schema: entry.schema_digest().clone(),
            observable_input: kept,
            mutations: mutation.into_iter().collect(),
            facts: known.map_or_else(|| facts(&entry, &value), |known| known.facts),
        })));
        let planned = context.recorder.phase_of(CallPhase::ValidateValues, planned);
        let planned = planned.map_err(|stop| {
            let intent = origin.intent.clone();
            Reached { entry: Some(entry), intent, plan: None }.stopped(stop)
        })?;
        context.recorder.phase(CallPhase::PrepareObservableInput, PhaseOutcome::Ok);
        Ok(planned)
    }
}

impl CallContext<'_> {
    /// Plans a deduplicated call for a valid input, without side effects.
    pub(crate) fn plan_input(
        &self,
        origin: &Arc<Origin>,
        entry: &Arc<CatalogEntry>,
        input: FrozenInput,
    ) -> Result<PlannedCall, Stop> {
        let bound = self.bind(origin, entry, input, Vec::new())?;
        Ok(PlannedCall { origin: origin.clone(), bound })
    }

    /// Plans a call for another driver than those that were tried, with the input as it is.
    pub(crate) fn plan_elsewhere(
        &self,
        before: &PlannedCall,
        tried: Vec<AvoidedDriver>,
    ) -> Result<PlannedCall, Stop> {
        let input = before.plan.input.clone();
        let bound = self.bind(&before.origin, &before.entry, input, tried)?;
        Ok(PlannedCall { origin: before.origin.clone(), bound })
    }

    /// Validates an input that a hook or an approver changed, and plans the call for it.
    pub(crate) fn plan_changed(
        &self,
        origin: &Arc<Origin>,
        entry: &Arc<CatalogEntry>,
        input: Value,
    ) -> Result<PlannedCall, Stop> {
        let input = validate::parse(entry, input, Sender::Host)?;
        self.plan_input(origin, entry, input.into())
    }

    /// Routes an input by driver states and open circuits, past drivers that were tried.
    pub(crate) fn bind(
        &self,
        origin: &Origin,
        entry: &Arc<CatalogEntry>,
        input: FrozenInput,
        mut avoid: Vec<AvoidedDriver>,
    ) -> Result<BoundPlan, Stop> {
        let (call, now) = (&*origin.call, self.recorder.now());
        avoid.extend(self.runtime.resting(&self.world, call, entry, &input, now));
        let outlook = Outlook { states: origin.states.clone(), avoid };
        BoundPlan::of(&self.world, call, entry, input, &outlook)
    }
}

impl BoundPlan {
    /// Plans a call for a valid input: routes it, resolves the driver, and runs its preflight.
    pub(crate) fn of(
        world: &World,
        call: &Call,
        entry: &Arc<CatalogEntry>,
        input: FrozenInput,
        outlook: &Outlook,
    ) -> Result<BoundPlan, Stop> {
        let (mut plan, binding) = validate::bind(&world.snapshot, entry, call, input, outlook)?;
        let driver = world.drivers.get(&plan.route.driver).cloned().ok_or_else(|| {
            let kind = binding.driver.kind.name();
            Stop::new(
                Code::SetupRequired,
                format!("nothing here can run driver `{}` of kind {kind}", plan.route.driver),
            )
            .help("code behind a driver of kind builtin is handed in by the program that runs Haft")
        })?;
        caught(|| driver.preflight(&plan)).unwrap_or_else(|fault| {
            let id = &plan.route.driver;
            let words = format!("driver `{id}` broke while it looked at the input: {fault}");
            Err(Stop::new(Code::Internal, words).help("report it to the author of the driver"))
        })?;
        let targets = targets(world, &plan, driver.as_ref())?;
        if let Some(told) = targets.digest() {
            // INVARIANT: a permit covers what was authorized, so another target is another plan.
            plan.digest = Digest::of(&(&plan.digest, told));
        }
        Ok(BoundPlan {
            facts: facts(entry, &plan.input),
            targets,
            entry: entry.clone(),
            driver_version: binding.driver.version.clone(),
            driver_digest: binding.driver.digest().clone(),
            status: binding.status(entry),
            enforces_key: binding.enforces_key(),
            driver,
            plan: Arc::new(plan),
        })
    }
}

/// Targets of the plan; not resolved where no rule compares them.
fn targets(world: &World, plan: &Plan, driver: &dyn Driver) -> Result<Targets, Stop> {
    let kinds = world.rulebook.target_kinds(plan.tool.id.as_str());
    if kinds.is_empty() {
        return Ok(Targets::default());
    }
    caught(|| driver.targets(plan, kinds)).map_err(|fault| {
        let id = &plan.route.driver;
        let words = format!("driver `{id}` broke while it told what it will touch: {fault}");
        Stop::new(Code::Internal, words).help("report it to the author of the driver")
    })
}

/// Safety facts of this input; a fact that cannot be resolved takes the unsafe value.
pub(crate) fn facts(entry: &CatalogEntry, input: &Value) -> ResolvedFacts {
    let effects = &entry.contract.effects;
    let safe = match &effects.facts.concurrency_safe {
        FactRule::Stated(safe) => *safe,
        FactRule::Expression(text) => Condition::parse(text, &["input"])
            .and_then(|condition| condition.holds(&json!({ "input": input })))
            .unwrap_or(false),
        FactRule::SameAs(field) if field == "is_read_only" => effects.facts.read_only == Tri::Yes,
        FactRule::SameAs(_) | FactRule::Classifier(_) | FactRule::Unstated => false,
    };
    ResolvedFacts {
        is_read_only: effects.facts.read_only,
        is_destructive: effects.facts.destructive,
        is_open_world: effects.facts.open_world,
        is_concurrency_safe: safe,
    }
}
