//! Phase 7, the pure half: fetching what judges need to know, and asking them.

use haft_catalog::{Entry, Explanation};
use haft_ledger::UsageFilter;
use haft_model::{
    Actor, Call, Code, CostClass, Decision, Layer, Opinion, Plan, Span, StandingAnswer, Stop,
    Timestamp, Verdict, utc_day,
};
use haft_policy::{Circumstances, Matter, Usage, decide};
use serde_json::{Value, json};

use crate::journal::unrecorded;
use crate::understand::understood;
use crate::world::{Rate, RateScope};
use crate::{Runtime, World};

/// What would become of a call.
pub struct Why {
    /// The contract, the input and the route.
    pub explained: Explanation,
    /// The decision, where the call gets that far.
    pub decision: Option<Decision>,
    /// What would stop the call between its route and its decision, such as a driver that cannot run
    /// here.
    pub unready: Option<Stop>,
}

impl Runtime {
    /// What would become of a call, with every reason. Nothing is written and no hook is heard.
    pub async fn why(&self, call: &Call, input: Option<Value>) -> Result<Why, Stop> {
        let world = self.world();
        let now = self.clock.now();
        let explained = world.snapshot.explain(call, input, utc_day(now))?;
        let entry = explained.entry.clone();
        let input = match &explained.input {
            Some(Ok(input)) => input.clone(),
            None => json!({}),
            Some(Err(_)) => return Ok(Why { explained, decision: None, unready: None }),
        };
        let plan = match world.snapshot.bind(&entry, call, input.clone()) {
            Ok((plan, _)) => plan,
            Err(stop) => return Ok(Why { explained, decision: None, unready: Some(stop) }),
        };
        // Whether a driver can run here is another question than whether it may.
        let unready = understood(&world, call, &entry, input).err();
        let decision = self.judge(&world, &entry, &plan, &[], None).await?;
        Ok(Why { explained, decision: Some(decision), unready })
    }

    /// What becomes of a call about which everybody was heard. One that is on record itself since a
    /// time does not count against its own limits.
    pub(crate) async fn judge(
        &self,
        world: &World,
        entry: &Entry,
        plan: &Plan,
        opinions: &[Opinion],
        on_record: Option<Timestamp>,
    ) -> Result<Decision, Stop> {
        let now = self.clock.now();
        let usage = self.usage(world, plan, entry, on_record).await?;
        let weigh = |standing: &[StandingAnswer]| {
            let contract = &entry.contract;
            let matter = Matter {
                plan,
                grant: &contract.grant_key(),
                action: contract.action.as_ref().map(|action| action.id.as_str()),
                cost: cost(entry, plan),
                trusted: contract.trusted(),
                opinions,
                standing,
                usage: &usage,
                circumstances: &Circumstances::default(),
            };
            decide(&world.rulebook, &matter, now)
        };
        let decision = weigh(&[]);
        if decision.verdict != Verdict::Ask {
            return Ok(decision);
        }
        // Only an ask can be answered by what stands, so only an ask pays for looking.
        match self.standing(&plan.actor).await? {
            standing if standing.is_empty() => Ok(decision),
            standing => Ok(weigh(&standing)),
        }
    }

    /// Answers that stand for this caller.
    async fn standing(&self, actor: &Actor) -> Result<Vec<StandingAnswer>, Stop> {
        let all = self.store.standing(Some(&actor.tenant)).await.map_err(unrecorded)?;
        Ok(all.into_iter().filter(|answer| answer.actor == actor.id).collect())
    }

