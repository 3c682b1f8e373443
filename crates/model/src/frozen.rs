//! Frozen input: an immutable JSON value that is serialised and hashed at most once, and shared
//! from there.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::{Digest, canonical};

/// An input that no longer changes. Cheap to clone; it reads like the value itself.
#[derive(Clone)]
pub struct FrozenInput(Arc<Frozen>);

struct Frozen {
    value: Value,
    canonical: OnceLock<Vec<u8>>,
    digest: OnceLock<Digest>,
}

impl FrozenInput {
    /// Freezes a value. It is serialised and hashed when its canonical form or digest is first
    /// asked for.
    pub fn new(value: Value) -> FrozenInput {
        let (canonical, digest) = (OnceLock::new(), OnceLock::new());
        FrozenInput(Arc::new(Frozen { value, canonical, digest }))
    }

    /// The canonical JSON of the value.
    pub fn canonical(&self) -> &[u8] {
        self.0.canonical.get_or_init(|| canonical(&self.0.value))
    }

    /// The digest of the canonical JSON.
    pub fn digest(&self) -> &Digest {
        self.0.digest.get_or_init(|| Digest::of_bytes(self.canonical()))
    }
}

impl Deref for FrozenInput {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0.value
    }
}

impl From<Value> for FrozenInput {
    fn from(value: Value) -> FrozenInput {
        FrozenInput::new(value)
    }
}

impl PartialEq for FrozenInput {
    fn eq(&self, other: &FrozenInput) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.value == other.0.value
    }
}

impl PartialEq<Value> for FrozenInput {
    fn eq(&self, other: &Value) -> bool {
        self.0.value == *other
    }
}

impl Serialize for FrozenInput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.value.serialize(serializer)
    }
}

impl fmt::Debug for FrozenInput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.value.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn copies_share_value_and_hash() {
        let input = FrozenInput::new(json!({"b": 1, "a": [true]}));
        let copy = input.clone();
        assert_eq!(copy.canonical(), br#"{"a":[true],"b":1}"#);
        assert_eq!(*copy.digest(), Digest::of_bytes(br#"{"a":[true],"b":1}"#));
        assert!(std::ptr::eq(input.canonical(), copy.canonical()));
        assert!(std::ptr::eq(input.digest(), copy.digest()));
        assert!(std::ptr::eq::<Value>(&*input, &*copy));
    }
}
