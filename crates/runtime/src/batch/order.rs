//! Topological order of a batch: resolves ids and dependencies before any call begins.

use std::collections::HashMap;

use haft_model::{Code, Stop};

use super::BatchCall;

/// Dependencies of each call, and a topological order of all calls.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// By index: its dependencies, sorted and without duplicates.
    pub(super) after: Vec<Vec<usize>>,
    /// By index: its topological rank, from 0.
    pub(super) rank: Vec<usize>,
}

/// Resolves `depends_on`. Refuses an unknown name, a duplicate id and a dependency cycle.
pub(super) fn order(calls: &[BatchCall]) -> Result<Order, Stop> {
    let mut ids = HashMap::new();
    for (index, call) in calls.iter().enumerate() {
        if let Some(id) = &call.id
            && let Some(first) = ids.insert(id.as_str(), index)
        {
            return Err(refused(format!("calls {first} and {index} both have the id `{id}`"))
                .at(format!("/calls/{index}/id")));
        }
    }
    let mut after = Vec::with_capacity(calls.len());
    for (index, call) in calls.iter().enumerate() {
        let mut names = Vec::with_capacity(call.depends_on.len());
        for (place, name) in call.depends_on.iter().enumerate() {
            let counted = || name.parse().ok().filter(|number| *number < calls.len());
            let found = ids.get(name.as_str()).copied().or_else(counted);
            names.push(found.ok_or_else(|| {
                refused(format!("call {index} depends on `{name}`, and the batch has no such call"))
                    .at(format!("/calls/{index}/depends_on/{place}"))
                    .help("name an id of the batch, or an index from 0")
            })?);
        }
        names.sort_unstable();
        names.dedup();
        after.push(names);
    }
    let rank = ranks(&after)?;
    Ok(Order { after, rank })
}

/// Topological ranks; request order breaks ties. Refuses a cycle.
fn ranks(after: &[Vec<usize>]) -> Result<Vec<usize>, Stop> {
    let mut missing: Vec<usize> = after.iter().map(Vec::len).collect();
    let mut followers = vec![Vec::new(); after.len()];
    for (index, names) in after.iter().enumerate() {
        for name in names {
            if let Some(list) = followers.get_mut(*name) {
                list.push(index);
            }
        }
    }
    let none = |(index, count): (usize, &usize)| (*count == 0).then_some(index);
    let mut ready: std::collections::BTreeSet<usize> =
        missing.iter().enumerate().filter_map(none).collect();
    let mut rank = vec![usize::MAX; after.len()];
    let mut next = 0;
    while let Some(index) = ready.pop_first() {
        if let Some(place) = rank.get_mut(index) {
            *place = next;
        }
        next += 1;
        for follower in followers.get(index).into_iter().flatten() {
            if let Some(count) = missing.get_mut(*follower) {
                *count -= 1;
                if *count == 0 {
                    ready.insert(*follower);
                }
            }
        }
    }
    match rank.iter().position(|place| *place == usize::MAX) {
        None => Ok(rank),
        Some(index) => Err(refused(format!(
            "call {index} depends on itself, or on calls that wait for each other"
        ))
        .at(format!("/calls/{index}/depends_on"))),
    }
}

fn refused(words: String) -> Stop {
    Stop::new(Code::InputValue, words)
}