    /// What was used up of the limits and budgets that there are.
    async fn usage(
        &self,
        world: &World,
        plan: &Plan,
        entry: &Entry,
        on_record: Option<Timestamp>,
    ) -> Result<Usage, Stop> {
        let now = self.clock.now();
        let mut usage = Usage::default();
        let count = async |seconds: i64| {
            let since = back(now, seconds);
            let all = self.count(plan, entry, since).await?;
            Ok::<u64, Stop>(others(all, since, on_record))
        };
        for policy in &world.rulebook.policies {
            for (index, limit) in policy.limits.iter().enumerate() {
                let Some(seconds) = limit.per.as_deref().and_then(seconds) else { continue };
                let count = count(seconds).await?;
                usage.limits.push((format!("{}#{index}", policy.id), count as f64));
            }
        }
        for rule in &world.rulebook.policy_rules {
            let budget = &rule.budget;
            if budget.max_per_hour.is_none() && budget.max_per_day.is_none() {
                continue;
            }
            let hour = count(3600).await?;
            let midnight = now.as_second().rem_euclid(86_400);
            let day = count(midnight).await?;
            usage.budgets.push((rule.slug.clone(), hour, day));
        }
        Ok(usage)
    }

    async fn count(&self, plan: &Plan, entry: &Entry, since: Timestamp) -> Result<u64, Stop> {
        let filter = UsageFilter {
            since,
            tools: Some(vec![entry.contract.key().to_string()]),
            actor: Some(plan.actor.id.to_string()),
            tenant: Some(plan.actor.tenant.to_string()),
        };
        self.store.usage(&filter).await.map_err(unrecorded)
    }

    /// Refuses a call that comes too soon after too many others.
    pub(crate) async fn within_rates(
        &self,
        world: &World,
        plan: &Plan,
        on_record: Option<Timestamp>,
    ) -> Result<(), Stop> {
        for rate in world.rates.iter().filter(|rate| rate.tools.matches(plan.tool.id.as_str())) {
            let filter = self.filter(world, rate, plan);
            let used = self.store.usage(&filter).await.map_err(unrecorded)?;
            let used = others(used, filter.since, on_record);
            if used >= rate.most {
                let words = format!(
                    "`{}` was called {used} times in {} s; {} are allowed",
                    rate.tools.source(),
                    rate.seconds,
                    rate.most
                );
                let wait = rate.seconds.unsigned_abs() * 1000;
                return Err(Stop::new(Code::RateLimited, words)
                    .help("wait, or raise `[limits] rates` in haft.toml")
                    .because(json!({ "retry_after_ms": wait })));
            }
        }
        Ok(())
    }

    fn filter(&self, world: &World, rate: &Rate, plan: &Plan) -> UsageFilter {
        let keys = world.snapshot.entries().map(|entry| entry.contract.key());
        let tools = keys.filter(|key| rate.tools.matches(key.id.as_str()));
        UsageFilter {
            since: back(self.clock.now(), rate.seconds),
            tools: Some(tools.map(ToString::to_string).collect()),
            actor: (rate.scope == RateScope::Actor).then(|| plan.actor.id.to_string()),
            tenant: (rate.scope != RateScope::Workspace).then(|| plan.actor.tenant.to_string()),
        }
    }
}

/// What a call by its driver costs in kind.
fn cost(entry: &Entry, plan: &Plan) -> CostClass {
    let chosen = entry.bindings.iter().find(|binding| binding.driver.id == plan.route.driver);
    chosen.map(|binding| binding.cost_class).unwrap_or_default()
}

/// How many calls there were beside this one, if it is on record itself.
fn others(all: u64, since: Timestamp, on_record: Option<Timestamp>) -> u64 {
    let own = on_record.is_some_and(|came_in| came_in >= since);
    all.saturating_sub(u64::from(own))
}

fn seconds(period: &str) -> Option<i64> {
    match period {
        "second" => Some(1),
        "minute" => Some(60),
        "hour" => Some(3600),
        "day" => Some(86_400),
        _ => None,
    }
}

fn back(now: Timestamp, seconds: i64) -> Timestamp {
    now.checked_sub(Span::new().seconds(seconds)).unwrap_or(now)
}

/// The policies, grants and rules that had a say, by their names.
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
