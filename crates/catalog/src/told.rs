//! JSON views of a contract and its drivers, the same for every edge.

use haft_model::{Actor, Call, Code, Date, Lifecycle, RejectionReason};
use serde_json::{Value, json};

use crate::{Binding, CatalogEntry, DriverState, DriverStates, Outlook, Snapshot};

impl CatalogEntry {
    /// Everything about a contract, as JSON.
    pub fn told(&self, today: Date, states: &DriverStates) -> Value {
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
            "drivers": self.seen(states).map(|seen| seen.whole()).collect::<Vec<_>>(),
        })
    }

    /// One contract in a list, as JSON, given its visibility.
    pub fn listed(&self, state: &str, reason: Option<&str>, states: &DriverStates) -> Value {
        let contract = &self.contract;
        json!({
            "id": contract.key().id,
            "key": contract.key(),
            "version": contract.tool.version,
            "name": contract.title(),
            "description": contract.tool.description,
            "risk_level": contract.effects.risk,
            "state": state,
            "reason": reason,
            "drivers": self.seen(states).map(|seen| seen.json()).collect::<Vec<_>>(),
        })
    }

    /// The drivers that claim it, with their states.
    pub fn seen<'a>(&'a self, states: &'a DriverStates) -> impl Iterator<Item = DriverSummary<'a>> {
        self.bindings.iter().map(move |binding| DriverSummary::new(binding, states))
    }
}

impl Snapshot {
    /// Whether a contract can be called now, and if not, why.
    pub fn standing(
        &self,
        entry: &CatalogEntry,
        actor: &Actor,
        today: Date,
        outlook: &Outlook,
    ) -> (&'static str, Option<String>) {
        if let Some(block) = entry.blocked(today) {
            return ("blocked", Some(block.message));
        }
        let call = Call::new(actor.clone(), entry.contract.key().to_string(), Value::Null);
        match self.explain(&call, None, today, outlook).map(|explained| explained.route) {
            Ok(Ok(_)) if entry.lifecycle(today) == Lifecycle::Deprecated => ("deprecated", None),
            Ok(Ok(_)) => ("ready", None),
            Ok(Err(stop)) | Err(stop) => {
                let state = match stop.code {
                    Code::SetupRequired => "needs setup",
                    Code::CredentialMissing => "needs login",
                    Code::DependencyUnavailable => "unavailable",
                    _ => "no route",
                };
                let run = stop.help.filter(|help| help.starts_with("run "));
                let run = run.map(|help| format!("; {help}")).unwrap_or_default();
                (state, Some(format!("{}{run}", stop.message)))
            }
        }
    }
}

/// A driver that claims a contract, with its state.
pub struct DriverSummary<'a> {
    /// The claim of the driver.
    pub binding: &'a Binding,
    state: Option<&'a DriverState>,
}

impl<'a> DriverSummary<'a> {
    /// Joins a driver with its state.
    pub fn new(binding: &'a Binding, states: &'a DriverStates) -> DriverSummary<'a> {
        DriverSummary { binding, state: states.get(&binding.driver.id) }
    }

    /// The driver's readiness, in a word or two.
    pub fn word(&self) -> &'static str {
        match self.objection() {
            _ if self.binding.refused.is_some() => "refused",
            None => "ready",
            Some((RejectionReason::Install, _)) => "not set up",
            Some((RejectionReason::Version, _)) => "wrong version",
            Some((RejectionReason::Auth, _)) => "not logged in",
            Some((RejectionReason::Health, _)) => "unhealthy",
            Some((RejectionReason::Rest, _)) => "rests",
            Some((
                RejectionReason::Binding
                | RejectionReason::Kind
                | RejectionReason::Narrowing
                | RejectionReason::Machine
                | RejectionReason::Host
                | RejectionReason::Tried
                | RejectionReason::Tags
                | RejectionReason::Region
                | RejectionReason::Pin
                | RejectionReason::Rank,
                _,
            )) => "unavailable",
        }
    }

    /// Why it cannot be used.
    pub fn reason(&self) -> Option<String> {
        let refused = self.binding.refused.clone();
        refused.or_else(|| self.objection().map(|(_, reason)| reason))
    }

    /// The command that removes the obstacle.
    pub fn mend(&self) -> Option<&'a str> {
        self.state?.mend().filter(|_| self.binding.refused.is_none())
    }

    /// Its name, and its state where that is worth a word.
    pub fn named(&self) -> String {
        let id = &self.binding.driver.id;
        match self.word() {
            "ready" => id.to_string(),
            word => format!("{id} ({word})"),
        }
    }

    /// Everything that is wrong with it, in one line.
    pub fn line(&self) -> String {
        match (self.reason(), self.mend()) {
            (None, _) => self.word().to_owned(),
            (Some(reason), None) => format!("{}: {reason}", self.word()),
            (Some(reason), Some(mend)) => format!("{}: {reason}; run `{mend}`", self.word()),
        }
    }

    /// The driver as JSON.
    pub fn json(&self) -> Value {
        json!({
            "id": self.binding.driver.id,
            "kind": self.binding.driver.kind,
            "refused": self.binding.refused,
            "state": self.word(),
            "reason": self.reason(),
            "mend": self.mend(),
            "known": self.state,
        })
    }

    /// The driver as JSON, with what its manifest says.
    fn whole(&self) -> Value {
        let mut value = self.json();
        let more = json!({
            "version": &*self.binding.driver.version,
            "file": &*self.binding.driver.file,
            "limits": self.binding.limits,
            "cost_units_per_call": self.binding.units,
            "region": self.binding.driver.region,
            "egress": self.binding.driver.egress,
        });
        if let (Some(fields), Value::Object(more)) = (value.as_object_mut(), more) {
            fields.extend(more);
        }
        value
    }

    fn objection(&self) -> Option<(RejectionReason, String)> {
        self.state?.objection(false)
    }
}
