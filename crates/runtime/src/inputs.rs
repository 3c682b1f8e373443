//! Recorded inputs of a call: payload digests, fields that the log may show, and mutations.

use haft_ledger::Blob;
use haft_model::{Digest, FrozenInput, Mutation, MutationSource, PayloadRef};
use serde_json::{Map, Value};

use crate::redact::overlap;

/// Which input values the log may show, by contract.
#[derive(Clone, Debug, Default)]
pub(crate) struct Discretion {
    /// JSON pointers of sensitive values; they appear in no log.
    pub(crate) sensitive: Vec<String>,
    /// JSON pointers of values that the log may show, unless they are sensitive.
    pub(crate) audit: Vec<String>,
    /// Whether the contract is unknown, so that everything counts as sensitive.
    pub(crate) unknown: bool,
}

impl Discretion {
    /// For a call without a known contract: everything is sensitive.
    pub(crate) fn of_a_stranger() -> Discretion {
        Discretion { unknown: true, ..Discretion::default() }
    }

    /// The payload of a value, and the reference that the log holds.
    pub(crate) fn keep(&self, value: &Value, bytes: Vec<u8>) -> (PayloadRef, Blob) {
        let digest = Digest::of_bytes(&bytes);
        self.kept(value, digest, bytes)
    }

    fn kept(&self, value: &Value, digest: Digest, bytes: Vec<u8>) -> (PayloadRef, Blob) {
        let keys = match value {
            Value::Object(fields) => fields.keys().cloned().collect(),
            _ => Vec::new(),
        };
        let kept = PayloadRef {
            digest: digest.clone(),
            size: bytes.len() as u64,
            keys,
            shown: self.shown(value),
        };
        let sensitive = self.unknown || !self.sensitive.is_empty();
        (kept, Blob { digest, bytes, sensitive })
    }

    /// The payload of a value in canonical JSON.
    pub(crate) fn keep_value(&self, value: &Value) -> (PayloadRef, Blob) {
        self.keep(value, haft_model::canonical(value))
    }

    /// The reference to a frozen input, and its payload.
    pub(crate) fn keep_input(&self, input: &FrozenInput) -> (PayloadRef, Blob) {
        let (digest, bytes) = (input.digest().clone(), input.canonical().to_vec());
        self.kept(input, digest, bytes)
    }

    fn shown(&self, value: &Value) -> Map<String, Value> {
        let hidden = |pointer: &String| self.sensitive.iter().any(|other| overlap(pointer, other));
        self.audit
            .iter()
            .filter(|pointer| !hidden(pointer))
            .filter_map(|pointer| Some((pointer.clone(), value.pointer(pointer)?.clone())))
            .collect()
    }
}

/// The mutation from one input to another; `None` where they are equal.
pub(crate) fn mutation(
    source: MutationSource,
    by: &str,
    reason: &str,
    before: (&Value, &Digest),
    after: (&Value, &PayloadRef),
) -> Option<Mutation> {
    let mut changed = Vec::new();
    differences("", before.0, after.0, &mut changed);
    (!changed.is_empty()).then(|| Mutation {
        source,
        by: by.to_owned(),
        from: before.1.clone(),
        to: after.1.clone(),
        changed,
        reason: reason.to_owned(),
    })
}

/// Collects the JSON pointers of what differs, as deep as possible.
fn differences(at: &str, before: &Value, after: &Value, found: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let gone = old.keys().filter(|name| !new.contains_key(*name));
            found.extend(gone.map(|name| format!("{at}/{}", escaped(name))));
            for (name, value) in new {
                let place = format!("{at}/{}", escaped(name));
                match old.get(name) {
                    Some(earlier) => differences(&place, earlier, value, found),
                    None => found.push(place),
                }
            }
        }
        _ if before == after => {}
        _ if at.is_empty() => found.push("/".to_owned()),
        _ => found.push(at.to_owned()),
    }
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_are_named_by_their_deepest_place() {
        let mut found = Vec::new();
        let before = json!({"a": {"b": 1, "c": 2}, "gone": true, "same": [1]});
        let after = json!({"a": {"b": 1, "c": 3}, "new/one": 1, "same": [1]});
        differences("", &before, &after, &mut found);
        found.sort();
        assert_eq!(found, ["/a/c", "/gone", "/new~1one"]);
    }

    #[test]
    fn sensitive_value_stays_redacted_despite_audit_allowlist() {
        let discretion = Discretion {
            sensitive: vec!["/card".into()],
            audit: vec!["/amount".into(), "/card".into(), "/card/number".into()],
            unknown: false,
        };
        let (kept, blob) = discretion.keep_value(&json!({"amount": 3, "card": {"number": "4"}}));
        assert_eq!(Value::Object(kept.shown), json!({"/amount": 3}));
        assert!(blob.sensitive);
    }
}
