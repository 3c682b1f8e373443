//! Authorization (phase 7): gathers usage, targets and standing answers, then evaluates policy.

use haft_catalog::{CatalogEntry, Explanation, Outlook, Viewer};
use haft_model::{
    Actor, Call, CostClass, Decision, FrozenInput, Layer, Opinion, Plan, StandingAnswer, Stop,
    Timestamp, Verdict, utc_day,
};
use haft_policy::{Circumstances, Matter, TargetGuard, Targets, Usage, decide};
use serde_json::{Value, json};

use crate::plan::BoundPlan;
use crate::recorder::unrecorded;
use crate::redact::Redactor;
use crate::validate;
use crate::{Runtime, World};

/// Dry run of a call: its route, its input and the decision that it would get.
pub struct Why {
    /// The contract, the validated input and the route.
    pub explained: Explanation,
    /// The policy decision; `None` where the input or the route fails first.
    pub decision: Option<Decision>,
    /// What would stop the call between its route and its decision, such as a driver that cannot
    /// run here or an exhausted quota.
    pub unready: Option<Stop>,
}

impl Why {
    /// The dry run as JSON, for `haft why --json` and the REST API.
    pub fn to_json(&self) -> Value {
        let explained = &self.explained;
        let contract = &explained.entry.contract;
        let route = match &explained.route {
            Ok((route, limits)) => json!({
                "driver": route.driver, "driver_state": explained.entry.driver_state(&route.driver),
                "reason": route.reason, "rejected": route.rejected,
                "limits": limits,
            }),
            Err(stop) => json!({ "driver": null, "error": stop.told() }),
        };
        json!({
            "tool": contract.key(),
            "version": contract.tool.version,
            "driver": explained.route.as_ref().ok().map(|(route, _)| &route.driver),
            "route": route,
            "input": match &explained.input {
                None => json!({ "given": false }),
                Some(Ok(input)) => json!({ "given": true, "fits": true, "value": input }),
                Some(Err(stop)) => json!({ "given": true, "fits": false, "error": stop.told() }),
            },
            "blocked": explained.block.as_ref().map(Stop::told),
            "grant": contract.grant_key(),
            "effects": &*contract.effects,
            "fingerprint": explained.entry.fingerprint,
            "unready": self.unready.as_ref().map(Stop::told),
            "decision": self.decision.as_ref().map(judged),
        })
    }

    fn without(mut self, redactor: &Redactor) -> Why {
        let stop = |stop: Stop| redactor.stop(stop);
        let shown = |mut input: Value| {
            redactor.value(&mut input);
            input
        };
        self.explained.input = self.explained.input.map(|input| input.map(shown).map_err(stop));
        self.explained.route = self.explained.route.map_err(stop);
        self.explained.block = self.explained.block.map(stop);
        self.unready = self.unready.map(stop);
        self
    }
}

/// A decision as JSON, with its reason as a field of its own.
fn judged(decision: &Decision) -> Value {
    let mut value = json!(decision);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("reason".into(), json!(decision.reason()));
    }
    value
}

impl Runtime {
    /// Dry run of a call, with every opinion and a redacted input. It writes nothing to the ledger
    /// and runs no hook.
    pub async fn why(&self, call: &Call, input: Option<Value>) -> Result<Why, Stop> {
        let given = input.clone();
        let why = self.explain_unredacted(&self.keyed(call.clone(), &[]), input).await?;
        let mut redactor = Redactor::new(&why.explained.entry.contract.tool.extras.sensitive);
        given.iter().for_each(|input| redactor.learn(input));
        Ok(why.without(&redactor))
    }

    async fn explain_unredacted(&self, call: &Call, input: Option<Value>) -> Result<Why, Stop> {
        let world = self.world();
        let now = self.clock.now();
        let ground = self.ground(&world, &Viewer { actor: &call.actor, within: &[] });
        let entry = ground.surface.find(&call.tool, &world.snapshot)?.clone();
        let outlook = Outlook {
            states: world.states(&entry, &call.actor, now).await,
            avoid: self.resting(&world, call, &entry, &input.clone().unwrap_or_default(), now),
        };
        // A person reads a dry run, so a change of threads costs nothing that they notice.
        let today = utc_day(now);
        let explained = validate::beside(|| world.snapshot.explain(call, input, today, &outlook))?;
        let input = match &explained.input {
            Some(Ok(input)) => FrozenInput::new(input.clone()),
            None => FrozenInput::new(json!({})),
            Some(Err(_)) => return Ok(Why { explained, decision: None, unready: None }),
        };
        let bind = |outlook| validate::bind(&world.snapshot, &entry, call, input.clone(), outlook);
        let plan = match bind(&outlook) {
            Ok((plan, _)) => plan,
            // Readiness of a driver is a separate question from permission.
            Err(stop) => match bind(&Outlook::default()) {
                Ok((plan, _)) => {
                    let none = &Targets::default();
                    let decision = Some(self.judge(&world, &entry, &plan, none, &[]).await?);
                    return Ok(Why { explained, decision, unready: None });
                }
                Err(_) => return Ok(Why { explained, decision: None, unready: Some(stop) }),
            },
        };
        let (unready, targets) = match BoundPlan::of(&world, call, &entry, input, &outlook) {
            Ok(planned) => {
                (self.quotas.room(&world, &entry, &plan, now).await.err(), planned.targets)
            }
            Err(stop) => (Some(stop), Targets::default()),
        };
        let decision = self.judge(&world, &entry, &plan, &targets, &[]).await?;
        Ok(Why { explained, decision: Some(decision), unready })
    }

