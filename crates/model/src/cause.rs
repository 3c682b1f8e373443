//! Cause of a refusal: the facts behind its message, each a [`CauseDetail`] under its own key.
//!
//! A cause is a JSON object on the wire and in the ledger, in the order in which its facts were
//! added. A key or a value that this version does not know stays as it came.

mod detail;
mod facts;

pub use detail::CauseDetail;
pub use facts::{
    AuthState, CausePhase, ClientAbility, FormRefusal, JsonRpcError, LoginFailure, SchemaViolation,
};

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{InvocationId, Timestamp};

/// The facts behind a refusal; empty where its message says all.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause(Facts);

/// An object with a fact per key, or the JSON of an embedder that is none.
#[derive(Clone, Debug, PartialEq)]
enum Facts {
    Details(Vec<CauseDetail>),
    Foreign(Box<Value>),
}

/// Returns the value of the first fact of one kind.
macro_rules! fact {
    ($cause:expr, $variant:ident) => {
        $cause.details().iter().find_map(|detail| match detail {
            CauseDetail::$variant(held) => Some(held),
            _ => None,
        })
    };
}

impl Cause {
    /// The cause of a failure that occurred while a driver ran.
    pub fn running() -> Cause {
        Cause::from(CauseDetail::Phase(CausePhase::Run))
    }

    /// Returns true if there are no facts.
    pub fn is_empty(&self) -> bool {
        self.0 == Facts::Details(Vec::new())
    }

    /// Its facts, in the order in which they were added.
    pub fn details(&self) -> &[CauseDetail] {
        match &self.0 {
            Facts::Details(details) => details,
            Facts::Foreign(_) => &[],
        }
    }

    /// Sets a fact and replaces the one under the same key. Foreign JSON has no keys and stays.
    pub fn insert(&mut self, detail: CauseDetail) {
        match &mut self.0 {
            Facts::Details(details) => {
                match details.iter_mut().find(|known| known.key() == detail.key()) {
                    Some(known) => *known = detail,
                    None => details.push(detail),
                }
            }
            Facts::Foreign(value) if value.is_object() => *self = Cause::from(detail),
            Facts::Foreign(_) => {}
        }
    }

    /// The same cause with a fact more.
    pub fn with(mut self, detail: CauseDetail) -> Cause {
        self.insert(detail);
        self
    }

    /// Adds the facts of another cause, which win; foreign JSON only replaces an empty cause.
    pub fn extend(&mut self, other: Cause) {
        match other.0 {
            Facts::Details(details) => details.into_iter().for_each(|detail| self.insert(detail)),
            foreign @ Facts::Foreign(_) if self.is_empty() => self.0 = foreign,
            Facts::Foreign(_) => {}
        }
    }

    /// Changes the cause as JSON, for redaction, which treats every string and number alike.
    pub fn edit(&mut self, change: impl FnOnce(&mut Value)) {
        if !self.is_empty() {
            let mut value = self.to_json();
            change(&mut value);
            *self = Cause::from(value);
        }
    }

    /// The cause as JSON; `null` where it is empty.
    pub fn to_json(&self) -> Value {
        match &self.0 {
            Facts::Details(details) if details.is_empty() => Value::Null,
            Facts::Details(_) => Value::Object(self.to_object()),
            Facts::Foreign(value) => Value::clone(value),
        }
    }

    /// The cause as an object, which is empty where there are no facts or only foreign JSON.
    pub fn to_object(&self) -> Map<String, Value> {
        let named = |detail: &CauseDetail| (detail.key().to_owned(), detail.value());
        self.details().iter().map(named).collect()
    }

    /// Returns true if the failure occurred while a driver ran.
    pub fn is_running(&self) -> bool {
        fact!(self, Phase) == Some(&CausePhase::Run)
    }

    /// What is wrong with the caller's login.
    pub fn login(&self) -> Option<LoginFailure> {
        fact!(self, Login).copied()
    }

    /// The scopes that a login lacks, or those that a grant has.
    pub fn scopes(&self) -> &[String] {
        fact!(self, Scopes).map_or(&[], Vec::as_slice)
    }

    /// The earliest retry, in milliseconds from the failure.
    pub fn retry_after_ms(&self) -> Option<u64> {
        fact!(self, RetryAfterMs).copied()
    }

    /// Until when the call may still take effect.
    pub fn until(&self) -> Option<Timestamp> {
        fact!(self, Until).copied()
    }

    /// The backend's own name for the error.
    pub fn native(&self) -> Option<&str> {
        fact!(self, Native).map(String::as_str)
    }

    /// The call that holds the idempotency key of this one.
    pub fn key_reused(&self) -> Option<&InvocationId> {
        fact!(self, KeyReused)
    }

    /// What the caller would have to be able to do.
    pub fn missing_abilities(&self) -> Option<&[ClientAbility]> {
        fact!(self, MissingAbilities).map(Vec::as_slice)
    }

    /// The backend's JSON-RPC error.
    pub fn json_rpc(&self) -> Option<&JsonRpcError> {
        fact!(self, JsonRpc)
    }
}

impl Default for Cause {
    fn default() -> Cause {
        Cause(Facts::Details(Vec::new()))
    }
}

impl From<CauseDetail> for Cause {
    fn from(detail: CauseDetail) -> Cause {
        Cause(Facts::Details(vec![detail]))
    }
}

impl<const N: usize> From<[CauseDetail; N]> for Cause {
    fn from(details: [CauseDetail; N]) -> Cause {
        details.into_iter().collect()
    }
}

impl FromIterator<CauseDetail> for Cause {
    fn from_iter<I: IntoIterator<Item = CauseDetail>>(details: I) -> Cause {
        details.into_iter().fold(Cause::default(), Cause::with)
    }
}

impl From<Value> for Cause {
    /// Reads a cause of the ledger or of an embedder; what is unknown stays as it is.
    fn from(value: Value) -> Cause {
        match value {
            Value::Null => Cause::default(),
            Value::Object(fields) if !fields.is_empty() => {
                fields.into_iter().map(|(key, value)| CauseDetail::read(key, value)).collect()
            }
            other => Cause(Facts::Foreign(Box::new(other))),
        }
    }
}

impl PartialEq<Value> for Cause {
    fn eq(&self, other: &Value) -> bool {
        self.to_json() == *other
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_json().fmt(to)
    }
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Facts::Details(details) if details.is_empty() => serializer.serialize_unit(),
            Facts::Details(details) => {
                serializer.collect_map(details.iter().map(|detail| (detail.key(), detail.value())))
            }
            Facts::Foreign(value) => value.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Cause {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Cause, D::Error> {
        Ok(Cause::from(Value::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests;
