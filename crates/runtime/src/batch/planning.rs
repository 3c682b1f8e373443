//! Batch planning: derives scheduler policy, dependencies and expected locks before calls begin.

use std::collections::BTreeMap;
use std::sync::Arc;

use haft_catalog::{CatalogEntry, Sender};
use haft_model::{
    BatchOrdering, BatchPlanned, Call, Code, Event, InvocationId, OnFailure, ResourceLock,
    SchedulerPolicy, Stop, YieldPolicy,
};
use serde_json::Value;

use super::order::{self, Order};
use super::scheduler::{BatchScheduler, Lane, Rules};
use super::{Batch, BatchCall};
use crate::pipeline::new_id;
use crate::plan::facts;
use crate::redact::Redactor;
use crate::validate;
use crate::{Runtime, World, queue};

/// A validated batch, ready to run.
pub(super) struct Plan {
    pub(super) name: String,
    pub(super) policy: Arc<SchedulerPolicy>,
    pub(super) scheduler: Arc<BatchScheduler>,
    pub(super) ids: Arc<[InvocationId]>,
    /// Id of each call within the batch, or its index.
    pub(super) names: Arc<[String]>,
    /// By index: the dependencies of the call.
    pub(super) after: Vec<Vec<usize>>,
    /// Whether at most one call runs at a time.
    pub(super) alone: bool,
    /// The `BatchPlanned` event; recorded before any call begins.
    pub(super) fact: Event,
}

/// Expectations about a call from its input, before hooks change it.
struct Foreseen {
    safe: bool,
    locks: Vec<String>,
}

pub(super) fn plan(runtime: &Runtime, batch: &Batch) -> Result<Plan, Stop> {
    let order = order::order(&batch.calls)?;
    let world = runtime.world();
    let number = uuid::Uuid::now_v7().simple().to_string();
    let policy = Arc::new(policy(runtime, &world, batch, &number)?);
    let foreseen: Vec<Foreseen> =
        batch.calls.iter().map(|member| foresee(&world, &member.call)).collect();
    let rules = Rules {
        on_failure: policy.sibling_failure_policy,
        interrupt: policy.interrupt_behavior,
        in_order: policy.yield_policy != YieldPolicy::UnorderedStreaming,
    };
    let scheduler = BatchScheduler::new(lanes(batch, &order, &foreseen), rules);
    let ids: Arc<[InvocationId]> = batch.calls.iter().map(|_| new_id()).collect();
    let name = format!("bat_{number}");
    let fact = Event::BatchPlanned(Box::new(BatchPlanned {
        batch: name.clone(),
        policy: SchedulerPolicy::clone(&policy),
        calls: ids.to_vec(),
        resource_locks: resource_locks(&foreseen, &ids),
    }));
    let alone = batch.calls.len() == 1
        || batch.ordering == BatchOrdering::Serial
        || policy.max_parallel == 1;
    let names = batch.calls.iter().enumerate().map(known_as).collect();
    Ok(Plan { name, policy, scheduler, ids, names, after: order.after, alone, fact })
}

/// The scheduler policy in the standard's terms. Refuses a contradictory ordering and yield policy.
fn policy(
    runtime: &Runtime,
    world: &World,
    batch: &Batch,
    number: &str,
) -> Result<SchedulerPolicy, Stop> {
    let yields = batch.yields.unwrap_or_else(|| batch.ordering.usual_yield());
    if (batch.ordering, yields)
        == (BatchOrdering::PreserveTerminalOrder, YieldPolicy::UnorderedStreaming)
    {
        let words = "results cannot keep the order of the request and come as they end as well";
        let help = "say `allow_unordered`, or leave `unordered_streaming` out";
        return Err(Stop::new(Code::InputValue, words).at("/yield").help(help));
    }
    Ok(SchedulerPolicy {
        scheduler_policy_id: format!("sch_{number}"),
        scope: "batch".to_owned(),
        max_parallel: runtime.queue.max_parallel(),
        ordering_policy: batch.ordering,
        yield_policy: yields,
        interrupt_behavior: batch.interrupt,
        sibling_failure_policy: batch.on_failure.unwrap_or_else(|| usual(world, &batch.calls)),
        context_modifier_policy: batch.context,
    })
}

/// The id of a call, or its index where it has none.
fn known_as((index, call): (usize, &BatchCall)) -> String {
    call.id.clone().unwrap_or_else(|| index.to_string())
}

/// Default failure policy: reads ignore failures; otherwise dependents are cancelled.
fn usual(world: &World, calls: &[BatchCall]) -> OnFailure {
    let reads = calls.iter().all(|member| {
        let found = world.snapshot.find(&member.call.tool);
        found.is_some_and(|entry| !entry.contract.effects.may_mutate())
    });
    if reads { OnFailure::Ignore } else { OnFailure::CancelDependent }
}

fn lanes(batch: &Batch, order: &Order, foreseen: &[Foreseen]) -> Vec<Lane> {
    let by_rank = |rank: usize| order.rank.iter().position(|other| *other == rank);
    let members = order.after.iter().zip(&order.rank).zip(foreseen);
    members
        .map(|((after, rank), foreseen)| {
            let mut after = after.clone();
            if batch.ordering == BatchOrdering::Serial {
                after.extend(rank.checked_sub(1).and_then(by_rank));
            }
            Lane { after, rank: *rank, safe: foreseen.safe }
        })
        .collect()
}

/// Expected concurrency safety and locks of a call. An invalid call counts as safe, so it blocks no
/// sibling.
fn foresee(world: &World, call: &Call) -> Foreseen {
    let harmless = Foreseen { safe: true, locks: Vec::new() };
    let Some(entry) = world.snapshot.find(&call.tool) else { return harmless };
    let input = match &call.sent {
        Some(text) => serde_json::from_str(text).ok(),
        None => Some(call.input.clone()),
    };
    let Some(input) = input.and_then(|input| validate::parse(entry, input, Sender::Caller).ok())
    else {
        return harmless;
    };
    let safe = facts(entry, &input).is_concurrency_safe;
    Foreseen { safe, locks: locks(entry, &input, &call.context, safe) }
}

/// Lock names may contain sensitive input, so they are redacted.
fn locks(entry: &CatalogEntry, input: &Value, context: &Value, safe: bool) -> Vec<String> {
    let mut redactor = Redactor::new(&entry.contract.tool.extras.sensitive);
    redactor.learn(input);
    let named = queue::named(entry, &entry.contract.effects.mutates, (input, context), safe);
    named.into_iter().flatten().map(|lock| redactor.text(&lock).0).collect()
}

fn resource_locks(foreseen: &[Foreseen], ids: &[InvocationId]) -> Vec<ResourceLock> {
    let mut all: BTreeMap<(&str, bool), ResourceLock> = BTreeMap::new();
    for (call, id) in foreseen.iter().zip(ids) {
        for lock in &call.locks {
            let held = all.entry((lock.as_str(), call.safe));
            let held = held.or_insert_with(|| ResourceLock::new(lock, call.safe));
            held.calls.push(id.clone());
        }
    }
    all.into_values().collect()
}
