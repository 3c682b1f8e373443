//! How the drivers of a contract are, for people and for machines.

use haft_catalog::{Binding, DriverState, DriverStates};
use serde_json::{Value, json};

/// A driver that claims a contract, and what is known of it.
pub(crate) struct Seen<'a> {
    pub(crate) binding: &'a Binding,
    state: Option<&'a DriverState>,
}

impl<'a> Seen<'a> {
    pub(crate) fn new(binding: &'a Binding, states: &'a DriverStates) -> Seen<'a> {
        Seen { binding, state: states.get(&binding.driver.id) }
    }

    /// Whether it could be used, in a word or two.
    pub(crate) fn word(&self) -> &'static str {
        match self.objection() {
            _ if self.binding.refused.is_some() => "refused",
            None => "ready",
            Some(("install", _)) => "not set up",
            Some(("version", _)) => "wrong version",
            Some(("auth", _)) => "not logged in",
            Some(("health", _)) => "unhealthy",
            Some(("rest", _)) => "rests",
            Some(_) => "unavailable",
        }
    }

    /// Why it cannot be used.
    pub(crate) fn reason(&self) -> Option<String> {
        let refused = self.binding.refused.clone();
        refused.or_else(|| self.objection().map(|(_, reason)| reason))
    }

    /// The command that mends that.
    pub(crate) fn mend(&self) -> Option<&'a str> {
        self.state?.mend().filter(|_| self.binding.refused.is_none())
    }

    /// Its name, and its state where that is worth a word.
    pub(crate) fn named(&self) -> String {
        let id = &self.binding.driver.id;
        match self.word() {
            "ready" => id.to_string(),
            word => format!("{id} ({word})"),
        }
    }

    /// Everything that is wrong with it, in one line.
    pub(crate) fn line(&self) -> String {
        match (self.reason(), self.mend()) {
            (None, _) => self.word().to_owned(),
            (Some(reason), None) => format!("{}: {reason}", self.word()),
            (Some(reason), Some(mend)) => format!("{}: {reason}; run `{mend}`", self.word()),
        }
    }

    pub(crate) fn json(&self) -> Value {
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

    fn objection(&self) -> Option<(&'static str, String)> {
        self.state?.objection(false)
    }
}
