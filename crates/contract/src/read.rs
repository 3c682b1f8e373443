//! Tree accessors: take values out of a checked tree; a value of the wrong type was reported and
//! counts as absent.

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_model::{Backoff, CostClass, Requires, RetryPolicy, Span as Duration, parse_duration};
use serde_json::Value as Json;

use crate::source::Node;

pub(crate) fn text<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    node.get(key).and_then(Node::text)
}

pub(crate) fn shared(node: &Node, key: &str) -> Option<Arc<str>> {
    text(node, key).map(Arc::from)
}

pub(crate) fn owned(node: &Node, key: &str) -> Option<String> {
    text(node, key).map(str::to_owned)
}

pub(crate) fn flag(node: &Node, key: &str) -> Option<bool> {
    node.get(key).and_then(Node::flag)
}

pub(crate) fn whole(node: &Node, key: &str) -> Option<u64> {
    node.get(key).and_then(Node::integer).and_then(|number| u64::try_from(number).ok())
}

pub(crate) fn list(node: &Node, key: &str) -> Vec<String> {
    node.get(key).map(|list| list.texts().map(str::to_owned).collect()).unwrap_or_default()
}

pub(crate) fn items<'n>(node: &'n Node, key: &str) -> &'n [Node] {
    node.get(key).map(Node::items).unwrap_or_default()
}

/// What can be made of the items of a list.
pub(crate) fn each<T>(node: &Node, key: &str, read: impl Fn(&Node) -> Option<T>) -> Vec<T> {
    items(node, key).iter().filter_map(read).collect()
}

pub(crate) fn set(node: &Node, key: &str) -> BTreeSet<String> {
    list(node, key).into_iter().collect()
}

pub(crate) fn json(node: &Node, key: &str) -> Option<Json> {
    node.get(key).map(Node::to_json)
}

pub(crate) fn duration(node: &Node, key: &str) -> Option<Duration> {
    text(node, key).and_then(parse_duration)
}

pub(crate) fn requires(node: &Node) -> Requires {
    Requires {
        network: set(node, "network"),
        secrets: set(node, "secrets"),
        tools: set(node, "tools"),
    }
}

pub(crate) fn retry(node: &Node, key: &str) -> Option<RetryPolicy> {
    let retry = node.get(key)?;
    Some(RetryPolicy {
        max_attempts: u32::try_from(whole(retry, "max_attempts")?).ok()?,
        backoff: match text(retry, "backoff") {
            Some("exponential") => Backoff::Exponential,
            _ => Backoff::Fixed,
        },
        initial_ms: whole(retry, "initial_ms").unwrap_or(0),
    })
}

pub(crate) fn cost_class(node: &Node) -> Option<CostClass> {
    match text(node, "cost_class")? {
        "trivial" => Some(CostClass::Trivial),
        "metered" => Some(CostClass::Metered),
        "expensive" => Some(CostClass::Expensive),
        _ => None,
    }
}
