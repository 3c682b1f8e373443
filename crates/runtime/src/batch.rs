//! Several calls at once: side by side where that is safe, answered in the order of the request.

mod course;
mod crew;
mod order;
mod seat;
#[cfg(test)]
mod tests;
mod twins;

use std::collections::BTreeMap;
use std::future::poll_fn;

use haft_catalog::Sender;
use haft_model::{BatchPlace, Call, Envelope, InvocationId, Stop};
use serde::{Deserialize, Serialize};

use crate::understand::facts;
use crate::walk::new_id;
use crate::{Manner, Runtime, World};
use course::Turn;
use course::{Course, Lane};
pub(crate) use crew::Crew;
use order::Order;
pub(crate) use seat::{Seat, Turns};

/// Several calls that were asked for together.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The calls, in the order of the request.
    pub calls: Vec<BatchCall>,
    /// How results are released.
    pub ordering: BatchOrdering,
    /// What a failure does to the others; unsaid, nothing where all are reads, and otherwise those
    /// that depend on it are not made.
    pub on_failure: Option<OnFailure>,
}

/// One call of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchCall {
    /// The call.
    pub call: Call,
    /// What the others of the batch know it by.
    pub id: Option<String>,
    /// Ids or indexes of calls that have to end before this one begins.
    pub depends_on: Vec<String>,
    /// Which of an actor's calls has a scarce place first; higher is sooner.
    pub priority: i32,
}

/// How the results of a batch are released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchOrdering {
    /// In the order of the request, while calls overlap.
    #[default]
    PreserveTerminalOrder,
    /// As they come.
    AllowUnordered,
    /// In the order of the request, and no call begins before the one in front of it has ended.
    Serial,
}

/// What the failure of one call of a batch does to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// Nothing.
    Ignore,
    /// All that have not ended are called off.
    CancelSiblings,
    /// Those that depend on it are not made.
    CancelDependent,
}

/// The results of a batch, as they are released. The calls go on while somebody asks for the next.
pub struct Released<'r> {
    crew: Crew<'r, Envelope>,
    ended: BTreeMap<usize, Envelope>,
    next: usize,
    in_order: bool,
}

impl Batch {
    /// A batch with the usual settings.
    pub fn new(calls: impl IntoIterator<Item = impl Into<BatchCall>>) -> Batch {
        let calls = calls.into_iter().map(Into::into).collect();
        Batch { calls, ordering: BatchOrdering::default(), on_failure: None }
    }
}

impl From<Call> for BatchCall {
    fn from(call: Call) -> BatchCall {
        BatchCall { call, id: None, depends_on: Vec::new(), priority: 0 }
    }
}

impl Runtime {
    /// Takes several calls through the rooms. As many results come out as calls went in, unless the
    /// batch itself makes no sense, which is found before anything begins.
    pub fn batch<'r>(&'r self, batch: Batch, manner: Manner<'r>) -> Result<Released<'r>, Stop> {
        let order = order::order(&batch.calls)?;
        let world = self.world();
        let on_failure = batch.on_failure.unwrap_or_else(|| usual(&world, &batch.calls));
        let course = Course::new(lanes(&world, &batch, &order), on_failure);
        let ids: Vec<InvocationId> = batch.calls.iter().map(|_| new_id()).collect();
        let name = format!("bat_{}", uuid::Uuid::now_v7().simple());
        let names: std::sync::Arc<[String]> =
            batch.calls.iter().enumerate().map(known_as).collect();
        let twins = twins::twins(&batch.calls);
        let members = batch.calls.into_iter().zip(ids.iter()).zip(order.after).enumerate();
        let works = members.map(|(index, ((member, id), after))| {
            let mut call = member.call;
            call.batch = Some(BatchPlace {
                id: name.clone(),
                index: index as u64,
                depends_on: after.iter().filter_map(|index| ids.get(*index).cloned()).collect(),
                twin: twins.get(index).copied().unwrap_or(0),
            });
            let seat = Seat::new(course.clone(), index, member.priority, names.clone());
            let work = self.seated(call, id.clone(), manner.clone(), seat);
            Box::pin(work) as std::pin::Pin<Box<dyn Future<Output = Envelope> + Send + 'r>>
        });
        Ok(Released {
            crew: Crew::new(works),
            ended: BTreeMap::new(),
            next: 0,
            in_order: batch.ordering != BatchOrdering::AllowUnordered,
        })
    }

    /// The same, with every result in the order of the request.
    pub async fn batch_all(&self, batch: Batch, manner: Manner<'_>) -> Result<Vec<Envelope>, Stop> {
        let mut released = self.batch(batch, manner)?;
        let mut all = BTreeMap::new();
        while let Some((index, envelope)) = released.next().await {
            all.insert(index, envelope);
        }
        Ok(all.into_values().collect())
    }
}

impl Released<'_> {
    /// The next result with the index of its call; none when all are out.
    pub async fn next(&mut self) -> Option<(usize, Envelope)> {
        loop {
            let found = match self.in_order {
                true => self.ended.remove_entry(&self.next),
                false => self.ended.pop_first(),
            };
            if found.is_some() {
                self.next += 1;
                return found;
            }
            let ended = poll_fn(|context| self.crew.poll(context)).await;
            if ended.is_empty() {
                return None;
            }
            self.ended.extend(ended);
        }
    }
}

/// What others of the batch call one of them.
fn known_as((index, call): (usize, &BatchCall)) -> String {
    call.id.clone().unwrap_or_else(|| index.to_string())
}

/// Reads do not need each other; what changes things may.
fn usual(world: &World, calls: &[BatchCall]) -> OnFailure {
    let reads = calls.iter().all(|member| {
        let found = world.snapshot.find(&member.call.tool);
        found.is_some_and(|entry| !entry.contract.effects.may_mutate())
    });
    if reads { OnFailure::Ignore } else { OnFailure::CancelDependent }
}

fn lanes(world: &World, batch: &Batch, order: &Order) -> Vec<Lane> {
    let by_rank = |rank: usize| order.rank.iter().position(|other| *other == rank);
    let members = batch.calls.iter().zip(&order.after).zip(&order.rank);
    members
        .map(|((member, after), rank)| {
            let mut after = after.clone();
            if batch.ordering == BatchOrdering::Serial {
                after.extend(rank.checked_sub(1).and_then(by_rank));
            }
            Lane { after, rank: *rank, safe: looks_safe(world, &member.call) }
        })
        .collect()
}

/// Whether a call may run beside others, as far as its input tells before anybody changed it. One
/// that cannot run at all holds nobody back.
fn looks_safe(world: &World, call: &Call) -> bool {
    let Some(entry) = world.snapshot.find(&call.tool) else { return true };
    let input = match &call.sent {
        Some(text) => serde_json::from_str(text).ok(),
        None => Some(call.input.clone()),
    };
    let parsed = input.and_then(|input| entry.parse(input, Sender::Caller).ok());
    parsed.is_none_or(|input| facts(entry, &input).is_concurrency_safe)
}
