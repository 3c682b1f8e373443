//! A contract as every edge shows it.

use haft_model::Date;
use serde_json::{Value, json};

use crate::Entry;

impl Entry {
    /// Everything about a contract, for machines.
    pub fn told(&self, today: Date) -> Value {
        let contract = &self.contract;
        let tool = &contract.tool;
        json!({
            "id": tool.key.id,
            "key": tool.key,
            "version": tool.version,
            "name": contract.title(),
            "description": tool.description,
            "file": &*tool.file,
            "inputs": tool.inputs,
            "model_inputs": contract.model_schema(),
            "outputs": tool.outputs,
            "context_schema": tool.context_schema,
            "implements": contract.action.as_ref().map(|action| &action.id),
            "effects": &*contract.effects,
            "fingerprint": self.fingerprint,
            "schema_digest": contract.schema_digest(),
            "idempotent": tool.idempotent,
            "timeout_ms": tool.timeout_ms,
            "retry": tool.retry,
            "lifecycle": self.lifecycle(today).name(),
            "blocked": self.blocked(today).map(|block| json!({ "reason": block.reason, "message": block.message })),
            "grant": contract.grant_key(),
            "default_implementation": tool.default_implementation,
            "drivers": self.bindings.iter().map(|binding| json!({
                "id": binding.driver.id,
                "kind": binding.driver.kind,
                "version": &*binding.driver.version,
                "file": &*binding.driver.file,
                "refused": binding.refused,
                "limits": binding.limits,
                "cost_units_per_call": binding.units,
                "region": binding.driver.region,
                "egress": binding.driver.egress,
            })).collect::<Vec<_>>(),
        })
    }
}