    /// Evaluates policy for a plan, given the hooks' opinions.
    pub(crate) async fn judge(
        &self,
        world: &World,
        entry: &CatalogEntry,
        plan: &Plan,
        targets: &Targets,
        opinions: &[Opinion],
    ) -> Result<Decision, Stop> {
        let now = self.clock.now();
        let usage = self.quotas.usage(world, entry, plan, now).await?;
        let weigh = |standing: &[StandingAnswer]| {
            let grant = entry.contract.grant_key();
            let circumstances = Circumstances::default();
            let matter = matter(entry, plan, targets, &grant, &usage, &circumstances);
            decide(&world.rulebook, &Matter { opinions, standing, ..matter }, now)
        };
        let decision = weigh(&[]);
        if decision.verdict != Verdict::Ask {
            return Ok(decision);
        }
        // Only an ask can be resolved by a standing answer, so only an ask pays for the lookup.
        match self.standing(&plan.actor).await? {
            standing if standing.is_empty() => Ok(decision),
            standing => Ok(weigh(&standing)),
        }
    }

    /// Standing answers for this actor.
    async fn standing(&self, actor: &Actor) -> Result<Vec<StandingAnswer>, Stop> {
        let all = self.store.standing(Some(&actor.tenant)).await.map_err(unrecorded)?;
        Ok(all.into_iter().filter(|answer| answer.actor == actor.id).collect())
    }
}

/// The target guard of a running call; empty where no rule compares targets.
pub(crate) fn guard(world: &World, planned: &BoundPlan, now: Timestamp) -> TargetGuard {
    let plan = &planned.plan;
    if world.rulebook.target_kinds(plan.tool.id.as_str()).is_empty() {
        return TargetGuard::default();
    }
    let entry = &planned.entry;
    let (usage, circumstances) = (Usage::default(), Circumstances::default());
    let grant = entry.contract.grant_key();
    let matter = matter(entry, plan, &planned.targets, &grant, &usage, &circumstances);
    TargetGuard::of(&world.rulebook, &matter, now)
}

/// The policy input of a plan, without opinions and standing answers.
fn matter<'m>(
    entry: &'m CatalogEntry,
    plan: &'m Plan,
    targets: &'m Targets,
    grant: &'m str,
    usage: &'m Usage,
    circumstances: &'m Circumstances,
) -> Matter<'m> {
    let contract = &entry.contract;
    Matter {
        plan,
        targets,
        grant,
        action: contract.action.as_ref().map(|action| action.id.as_str()),
        cost: cost(entry, plan),
        trusted: contract.trusted(),
        opinions: &[],
        standing: &[],
        usage,
        circumstances,
    }
}

/// The cost class of the chosen driver's binding.
fn cost(entry: &CatalogEntry, plan: &Plan) -> CostClass {
    let chosen = entry.bindings.iter().find(|binding| binding.driver.id == plan.route.driver);
    chosen.map(|binding| binding.cost_class).unwrap_or_default()
}

/// Names of the policies, grants and rules that gave an opinion.
pub(crate) fn spoke(decision: &Decision) -> Vec<String> {
    let governs = |opinion: &&Opinion| match opinion.layer {
        Layer::Grant
        | Layer::Limit
        | Layer::Requirement
        | Layer::Policy
        | Layer::Governance
        | Layer::Rule => true,
        Layer::Fault
        | Layer::Contract
        | Layer::Classifier
        | Layer::Hook
        | Layer::Autonomy
        | Layer::Standing
        | Layer::Person => false,
    };
    let names = decision.opinions.iter().filter(governs).filter_map(|opinion| opinion.rule.clone());
    names.collect()
}
