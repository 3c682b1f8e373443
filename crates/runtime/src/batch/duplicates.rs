//! Equal calls of one batch: numbers them, so that deduplication takes each as its own intent.

use std::collections::HashMap;

use haft_model::{Call, Digest};
use serde_json::Value;

use super::BatchCall;

/// For each call, the number of equal calls before it.
pub(super) fn twins(calls: &[BatchCall]) -> Vec<u64> {
    let mut seen: HashMap<Digest, u64> = HashMap::new();
    let count = |member: &BatchCall| {
        let before = seen.entry(likeness(&member.call)).or_default();
        *before += 1;
        *before - 1
    };
    calls.iter().map(count).collect()
}

fn likeness(call: &Call) -> Digest {
    let sent = call.sent.as_ref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let input = haft_model::canonical(sent.as_ref().unwrap_or(&call.input));
    Digest::of_parts(&[call.actor.id.as_str().as_bytes(), call.tool.as_bytes(), &input])
}
