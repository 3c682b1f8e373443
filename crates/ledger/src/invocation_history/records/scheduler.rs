//! Scheduler records: how a call was queued, and the scheduler policy of its batch.

use haft_model::ResourceLock;
use serde_json::{Map, Value, json};

use super::super::Story;
use super::Record;

impl Story {
    /// The scheduler block of the call; `None` where the call never got that far.
    pub(super) fn scheduler(&self) -> Option<Value> {
        let mut fields = Map::new();
        let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        if let Some(place) = &self.batch {
            set("batch_id", json!(place.id));
            set("batch_index", json!(place.index));
            set("depends_on", json!(place.depends_on));
        }
        if let Some(facts) = self.facts {
            set("is_concurrency_safe", json!(facts.is_concurrency_safe));
            set("is_read_only", json!(facts.is_read_only));
            set("is_destructive", json!(facts.is_destructive));
            set("is_open_world", json!(facts.is_open_world));
            set("requires_exclusive_context", json!(!facts.is_concurrency_safe));
        }
        if let Some(policy) = self.batch.as_ref().and_then(|place| place.policy.as_ref()) {
            set("context_modifier_policy", json!(policy.context_modifier_policy));
        }
        if self.queued.is_some() {
            set("resource_locks", json!(self.resource_locks()));
        }
        (!fields.is_empty()).then_some(Value::Object(fields))
    }

    pub(super) fn scheduler_policy_id(&self) -> Option<&str> {
        let policy = self.batch.as_ref()?.policy.as_ref()?;
        Some(&policy.scheduler_policy_id)
    }

    /// The scheduler policy of the call's batch, with the locks of this call.
    pub(super) fn scheduler_policy(&self) -> Option<Value> {
        let place = self.batch.as_ref()?;
        let policy = place.policy.as_ref()?;
        let id = policy.scheduler_policy_id.clone();
        let mut record = Record::new("scheduler_policy_id", id, &self.invocation_id);
        record
            .set("scope", &policy.scope)
            .set("batch_id", &place.id)
            .set("max_parallel", policy.max_parallel)
            .set("ordering_policy", policy.ordering_policy)
            .set("yield_policy", policy.yield_policy)
            .set("interrupt_behavior", policy.interrupt_behavior)
            .set("sibling_failure_policy", policy.sibling_failure_policy)
            .set("context_modifier_policy", policy.context_modifier_policy)
            .set("resource_locks", self.resource_locks());
        Some(record.done())
    }

    fn resource_locks(&self) -> Vec<ResourceLock> {
        let queued = self.queued.iter();
        let locks = queued.flat_map(|queued| {
            queued.locks.iter().map(|lock| ResourceLock::new(lock, queued.is_concurrency_safe))
        });
        locks.collect()
    }
}
